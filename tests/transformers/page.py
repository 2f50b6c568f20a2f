"""Writes the results of `compare.py` as a table of a page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

COLUMNS = ["type", "class", "dynamic", "static", "generation", "size", "nodes", "capture", "export", "transformers' own exporter"]


def write(page: Path, found: list[dict[str, Any]]) -> None:
    """Replaces the table of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- table -->\n")
    _, _, after = rest.partition("<!-- /table -->")
    page.write_text(f"{before}<!-- table -->\n\n{summary(found)}\n\n{table(found)}\n<!-- /table -->{after}", encoding="utf-8")


def table(found: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [_line(row) for row in sorted(found, key=lambda row: (row["type"], row["kind"])) if row.get("status", "not built") != "not built"]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    static, generation, other = (row.get(part) for part in ("static", "generation", "other"))
    cells = [
        row["type"],
        row.get("class", row["kind"]),
        _verdict(row),
        _verdict(static) if static else "",
        _verdict(generation) if generation and generation["status"] != "none" else "",
        f"{row['bytes'] / 1e6:.1f} MB" if "bytes" in row else "",
        str(row.get("nodes", "")),
        *(f"{row[key]:.1f} s" if key in row else "" for key in ("capture", "export")),
        f"{other['status']}, {other['seconds']:.1f} s" if other and "seconds" in other else _verdict(other) if other else "",
    ]
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _verdict(part: dict[str, Any]) -> str:
    """The status and the reason in one cell."""
    text = part.get("reason", "").removeprefix("torch.export cannot capture this model: ").split(" --> ")[0]
    text = text[:110].replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    return f"{part['status']}: {text}" if text else str(part["status"])


def summary(found: list[dict[str, Any]]) -> str:
    """How many models are right, and how the time is spent."""
    heads = sum(row["kind"] != "AutoModel" for row in found)
    texts = [f"{len(found)} models, {heads} of them with a head: {_counted(found, 'right', 'frozen', 'wrong', 'refused', 'error', 'not captured', 'not built')}."]
    for part, title, statuses in (
        ("static", "Without dynamic shapes", ("right", "wrong", "refused", "error", "not captured")),
        ("generation", "Generation", ("equal", "other tokens", "error")),
    ):
        rows = [row[part] for row in found if row.get(part, {}).get("status", "none") != "none"]
        if rows:
            texts.append(f"{title}, {len(rows)} models: {_counted(rows, *statuses)}.")
    captured = [row for row in found if "capture" in row]
    if captured:
        texts.append(f"Capture {sum(row['capture'] for row in captured):.0f} s, export {sum(row['export'] for row in captured):.0f} s in total.")
    others = [row for row in found if "seconds" in row.get("other", {})]
    if others:
        ours = sum(row.get("capture", row.get("seconds", 0)) + row.get("export", 0) for row in others)
        theirs = sum(row["other"]["seconds"] for row in others)
        texts.append(
            f"On {len(others)} of these models, transformers' own ONNX exporter: {_counted([row['other'] for row in others], 'right', 'wrong', 'error')}, "
            f"{theirs:.0f} s; aten2onnx: {_counted(others, 'right', 'frozen', 'wrong', 'refused', 'error', 'not captured')}, {ours:.0f} s with the capture."
        )
    return "\n".join(texts)


def _counted(parts: list[dict[str, Any]], *statuses: str) -> str:
    count = Counter(part["status"] for part in parts)
    return ", ".join(f"{count[status]} {status}" for status in statuses if count[status] or status == statuses[0])
