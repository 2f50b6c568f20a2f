"""The tables of precision.py: a summary with a line for each converter, a line for each model, and why files are missing."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from precision_facts import Comparison, worst

#: The float32 file, our export, and our conversion of the float32 file, beside whose time that of other converters stands.
WHOLE, OURS, CONVERTED = "float32", "ours", "ours, converted"
#: Noise that is larger by fewer decibels is as large: it depends on the order of sums.
ALIKE = 1.0
#: Differences and noise below are those of float32.
SMALLEST, QUIETEST = 1e-6, 110.0


def table_of(dtype: str, found: dict[str, Any], missing: list[str]) -> str:
    """All that was found in a dtype, by model."""
    ways = list(next(iter(found.values())).files) if found else []
    runtimes = list(next(iter(found.values())).files[OURS].runs) if found else []
    lines = [f"**{dtype}**: {len(found)} models", "", *summary(ways, runtimes, found), "", *rows(ways, runtimes, found), "", *notes(ways, found)]
    if missing:
        lines.append(f"- left out: {'; '.join(missing)}")
    return "\n".join(lines)


def is_right(run: Comparison | str | None) -> bool:
    """Whether a file loads and runs, and nothing overflows."""
    return isinstance(run, Comparison) and not run.overflows


def together(file: Any, other: Any) -> tuple[Comparison, Comparison] | None:
    """The worst of two files, in the runtimes in which both are right."""
    runs = [(run, other.runs[runtime]) for runtime, run in file.runs.items() if is_right(run) and is_right(other.runs.get(runtime))]
    if not runs:
        return None
    first, second = (worst(list(ones)) for ones in zip(*runs, strict=True))
    return first, second


def summary(ways: list[str], runtimes: list[str], found: dict[str, Any]) -> list[str]:
    """A line for each way. Ratios are to our files, over the models for which both are right in a runtime."""
    heads = ["", "files", "valid", *(f"right in {runtime}" for runtime in runtimes), "overflow", "difference to ours", "less / more noise", "Casts to ours", "fewer / more", "time to ours"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for way in ways:
        files = {name: one.files[way] for name, one in found.items()}
        made = [file for file in files.values() if file.facts]
        cells = [str(len(made)), str(sum(file.facts.fault is None for file in made))]
        cells += [str(sum(is_right(file.runs.get(runtime)) for file in made)) for runtime in runtimes]
        cells.append(str(sum(any(isinstance(run, Comparison) and run.overflows for run in file.runs.values()) for file in made)))
        cells += beside(way, found)
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return lines


def beside(way: str, found: dict[str, Any]) -> list[str]:
    """A way beside ours: differences, how many have less and more noise, Casts, how many have fewer and more, and the time."""
    if way in (WHOLE, OURS):
        return [""] * 5
    ones = [(both, one) for one in found.values() if (both := together(one.files[way], one.files[OURS]))]
    if not ones:
        return [""] * 5
    errors = [max(its.difference, SMALLEST) / max(of_ours.difference, SMALLEST) for (its, of_ours), _ in ones]
    louder = [min(of_ours.decibels, QUIETEST) - min(its.decibels, QUIETEST) for (its, of_ours), _ in ones]
    casts = [tuple(one.files[each].facts.casts - one.files[WHOLE].facts.casts for each in (way, OURS)) for _, one in ones]
    seconds = [tuple(one.files[each].seconds for each in (way, CONVERTED)) for _, one in ones]
    times = [one / other for one, other in seconds if one and other]
    return [
        f"{statistics.geometric_mean(errors):.2f}",
        f"{sum(more < -ALIKE for more in louder)} / {sum(more > ALIKE for more in louder)}",
        f"{sum(one for one, _ in casts) / max(sum(other for _, other in casts), 1):.2f}",
        f"{sum(one < other for one, other in casts)} / {sum(one > other for one, other in casts)}",
        f"{statistics.geometric_mean(times):.1f}" if times else "",
    ]


def rows(ways: list[str], runtimes: list[str], found: dict[str, Any]) -> list[str]:
    """A line for each model; in a cell the ways stand in the order of the summary, without float32."""
    heads = ["model", "PyTorch", *(f"difference in {runtime}" for runtime in runtimes), *(f"dB in {runtime}" for runtime in runtimes[:1]), "Casts", "nodes in it %", "size %"]
    return ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *(row(name, one, ways, runtimes) for name, one in found.items())]


def row(name: str, one: Any, ways: list[str], runtimes: list[str]) -> str:
    """The line of a model."""
    files, whole = [one.files[way] for way in ways if way != WHOLE], one.files[WHOLE].facts

    def ran(show: Callable[[Comparison | str | None], str], runtime: str) -> str:
        return joined(files, lambda file: show(file.runs.get(runtime)))

    cells = [name, difference(one.torch), *(ran(difference, runtime) for runtime in runtimes), *(ran(decibels, runtime) for runtime in runtimes[:1])]
    cells.append(joined(files, lambda file: str(file.facts.casts - whole.casts)))
    cells.append(joined(files, lambda file: f"{100 * file.facts.half:.0f}"))
    cells.append(joined(files, lambda file: f"{100 * file.facts.size / whole.size:.0f}"))
    return "| " + " | ".join(cells) + " |"


def joined(files: Iterable[Any], cell: Callable[[Any], str]) -> str:
    return " / ".join(cell(file) if file.facts else "-" for file in files)


def difference(run: Comparison | str | None) -> str:
    """A difference; ∞ where something overflows, ✗ where the file does not run."""
    if run is None:
        return ""
    if isinstance(run, str):
        return "✗"
    return "∞" if run.overflows else f"{run.difference:.0e}".replace("e-0", "e-")


def decibels(run: Comparison | str | None) -> str:
    if not isinstance(run, Comparison) or run.overflows:
        return "-"
    return "exact" if math.isinf(run.decibels) else f"{run.decibels:.0f}"


def notes(ways: list[str], found: dict[str, Any]) -> list[str]:
    """Which files are missing, are no ONNX, or do not run, with the first reason of each kind."""
    faults: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for way in ways:
        for name, one in found.items():
            file = one.files[way]
            if file.why is not None:
                faults.setdefault((way, "no file"), []).append((name, file.why))
            if file.facts and file.facts.fault:
                faults.setdefault((way, "no valid ONNX"), []).append((name, file.facts.fault))
            for runtime, run in file.runs.items():
                if isinstance(run, str):
                    faults.setdefault((way, f"not in {runtime}"), []).append((name, run))
    return [note(way, kind, ones, len(found)) for (way, kind), ones in faults.items()]


def note(way: str, kind: str, ones: list[tuple[str, str]], count: int) -> str:
    names = ", ".join(name for name, _ in ones) if 2 * len(ones) <= count else f"{len(ones)} models"
    first = "" if len(ones) == 1 else f"{ones[0][0]}: "
    return f"- {way}, {kind}: {names}. {first}`{short(ones[0][1])}`"


#: What runtimes write before the reason.
BEFORE = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed: ?|Exception from \S+?:\d+: |Check '.*?' failed at \S+?:\d+: |FrontEnd API failed with ")


def short(reason: str) -> str:
    """A reason that keeps to a line of a page, and that Markdown takes as it is."""
    text = BEFORE.sub("", reason).replace("|", "/").replace("`", "'").strip()
    return text if len(text) <= 140 else text[:138] + ".."
