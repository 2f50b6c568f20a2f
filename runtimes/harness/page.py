"""The page of runtimes and models: counts, a table of each, and the reasons of what is not right."""
import collections

TARGET, TORCH = " --target", " torch.onnx"
ORIGINS = ["", TARGET, TORCH]
LABELS = {"": "default", TARGET: "`--target`", TORCH: "torch.onnx"}
VERDICTS = ["right", "nonfinite", "wrong", "refused", "failed", "unexported"]
HEAD = """# Models in other runtimes

Written by `runtimes/zoo.py --page docs/runtimes.md`. Each program is exported without a target, with `--target` where there is one, and
by `torch.onnx.export(dynamo=True)`. Each file is run in the runtime, with first and second sizes where the program has symbolic ones,
and compared with PyTorch.

Counts are of the files that were run. An empty cell was not: compare lines only where they count the same models. Times were taken while
the machine had other work.

- right: all outputs agree with PyTorch's
- nonfinite: they agree but for infinities and NaN
- wrong: an output has other numbers, another shape or another dtype; what the export warned of stands with the reason
- refused: the runtime does not load the model
- failed: it loads, but does not run
- unexported: the exporter refuses

"""


def text(records):
    """The page. A record is by program, then by runtime and origin of the file."""
    parts = [HEAD, *counts(records), "", "## Models", "", "Times are of one inference in one thread, with the first sizes.", "", *table(records), "", "## Reasons", "", *reasons(records)]
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


def table(records):
    columns = runtimes(records)
    lines = ["| model | " + " | ".join(map(title, columns)) + " |", "|---" * (len(columns) + 1) + "|"]
    for program, found in sorted(records.items()):
        lines.append(f"| {program} | " + " | ".join(cell(found, name, origins) for name, origins in columns.items()) + " |")
    return lines


def cell(found, name, origins):
    """The verdicts on each file of a model, in the order of the first table."""
    told = [(origin, one(found[name + origin])) for origin in origins if name + origin in found]
    if told and len({verdict.split()[0] for _, verdict in told}) == 1:
        return told[0][1]
    return "; ".join(f"{LABELS[origin]}: {verdict}" for origin, verdict in told)


def one(record):
    time = record.get("milliseconds")
    return f"{record['verdict']} {time:.3g} ms" if record["verdict"] == "right" and time else record["verdict"]


def reasons(records):
    """The reasons by runtime. Files with the same reason are told once."""
    lines = []
    for name, origins in runtimes(records).items():
        told = collections.defaultdict(list)
        for program, found in sorted(records.items()):
            for origin in origins:
                record = found.get(name + origin)
                if record and record["verdict"] != "right":
                    told[program, record["verdict"], reason(record)].append(LABELS[origin])
        lines += ["", f"### {title(name)}", ""] if told else []
        lines += [f"- {program} ({', '.join(labels)}): {verdict}: {why}" for (program, verdict, why), labels in told.items()]
    return lines[1:]


def reason(record):
    """What the runtime answered, and for other numbers what the export had warned of."""
    warned = record.get("warned", []) if record["verdict"] in ("wrong", "nonfinite") else []
    return "; the export warned: ".join(f"`{text.replace('`', chr(39))}`" for text in [record["reason"], *warned])


def summary(records):
    """A line for each runtime and origin."""
    lines = []
    for name, origins in runtimes(records).items():
        for origin in origins:
            count = collections.Counter(found[name + origin]["verdict"] for found in records.values() if name + origin in found)
            others = "".join(f", {count[kind]} {kind}" for kind in VERDICTS[1:] if count[kind])
            lines.append(f"{title(name)}, {LABELS[origin]}: {count['right']} of {count.total()} right{others}")
    return "\n".join(lines)
