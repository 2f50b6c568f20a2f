"""Measures what a runtime lacks and gets wrong: `python runtimes/facts.py openvino` writes mappings/targets/openvino.toml.

It runs models of one operator (`harness/cases.py`), of the forms that exporters write (`forms/`), and the examples of all lowerings,
and compares their outputs with those that ONNX Runtime and onnx's reference evaluator agree on. What people added to the file stays.
`--check` measures again and fails if the file says something else. A measurement that was stopped goes on. `--forms exported,example`
brings only these forms in the file up to date, in minutes; the others stay as they were measured, unless these contradict them.
`--add-dtypes int8,uint8` adds these dtypes to a file of which others were measured.
"""
import argparse
import sys
import tomllib
from pathlib import Path

import numpy
import onnx
from harness import environments, facts_file, judge, limits, measure
from harness.worker import Stopped

EXPORTER = str(environments.ROOT.parent / "target/release/aten2onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", help="such as `openvino` or `openvino-2026.4.1`")
    parser.add_argument("--check", action="store_true", help="compares with the file instead of writing it")
    parser.add_argument("--only", type=lambda names: set(names.split(",")), help="only these operators: `Abs,Gelu`; needs --check or --list")
    parser.add_argument("--list", action="store_true", help="prints each case that is not right, and writes nothing")
    parser.add_argument("--sample", type=int, help="at most so many cases of each operator, version, dtype and form")
    parser.add_argument("--forms", type=lambda names: names.split(","), help="only these forms: `constant,computed,symbolic,exported,example`")
    parser.add_argument("--exporter", default=EXPORTER, help="the command `aten2onnx`, which writes the examples (default: that of target/release)")
    parser.add_argument("--opset", type=int, help="only the versions of operators that are in force in this opset")
    parser.add_argument("--dtypes", type=lambda names: names.split(","), help="only cases with these dtypes of the first input: `float32,int64`")
    parser.add_argument("--add-dtypes", type=lambda names: names.split(","), help="adds what cases with constants of these dtypes show to the file: `int8,uint8`")
    parser.add_argument("--fresh", action="store_true", help="forgets what was measured before")
    parser.add_argument("--file", type=Path, help="the file of facts (default: mappings/targets/NAME.toml)")
    parser.add_argument("--seconds", type=float, default=30, help="the time limit of a model (default: 30)")
    args = parser.parse_args()
    if args.add_dtypes and (args.forms or args.dtypes or args.check):
        parser.error("--add-dtypes measures cases with constants of its dtypes, and does not go with --forms, --dtypes and --check")
    if args.only and not (args.check or args.list):
        parser.error("--only needs --check or --list, because a file has all operators")
    if args.sample and (args.check or not (args.list or args.file)):
        parser.error("--sample needs --list or --file: one case that fails would make the whole operator count as lacking")
    try:
        runtime = environments.find(args.runtime)
        sys.exit(act(args, runtime))
    except (environments.UnknownRuntime, Stopped) as error:
        sys.exit(f"error: {error}")
    except FileNotFoundError as error:
        sys.exit(f"error: {error.filename} is not there: build it with `cargo build --release`, or name the command with --exporter")


def act(args, runtime):
    file = args.file or environments.TARGETS / f"{runtime.name}.toml"
    forms, dtypes = (["constant"], args.add_dtypes) if args.add_dtypes else (args.forms, args.dtypes)
    judged = judge.judged(args.only, None if forms and facts_file.EXAMPLE not in forms else args.exporter)
    lacks_io = runtime.settings.get("lacks_io_dtypes", [])
    cases = [case for case in measure.sample(judged, args.sample, forms, args.opset, dtypes) if not measure.has_outside(case, lacks_io)]
    if args.fresh:
        measure.kept(runtime).unlink(missing_ok=True)
    results = measure.measure(runtime, cases, args.seconds, say=lambda line: print(line, file=sys.stderr, flush=True))
    if args.list:
        for key, record in results.items():
            if record["verdict"] != "right":
                print(*key, record["verdict"], facts_file.short(record["reason"]))
        return 0
    results = {key: record for key, record in results.items() if not any(phrase in record["reason"] for phrase in runtime.settings.get("not_facts", []))}
    facts = facts_file.derive(results)
    found = limits.measured(runtime)
    if args.check:
        return check(file, facts, {case.op for case in cases}, found)
    before = file.read_text() if file.exists() else ""
    if before and "measured: " not in before:
        raise Stopped(f"{file} was not written by this command: name another one with --file")
    packages = f"{runtime.name} {runtime.version}, onnx {onnx.__version__} and numpy {numpy.__version__}"
    what = runtime.settings["what"]
    release = ".".join(runtime.version.split(".")[:2])
    if is_update(args, before):
        others = {case.op for case in judged if case.form not in facts_file.WRITTEN}
        facts = facts_file.merge(file, results, {case.op for case in cases if case.form == facts_file.EXPORTED} - others, args.forms)
        packages += f". The other forms were {source_of(file, 'forms')}"
    if args.add_dtypes:
        facts = facts_file.with_dtypes(file, results, args.add_dtypes)
        packages += f". The other dtypes were {source_of(file, 'dtypes')}"
    is_part = is_update(args, before) or args.add_dtypes
    refresh = f"python runtimes/facts.py {args.runtime}" if is_part else None
    file.write_text(facts_file.write(runtime.name, what, release, found, command(args), packages, facts, before, refresh, lacks_io))
    print(f"{file.name}: {len(cases)} cases; without {len(facts['lacks'])} operators, {len(facts['dtypes'])} entries of dtypes, {len(facts['forms'])} of forms")
    return 0


def is_update(args, before):
    """Whether only forms that people write are measured, and the file has others: these stay."""
    return bool(before) and bool(args.forms) and set(args.forms) <= set(facts_file.WRITTEN)


def source_of(file, what):
    """What the file says of the measurement of all `forms` or `dtypes`."""
    return tomllib.loads(file.read_text())["release"][0]["source"].split(f" The other {what} were ")[-1]


def command(args):
    """The command that measures the same again."""
    options = {"--sample": args.sample, "--forms": args.forms, "--opset": args.opset, "--dtypes": args.dtypes, "--add-dtypes": args.add_dtypes}
    texts = [f"{name} {','.join(value) if isinstance(value, list) else value}" for name, value in options.items() if value]
    return " ".join(["python runtimes/facts.py", args.runtime, *texts])


def check(file, facts, ops, measured):
    """Prints what the file claims and the measurement contradicts, in either direction. Returns the exit code."""
    claimed = facts_file.restrict(facts_file.read(file), ops)
    lines = facts_file.differences(claimed, facts_file.without_reasons(facts))
    claims = vars(facts_file.limits(file))
    for name, found in vars(measured).items():
        claim = claims[name]
        # Reasons may differ.
        if bool(claim) != bool(found) if name in facts_file.REASONED else claim != found:
            lines.append(f"{name}: the file claims {claim}, but {found} was measured")
    for line in lines:
        print(line)
    print(f"{file.name}: {len(lines)} differences in {len(ops)} operators")
    return 1 if lines else 0


if __name__ == "__main__":
    main()
