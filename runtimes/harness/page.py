"""The page of runtimes and models: counts, then for each runtime a table of its models and the reasons of what is not right.

The page is where results are kept: `read` takes them out of it, so that a run adds to those before.
"""
import collections
import re

TARGET, TORCH = " --target", " torch.onnx"
ORIGINS = ["", TARGET, TORCH]
LABELS = {"": "default", TARGET: "`--target`", TORCH: "torch.onnx"}
ORIGIN = {label: origin for origin, label in LABELS.items()}
WARNED = "; the export warned: "
VERDICTS = ["right", "nonfinite", "wrong", "refused", "failed", "unexported"]
HEAD = """# Models in other runtimes

Written by `runtimes/zoo.py --page docs/runtimes.md`, which keeps the results of other runs. Each program is exported without a target, with `--target` where there is one, and
by `torch.onnx.export(dynamo=True)`. Each file is run in the runtime, with first and second sizes where the program has symbolic ones,
and compared with PyTorch.

Counts are of the files that were run. An empty cell was not: compare lines only where they count the same models. Times are of one inference
in one thread, with the first sizes, on a machine that had other work. The last word of a cell is the digest (CRC-32) of the model's file, where it
was noted: a file that has another one now was not measured.

- right: all outputs agree with PyTorch's
- nonfinite: they agree but for infinities and NaN
- wrong: an output has other numbers, another shape or another dtype; what the export warned of stands with the reason
- refused: the runtime does not load the model
- failed: it loads, but does not run
- unexported: the exporter refuses

"""


def text(records):
    """The page. A record is by program, then by runtime and origin of the file."""
    parts = [HEAD, *counts(records)]
    for name, origins in runtimes(records).items():
        parts += ["", f"## {title(name)}", "", *table(records, name, origins), *reasons(records, name, origins)]
    return parts[0] + "\n".join(parts[1:]) + "\n"


def runtimes(records):
    """The runtimes of all records, each with the origins that were run in it."""
    found = collections.defaultdict(set)
    for by_column in records.values():
        for column in by_column:
            name, _, origin = column.partition(" ")
            found[name].add(f" {origin}" if origin else "")
    return {name: [origin for origin in ORIGINS if origin in found[name]] for name in sorted(found)}


def counts(records):
    lines = ["| runtime | file | models | " + " | ".join(VERDICTS) + " |", "|---|---" + "|--:" * (len(VERDICTS) + 1) + "|"]
    for name, origins in runtimes(records).items():
        for origin in origins:
            count = collections.Counter(found[name + origin]["verdict"] for found in records.values() if name + origin in found)
            lines.append(f"| {title(name)} | {LABELS[origin]} | {count.total()} | " + " | ".join(str(count[kind]) for kind in VERDICTS) + " |")
    return lines


def title(name):
    """The name and the version: `onnxruntime-web-1.30.0` is `onnxruntime-web 1.30.0`."""
    runtime, _, version = name.rpartition("-")
    return f"{runtime} {version}"


def table(records, name, origins):
    lines = ["| model | " + " | ".join(LABELS[origin] for origin in origins) + " |", "|---" * (len(origins) + 1) + "|"]
    for program, found in sorted(records.items()):
        cells = [cell(found[name + origin]) if name + origin in found else "" for origin in origins]
        lines += [f"| {program} | " + " | ".join(cells) + " |"] if any(cells) else []
    return lines


def cell(record):
    time = record.get("milliseconds")
    shown = [f"{time:.3g} ms"] if record["verdict"] == "right" and time else []
    return ", ".join([record["verdict"], *shown, *filter(None, [record.get("digest")])])


def reasons(records, name, origins):
    """The reasons in a runtime, after an empty line. Files with the same reason are told once."""
    told = collections.defaultdict(list)
    for program, found in sorted(records.items()):
        for origin in origins:
            record = found.get(name + origin)
            if record and record["verdict"] != "right":
                told[program, record["verdict"], reason(record)].append(LABELS[origin])
    lines = [f"- {program} ({', '.join(labels)}): {verdict}: {why}" for (program, verdict, why), labels in told.items()]
    return ["", *lines] if lines else []


def reason(record):
    """What the runtime answered, and for other numbers what the export had warned of."""
    warned = record.get("warned", []) if record["verdict"] in ("wrong", "nonfinite") else []
    return WARNED.join(f"`{text.replace('`', chr(39))}`" for text in [record["reason"], *warned])


def read(page):
    """The records of a page. Of what was right it has the time, of everything else the reason, and of both the digest of the file."""
    records = {}
    name, origins = None, []
    for line in page.splitlines():
        if line.startswith("## "):
            name = "-".join(line[3:].rsplit(" ", 1))
        elif line.startswith("| model |"):
            origins = [ORIGIN[label] for label in cells_of(line)[1:]]
        elif name and line.startswith("| "):
            program, *cells = cells_of(line)
            found = records.setdefault(program, {})
            found |= {name + origin: record_of(text) for origin, text in zip(origins, cells) if text}
        elif told := re.fullmatch(r"- (\S+) \((.+?)\): \w+: `(.*)`", line):
            program, labels, why = told.groups()
            cause, *warned = why.split(f"`{WARNED}`")
            for label in labels.split(", "):
                records[program][name + ORIGIN[label]] |= {"reason": cause} | ({"warned": warned} if warned else {})
    return records


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def record_of(cell):
    verdict, *parts = cell.split(", ")
    times = [float(part.removesuffix(" ms")) for part in parts if part.endswith(" ms")]
    digests = [part for part in parts if not part.endswith(" ms")]
    return {"verdict": verdict, "reason": "", "milliseconds": times[0] if times else None} | ({"digest": digests[0]} if digests else {})


def summary(records):
    """A line for each runtime and origin."""
    lines = []
    for name, origins in runtimes(records).items():
        for origin in origins:
            count = collections.Counter(found[name + origin]["verdict"] for found in records.values() if name + origin in found)
            others = "".join(f", {count[kind]} {kind}" for kind in VERDICTS[1:] if count[kind])
            lines.append(f"{title(name)}, {LABELS[origin]}: {count['right']} of {count.total()} right{others}")
    return "\n".join(lines)
