"""The file of facts of a runtime: from measured results to `mappings/targets/NAME.toml`, and back to compare.

- `lacks`: operators that the runtime runs in no version, dtype and form.
- `dtypes`: by operator and versions (`since`), the dtypes of the first type variable in which no case ran (`lacks`), or cases ran but
  none was right (`wrong`).
- `forms`: the cases that do not run (`lacks`), give wrong numbers (`wrong`) or lose infinities and NaN (`nonfinite`), although
  others of the same dtype are right. `*` is all cases of a form. The form `exported` has the models of `forms/`, and `example` the
  examples of lowerings.

What people add to the file stays: other keys and tables of the release, and other releases.
"""
import collections
import dataclasses
import json
import re
import tomllib

from . import example_cases, form_cases
from .cases import DTYPES

EXPORTED, EXAMPLE = form_cases.FORM, example_cases.FORM
# They are written by hand, and a few for each operator: alone they do not say that a dtype lacks.
WRITTEN = (EXPORTED, EXAMPLE)
WORKS = {"right", "nonfinite"}
FORMS = ["constant", "computed", "symbolic", *WRITTEN]
# The tables of a release and its keys that a measurement writes. All others in the file are written by hand, and stay.
TABLES = ("dtypes", "forms")
# Limits that are given as a reason, and those that hold or not.
REASONED = ("lacks_functions", "lacks_scalar_inputs", "lacks_constant_outputs")
FLAGS = ("narrows_int64", "widens_int32", "lacks_scalar_outputs", "lacks_empty_outputs", "drops_inputs")
KEYS = ("name", "newest_opset", "newest_ir", "lacks_dtypes", "lacks_constants", "lacks_io_dtypes", "most_weights", *REASONED, *FLAGS, "source", "lacks")
# What can be said of a dtype.
KINDS = ("lacks", "wrong")
WIDTH = 118


@dataclasses.dataclass
class Limits:
    """What a runtime takes of all operators: the newest opset and IR version, the dtypes that it does not know, those of which it loads no constants, why it runs no local
    function, whether it computes int64 in 32 bits, whether it keeps int32 as int64, whether outputs without dimensions have the shape [1], whether outputs without elements have another shape, why inputs must have dimensions, why outputs cannot be constants,
    and whether it leaves out inputs that nothing reads, so that those after them have other positions."""

    newest_opset: int
    newest_ir: int
    lacks_dtypes: list
    lacks_constants: list = dataclasses.field(default_factory=list)
    lacks_functions: str | None = None
    narrows_int64: bool = False
    widens_int32: bool = False
    lacks_scalar_outputs: bool = False
    lacks_empty_outputs: bool = False
    lacks_scalar_inputs: str | None = None
    lacks_constant_outputs: str | None = None
    drops_inputs: bool = False


def derive(results):
    """Facts from results by key."""
    by_op = collections.defaultdict(dict)
    for key, record in results.items():
        by_op[key[0]][key[1:]] = record
    facts = {"lacks": {}, "dtypes": [], "forms": []}
    for op, records in sorted(by_op.items()):
        # Examples do not say whether an operator lacks: they are of unusual calls.
        usual = [record for (_, _, form, _), record in records.items() if form != EXAMPLE]
        if usual and all(record["verdict"] in ("refused", "failed") for record in usual):
            facts["lacks"][op] = common_reason(records.values())
            continue
        bad = add_dtypes(facts, op, records)
        add_forms(facts, op, records, bad)
    return facts


def merge(path, results, measured_alone, measured):
    """The facts of a file, brought up to date with results of the `measured` forms only. Other facts stay unless these contradict them.

    `measured_alone` are the operators that have no other cases.
    """
    release = tomllib.loads(path.read_text())["release"][0]
    fresh = derive(results)
    usual = {key: record for key, record in results.items() if key[3] != EXAMPLE}
    some = {key[:3] for key, record in usual.items() if record["verdict"] in WORKS}
    right = some - {key[:3] for key, record in usual.items() if record["verdict"] not in WORKS}
    reasons = reasons_of_lacks(path)
    lacks = {op: reasons.get(op, "") for op in release.get("lacks", []) if not any(op == there for there, *_ in some) and op not in measured_alone}
    lacks |= {op: reason for op, reason in fresh["lacks"].items() if op in measured_alone}
    dtypes = []
    for entry in by_version(release.get("dtypes", []), lambda *key: key in right):
        add(dtypes, entry)
    plain = [entry for entry in release.get("forms", []) if entry["form"] not in measured]
    by_op = collections.defaultdict(list)
    for entry in [*plain, *forms_of(results, lacks, dtypes)]:
        by_op[entry["op"]].append(entry)
    return {"lacks": dict(sorted(lacks.items())), "dtypes": dtypes, "forms": [entry for _, entries in sorted(by_op.items()) for entry in entries]}


def with_dtypes(path, results, names):
    """The facts of a file, with what results of cases with constants say of some dtypes."""
    release = tomllib.loads(path.read_text())["release"][0]
    by_op = collections.defaultdict(dict)
    for key, record in results.items():
        if key[0] not in release.get("lacks", []) and key[2] in names and key[3] == "constant":
            by_op[key[0]][key[1:]] = record
    fresh = {"dtypes": []}
    for op, records in sorted(by_op.items()):
        add_dtypes(fresh, op, records)
    groups = collections.defaultdict(list)
    for entry in [*by_version(release.get("dtypes", []), lambda _op, _since, dtype: dtype in names), *by_version(fresh["dtypes"])]:
        groups[entry["op"], *entry["since"]].append(entry)
    dtypes = []
    for (op, since), entries in sorted(groups.items()):
        kinds = {kind: order([dtype for entry in entries for dtype in entry.get(kind, [])]) for kind in KINDS}
        add(dtypes, {"op": op, "since": [since], **{kind: found for kind, found in kinds.items() if found}, "reason": entries[0]["reason"]})
    reasons = reasons_of_lacks(path)
    return {"lacks": {op: reasons.get(op, "") for op in release.get("lacks", [])}, "dtypes": dtypes, "forms": release.get("forms", [])}


def by_version(entries, is_dropped=lambda op, since, dtype: False):
    """Entries of dtypes as those of one version each, without dropped dtypes."""
    for entry in entries:
        for since in entry["since"]:
            kinds = {kind: [dtype for dtype in entry.get(kind, []) if not is_dropped(entry["op"], since, dtype)] for kind in KINDS}
            if kept := {kind: dtypes for kind, dtypes in kinds.items() if dtypes}:
                yield {"op": entry["op"], "since": [since], **kept, "reason": entry["reason"]}


def forms_of(results, lacks, dtypes):
    """The entries of forms in results, without those of operators and dtypes that lack as a whole."""
    bad = {(entry["op"], since, dtype) for entry in dtypes for since in entry["since"] for dtype in [*entry.get("lacks", []), *entry.get("wrong", [])]}
    by_op = collections.defaultdict(dict)
    for key, record in results.items():
        if key[0] not in lacks:
            by_op[key[0]][key[1:]] = record
    facts = {"forms": []}
    for op, records in sorted(by_op.items()):
        add_forms(facts, op, records, {(since, dtype) for there, since, dtype in bad if there == op})
    return facts["forms"]


def reasons_of_lacks(path):
    """The reasons that stand as comments behind the operators which lack."""
    return dict(re.findall(r'^    "(\w+)", # ?(.*)$', path.read_text(), re.MULTILINE))


def add_dtypes(facts, op, records):
    """Adds the dtypes that do not work: in no case with constants, nor in all forms of exporters. Returns their versions and dtypes.

    The forms of exporters alone do not say that a dtype lacks, because they are few. But float32 does not lack if one of them works: no other
    dtype would do, and cases of the onnx package may have forms that no exporter writes. Those that are wrong belong into NAME_forms.toml.
    """
    groups = collections.defaultdict(list)
    for (since, dtype, form, _), record in records.items():
        if form in ("constant", EXPORTED):
            groups[since, dtype].append((form, record))
    bad, found = set(), collections.defaultdict(lambda: {"lacks": [], "wrong": [], "records": []})
    for (since, dtype), group in groups.items():
        plain = {record["verdict"] for form, record in group if form != EXPORTED}
        written = {record["verdict"] for form, record in group if form == EXPORTED}
        if not plain or plain & WORKS or written and written <= WORKS or dtype == "float32" and written & WORKS:
            continue
        verdicts = plain | written
        bad.add((since, dtype))
        found[since]["wrong" if "wrong" in verdicts else "lacks"].append(dtype)
        found[since]["records"] += [record for _, record in group]
    for since, there in sorted(found.items()):
        kinds = {kind: order(there[kind]) for kind in ("lacks", "wrong") if there[kind]}
        add(facts["dtypes"], {"op": op, "since": [since], **kinds, "reason": common_reason(there["records"])})
    return bad


def order(dtypes):
    return [dtype for dtype in ["", *DTYPES] if dtype in dtypes]


def add_forms(facts, op, records, bad_dtypes):
    """Adds the cases that do not work in versions and dtypes that do."""
    groups = collections.defaultdict(dict)
    for (since, dtype, form, name), record in records.items():
        if (since, dtype) not in bad_dtypes and is_fair(records, since, dtype, form, name):
            groups[since, form].setdefault(name, []).append(record)
    for since, form in sorted(groups, key=lambda group: (group[0], FORMS.index(group[1]))):
        found = {"lacks": [], "wrong": [], "nonfinite": []}
        bad = []
        for name, group in sorted(groups[since, form].items()):
            verdicts = {record["verdict"] for record in group} - {"right"}
            if verdicts:
                found[next((kind for kind in ("wrong", "nonfinite") if kind in verdicts), "lacks")].append(name)
                bad += [record for record in group if record["verdict"] != "right"]
        for kind, names in found.items():
            if len(names) == len(groups[since, form]) and form in ("computed", "symbolic"):
                found[kind] = ["*"]
        if bad:
            kinds = {kind: names for kind, names in found.items() if names}
            add(facts["forms"], {"op": op, "since": [since], "form": form, **kinds, "reason": common_reason(bad)})


def add(entries, entry):
    """Adds an entry, or its version to the entry that says the same of another version."""
    for known in entries:
        if all(known.get(name) == entry.get(name) for name in ("op", "form", "lacks", "wrong", "nonfinite")):
            known["since"] += entry["since"]
            return
    entries.append(entry)


def is_fair(records, since, dtype, form, name):
    """Whether a form adds to what is known: a case that is not right with constants tells nothing about other forms."""
    plain = records.get((since, dtype, "constant", name))
    return form in ("constant", *WRITTEN) or plain is not None and plain["verdict"] == "right"


def common_reason(records):
    """The most frequent reason, without what differs between runs."""
    reasons = collections.Counter(short(record["reason"]) for record in records if record["verdict"] != "right")
    return max(reasons, key=lambda reason: (reasons[reason], reason), default="")


def short(reason):
    reason = reason.split("Stack backtrace:")[0].replace("\n", " ")
    reason = re.sub(r"(/[\w.+-]+){2,}", "FILE", reason)
    reason = re.sub(r"\[\d\d:\d\d:\d\d\] (\S*:\d+: )?", "", reason)
    reason = re.sub(r"thread '[^']*' (\(\d+\) )?panicked at [^|]*\| ", "panic: ", reason)
    reason = re.sub(r"0x[0-9a-fA-F]+", "ADDRESS", reason)
    reason = re.sub(r"\s+", " ", re.sub(r"[^\x20-\x7e]", "", reason)).strip()
    return reason if len(reason) <= 160 else reason[:60] + " ... " + reason[-95:]


def write(runtime, what, release, limits, command, packages, facts, before="", refresh=None, lacks_io=()):
    """The text of the file. What people wrote stays as it was `before`."""
    keys, tables = by_hand(before)
    lines = [
        f"# What {what} lacks and gets wrong, measured with models of one operator.",
        f"# Refresh: {refresh or command}",
        "",
        f"runtime = {text(runtime)}",
        f"what = {text(what)}",
        "",
        *release_lines(release, limits, f"measured: {command}, with {packages}", facts, keys, lacks_io),
    ]
    return "\n".join([*lines, *tables]) + "\n"


def release_lines(name, limits, source, facts, keys=(), lacks_io=(), most_weights=None):
    """The lines of a release, with those of keys that people added."""
    lacks = [f"    {text(op)}," + (f" # {reason}" if reason else "") for op, reason in facts["lacks"].items()]
    lines = [
        "[[release]]",
        f"name = {text(name)}",
        f"newest_opset = {limits.newest_opset}",
        f"newest_ir = {limits.newest_ir}",
        *([f"lacks_dtypes = {value(limits.lacks_dtypes)}"] if limits.lacks_dtypes else []),
        *([f"lacks_constants = {value(limits.lacks_constants)}"] if limits.lacks_constants else []),
        *([f"lacks_io_dtypes = {value(lacks_io)}"] if lacks_io else []),
        *([f"most_weights = {most_weights}"] if most_weights else []),
        *[f"{key} = {text(reason)}" for key in REASONED if (reason := getattr(limits, key))],
        *[f"{key} = true" for key in FLAGS if getattr(limits, key)],
        f"source = {text(source)}",
        *(["lacks = [", *lacks, "]"] if lacks else []),
        *keys,
    ]
    for table in TABLES:
        for entry in facts[table]:
            lines += ["", f"[[release.{table}]]", *[f"{name} = {value(found)}" for name, found in entry.items()]]
    return lines


def by_hand(before):
    """What people added to a file: keys of the first release, and tables with the comments above them."""
    blocks = [[]]
    for line in before.splitlines():
        if line.startswith("["):
            above = comments_at_end(blocks[-1])
            blocks.append(["", *above, line])
        else:
            blocks[-1].append(line)
    keys, tables, releases = [], [], 0
    for block in blocks[1:]:
        header = next(line for line in block if line.startswith("["))
        releases += header == "[[release]]"
        if releases == 1 and header == "[[release]]":
            keys = other_keys(block)
        elif releases > 1 or header not in [f"[[release.{table}]]" for table in TABLES]:
            tables += trimmed(block)
    return keys, tables


def comments_at_end(lines):
    """Takes the comments at the end of a block: they belong to the next one."""
    taken = []
    while lines and (lines[-1].startswith("#") or not lines[-1].strip() and not taken):
        line = lines.pop()
        if line.strip():
            taken.insert(0, line)
        elif taken:
            break
    return taken


def other_keys(block):
    """The lines of a release's keys that no measurement writes."""
    kept, is_kept = [], False
    for line in block:
        if line.startswith("["):
            is_kept = False
        elif found := re.match(r"([\w-]+)\s*=", line):
            is_kept = found[1] not in KEYS
        elif line.startswith("#"):
            is_kept = True
        if is_kept and line.strip():
            kept.append(line)
    return kept


def trimmed(block):
    while block and not block[-1].strip():
        block.pop()
    return block


def text(string):
    return json.dumps(string)


def value(found):
    if not isinstance(found, list):
        return json.dumps(found)
    line = f"[{', '.join(map(json.dumps, found))}]"
    if len(line) <= WIDTH:
        return line
    return "[\n" + "".join(f"    {text(item)},\n" for item in found) + "]"


def read(path):
    """The facts of the newest release of a file, as `derive` gives them, without reasons."""
    release = tomllib.loads(path.read_text())["release"][0]
    return without_reasons({"lacks": dict.fromkeys(release.get("lacks", []), ""), "dtypes": release.get("dtypes", []), "forms": release.get("forms", [])})


def limits(path):
    """The limits that the newest release of a file claims."""
    release = {"lacks_dtypes": []} | tomllib.loads(path.read_text())["release"][0]
    return Limits(**{field.name: release[field.name] for field in dataclasses.fields(Limits) if field.name in release})


def without_reasons(facts):
    plain = {table: [{k: v for k, v in entry.items() if k != "reason"} for entry in facts[table]] for table in ("dtypes", "forms")}
    return {"lacks": sorted(facts["lacks"]), **plain}


def restrict(facts, ops):
    """The facts about some operators."""
    return {"lacks": [op for op in facts["lacks"] if op in ops], **{table: [entry for entry in facts[table] if entry["op"] in ops] for table in ("dtypes", "forms")}}


def differences(claimed, measured):
    """Lines that say how the file differs from what was measured."""
    lines = []
    for table in ("lacks", "dtypes", "forms"):
        lines += [f"{table}: the file claims {entry}, but it was not measured" for entry in claimed[table] if entry not in measured[table]]
        lines += [f"{table}: measured {entry}, but the file does not say so" for entry in measured[table] if entry not in claimed[table]]
    return lines
