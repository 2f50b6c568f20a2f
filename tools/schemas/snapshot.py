"""Shared by the dump scripts: writes a snapshot, or compares it with the existing file (`--check`)."""

import argparse
import difflib
import sys
from pathlib import Path

SNAPSHOTS = Path(__file__).resolve().parents[2] / "mappings/schemas"


def finish(doc, files):
    """Writes or checks `files` (name -> text) and exits. The exit code is 1 if a checked file differs."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="do not write; fail if a snapshot differs")
    parser.add_argument("--out", type=Path, default=SNAPSHOTS, help="the output folder, such as one for another version (default: mappings/schemas)")
    args = parser.parse_args()
    differs = False
    for name, text in files.items():
        path = args.out / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == text:
            continue
        if args.check:
            differs = True
            diff = difflib.unified_diff(old.splitlines(), text.splitlines(), f"{name} (file)", f"{name} (installed)", n=1)
            print("\n".join(list(diff)[:60]))
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {name}: {text.count(chr(10))} lines")
    sys.exit(1 if differs else 0)
