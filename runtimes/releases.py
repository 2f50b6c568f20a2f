"""Measures what releases of ONNX Runtime load, and what they lack of the newest one: `python runtimes/releases.py` measures all that have
an environment, and writes mappings/targets/onnxruntime_releases.toml.

    python runtimes/releases.py onnxruntime-1.17 onnxruntime-1.20
    python runtimes/releases.py onnxruntime-web

The kernels that the newest release lacks are in onnxruntime.toml. A release has the operators and dtypes that it does not get right
in any case that the newest one does, as `facts.py` measures them but at the newest opset with each version of an operator, and the
dtypes that inputs and outputs cannot have. Of packages for other languages, it also measures how many weights they load. Other releases and keys in the file stay. `--check` compares with the file instead. A measurement that was stopped goes on.
"""
import argparse
import dataclasses
import re
import sys
import tomllib

import numpy
import onnx
from harness import environments, facts_file, judge, limits, measure
from harness.worker import Stopped

FILES = {"onnxruntime": "onnxruntime_releases.toml"}
# Those that tell of dtypes.
FORMS = ("constant", facts_file.EXPORTED)
NEWEST = environments.find(judge.JUDGE)
HEAD = """# {what}: the opsets and IR versions that releases load, and what these lack of the newest ONNX Runtime.
# Refresh: python runtimes/releases.py {name}

runtime = "{name}"
what = "{what}"
kernels = true
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", default=["onnxruntime"], help="`onnxruntime-1.17`, or `onnxruntime-web` for all its releases (default: onnxruntime)")
    parser.add_argument("--check", action="store_true", help="compares with the file instead of writing it")
    parser.add_argument("--seconds", type=float, default=30, help="the time limit of a model (default: 30)")
    args = parser.parse_args()
    known = environments.known()
    try:
        chosen = [release for name in args.releases for release in known.get(name) or [environments.find(name)]]
        sys.exit(max(act(args, release) for release in chosen))
    except (environments.UnknownRuntime, Stopped) as error:
        sys.exit(f"error: {error}")


def act(args, runtime):
    """Measures a release. Returns the exit code."""
    file = environments.TARGETS / FILES.get(runtime.name, f"{runtime.name}.toml")
    before = file.read_text() if file.exists() else HEAD.format(name=runtime.name, what=runtime.settings["what"])
    found = measured(args, runtime)
    release = name_of(runtime)
    after = replaced(before, release, found)
    entries = tomllib.loads(after)["release"]
    count = next(len(entry.get("dtypes", [])) for entry in entries if entry["name"] == release)
    is_same = without_reasons(before) == without_reasons(after)
    if args.check:
        print(f"{runtime.name} {release}: {'as' if is_same else 'not as'} the file says")
        return 0 if is_same else 1
    file.write_text(after)
    print(f"{runtime.name} {release}: {count} entries of dtypes{'' if is_same else ', changed'}", flush=True)
    return 0


def name_of(runtime):
    return ".".join(runtime.version.split(".")[:2])


def measured(args, runtime):
    """The arguments of `facts_file.release_lines` for a release."""
    found = dataclasses.replace(limits.measured(runtime), lacks_dtypes=[])
    command = f"python runtimes/releases.py {runtime.name}-{name_of(runtime)}"
    # ONNX Runtime itself is used from several languages, of which only Python is measured.
    is_package = runtime.name != NEWEST.name
    package = {"lacks_io": limits.lacks_io(runtime), "most_weights": limits.most_weights(runtime)} if is_package else {}
    packages = f"{runtime.name} {runtime.version}, onnx {onnx.__version__} and numpy {numpy.__version__}"
    return {"limits": found, "source": f"measured: {command}, with {packages}", "facts": facts(args, runtime, found.newest_opset), **package}


def facts(args, runtime, opset):
    """The operators and dtypes that a release lacks or gets wrong, of the cases that the newest one gets right.

    All cases of a dtype are only measured if the first is not right: a dtype with a right case does not lack.
    """
    if runtime == NEWEST:
        return facts_file.derive({})

    def run(release, cases):
        return measure.measure(release, cases, args.seconds, lambda line: print(line, file=sys.stderr, flush=True))

    cases = [case for case in judge.judged() if case.form in FORMS and case.since <= opset]
    newest = run(NEWEST, cases)
    right = [at_newest(case, opset) for case in cases if newest[measure.key(case)]["verdict"] == "right"]
    first = run(runtime, list({group(case): case for case in reversed(right)}.values()))
    doubtful = {key[:3] for key, record in first.items() if record["verdict"] not in facts_file.WORKS}
    found = facts_file.derive(first | run(runtime, [case for case in right if group(case) in doubtful]))
    return found | {"forms": []}


def at_newest(case, opset):
    """The case at the newest opset, up to one, that has its version of the operator. Forms of exporters are at theirs."""
    if case.form == facts_file.EXPORTED:
        return case
    model = onnx.ModelProto.FromString(case.model)
    first = model.opset_import[0].version
    model.opset_import[0].version = max(number for number in range(first, max(opset, first) + 1) if measure.in_force(case.op, number) == case.since)
    return dataclasses.replace(case, model=model.SerializeToString())


def group(case):
    return case.op, case.since, case.dtype


def replaced(before, release, found):
    """The file with the measured release in its place, the newest release first."""
    head, *blocks = re.split(r"(?m)^(?=\[\[release\]\]$)", before)
    by_name = {tomllib.loads(block)["release"][0]["name"]: block.strip() for block in blocks}
    keys = facts_file.other_keys(by_name.get(release, "").partition("\n[[release.")[0].splitlines())
    by_name[release] = "\n".join(facts_file.release_lines(release, keys=keys, **found))
    ordered = sorted(by_name, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    return "\n\n".join([head.strip(), *(by_name[name] for name in ordered)]) + "\n"


def without_reasons(text):
    """What a file says, without the reasons and sources."""
    releases = tomllib.loads(text).get("release", [])
    plain = [{name: value for name, value in release.items() if name != "source"} for release in releases]
    return [{name: strip(value) for name, value in release.items()} for release in plain]


def strip(value):
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{name: found for name, found in entry.items() if name != "reason"} for entry in value]
    return value


if __name__ == "__main__":
    main()
