"""Exports a folder of programs, runs each model in each runtime, and writes a table: right, wrong, refused or failed, and the time.

    python runtimes/zoo.py PROGRAMS --exporter target/release/aten2onnx --runtimes openvino,tract --out zoo

PROGRAMS has a folder for each program: model.pt2 (of torch.export.save), inputs.npz (i0, i1, ...) and expected.npz (o0, o1, ...),
optionally alt_inputs.npz and alt_expected.npz for other sizes, and meta.json (`user_inputs`: names; `err64`: the rounding error of
each output; `group`: `detection` if near-equal rows of the outputs may swap). A program is right if the outputs for all sizes are. It is exported without a target and, if the exporter knows the
runtime, with `--target`; for a runtime that needs static sizes also with `--static`, and then only the first sizes are run. `--torch`
names a folder with torch.onnx's files of the programs, which `torch_files.py` makes. Writes OUT.json, as it goes on; what it has is measured
again if the model's file is another one now. `--page docs/runtimes.md` adds all that OUT.json has to the tables of the page, in the place of
older results.
"""
import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
from harness import environments, facts_file, page, verdict
from harness.worker import Stopped, Worker
from run import input_names, numbered

TIMES = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--exporter", default="aten2onnx", help="the command `aten2onnx`")
    parser.add_argument("--runtimes", default=[], type=lambda names: names.split(","))
    parser.add_argument("--only", default="*", help="names of programs, with wildcards: `tv_*,hf_gpt2`")
    parser.add_argument("--out", type=Path, default=Path("zoo"))
    parser.add_argument("--seconds", type=float, default=180, help="the time limit for loading, and for running (default: 180)")
    parser.add_argument("--gigabytes", type=float, default=8, help="the limit of memory of a model (default: 8)")
    parser.add_argument("--torch", type=Path, help="a folder with NAME.onnx of torch.onnx for each program")
    parser.add_argument("--files", default=["default", "target", "torch"], type=lambda names: names.split(","), help="which files are run: `default,target,torch` (default: all)")
    parser.add_argument("--page", type=Path, help="writes the table here, in Markdown")
    parser.add_argument("--minutes", type=float, help="begins with no further model after this time")
    parser.add_argument("--again", action="store_true", help="measures the chosen programs again; OUT.json keeps the others")
    args = parser.parse_args()
    report = args.out.with_suffix(".json")
    records = json.loads(report.read_text()) if report.exists() else {}
    programs = [folder for folder in sorted(args.programs.iterdir()) if (folder / "model.pt2").exists() and matches(folder.name, args.only)]
    args.until = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    try:
        for name in args.runtimes:
            with Worker(environments.find(name), args.seconds, args.gigabytes) as worker:
                measure(worker, args, programs, records, lambda: report.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n"))
    except (environments.UnknownRuntime, Stopped) as error:
        sys.exit(f"error: {error}")
    if args.page:
        write_page(args.page, records)
    print(page.summary(records))


def write_page(path, records):
    """Adds the records to those of the page."""
    known = page.read(path.read_text()) if path.exists() else {}
    for program, found in records.items():
        known[program] = known.get(program, {}) | found
    path.write_text(page.text(known))


def matches(name, globs):
    return any(fnmatch.fnmatch(name, glob) for glob in globs.split(","))


def measure(worker, args, programs, records, save):
    """Runs the programs in a runtime. A record is by program, then by runtime and origin of the file."""
    runtime = worker.runtime
    target = target_of(args.exporter, runtime)
    is_static = runtime.settings.get("static", False)
    for folder in programs:
        for origin, model in files(args, folder, target, is_static).items():
            column = f"{runtime.name}-{runtime.version}{origin}"
            if model is None or time.monotonic() > args.until:
                continue
            sizes = ("",) if is_static and origin == page.TARGET else ("", "alt_")
            known = None if args.again else records.get(folder.name, {}).get(column)
            record = one(worker, model, folder, sizes, known)
            if record is known:
                continue
            records.setdefault(folder.name, {})[column] = record
            print(f"{folder.name:36} {column:40} {record['verdict']:10} {record['reason'][:120]}", flush=True)
            save()


def files(args, folder, target, is_static):
    """How each chosen file of a program is written, by its origin."""
    written = {
        "default": ("", exported(args.exporter, folder)),
        "target": (page.TARGET, exported(args.exporter, folder, target, is_static) if target else None),
        "torch": (page.TORCH, found(args.torch, folder)),
    }
    return dict(written[name] for name in args.files)


def target_of(exporter, runtime):
    """The target for a runtime, if the exporter knows one: the release, or else the newest. `runtime.toml` may name it."""
    name = runtime.settings.get("target", runtime.name)
    listed = subprocess.run([exporter, "targets"], capture_output=True, text=True, check=True).stdout
    releases = [line.split()[0] for line in listed.splitlines()[1:] if line.strip()]
    release = f"{name}-{'.'.join(runtime.version.split('.')[:2])}"
    return release if release in releases else name if any(known.rsplit("-", 1)[0] == name for known in releases) else None


def exported(exporter, folder, target=None, is_static=False):
    """Writes the model of a program to a path. Returns the error if the exporter refuses, and what it warned of in the runtime."""

    def write(model):
        options = [*(["--target", target] if target else []), *(["--static"] if is_static else [])]
        command = [exporter, "export", str(folder / "model.pt2"), "-o", str(model), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        notes = [line.removeprefix("note: ") for line in done.stderr.splitlines() if target and line.startswith(f"note: {target.partition('-')[0]}")]
        return (done.stderr, []) if done.returncode else (None, notes)

    return write


def found(torch_files, folder):
    """Takes torch.onnx's file of a program, or its error. Nothing if `torch_files.py` has not come to it."""
    file = torch_files.resolve() / f"{folder.name}.onnx" if torch_files else None
    error = file.with_suffix(".txt") if file else None
    if file is None or not file.exists() and not error.exists():
        return None

    def write(model):
        if not file.exists():
            return error.read_text(), []
        model.symlink_to(file)
        return None, []

    return write


def one(worker, write, folder, sizes=("", "alt_"), known=None):
    """The record of a model that is written to a folder of its own: the one that is known, if it is of the same file."""
    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "model.onnx")
        error, warnings = write(model)
        if error is not None:
            return {"verdict": "unexported", "reason": facts_file.short(error)}
        digest = f"{zlib.crc32(model.read_bytes()):08x}"
        if known and known.get("digest") == digest:
            return known
        return run(worker, model, folder, sizes) | {"digest": digest} | ({"warned": warnings} if warnings else {})


def run(worker, model, folder, sizes):
    """Runs the model with the inputs of all given sizes. The first that is not right decides."""
    meta = json.loads((folder / "meta.json").read_text()) if (folder / "meta.json").exists() else {}
    record = {}
    for prefix in sizes:
        if not (folder / f"{prefix}inputs.npz").exists():
            continue
        inputs = feed(model, meta, numbered(folder / f"{prefix}inputs.npz"))
        result = worker.run(model, inputs, TIMES)
        found, reason = result.verdict, result.reason
        if found == "ran":
            want = numbered(folder / f"{prefix}expected.npz")
            outputs = verdict.in_order(result.outputs, want) if meta.get("group") == "detection" else result.outputs
            found, reason = verdict.compare(outputs, want, errors=meta.get(f"{prefix}err64") or (), computes=worker.runtime.computes)
        if not prefix:
            record = {"load_seconds": result.load_seconds, "milliseconds": 1000 * float(np.median(result.seconds)) if result.seconds else None}
        record |= {"verdict": found, "reason": facts_file.short(reason), "sizes": prefix or "first"}
        if found != "right":
            break
    return record


def feed(model, meta, values):
    """The inputs by name: some programs have inputs that their model does not use."""
    names, known = input_names(model), meta.get("user_inputs") or []
    if set(names) <= set(known) and len(known) == len(values):
        by_name = dict(zip(known, values))
        return {name: by_name[name] for name in names}
    return dict(zip(names, values))


if __name__ == "__main__":
    main()
