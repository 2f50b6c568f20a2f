"""Exports PyTorch's own samples of its operators and compares the models with eager PyTorch.

    opinfo.py PATH-OF-aten2onnx [--slice N | --samples N] [--ops NAME,...] [--opsets N,...] [--out FILE]

By default a short run: one sample of each operator, whose dtype and opset depend on the name. --slice takes only every Nth operator.
--samples takes N samples of each dtype, with fixed and with symbolic sizes, at each opset. The outcome is `ok`, `differs` (other results,
which an entry of src/examples/src/differences.toml accepts: it is held against them), `refused` (an error says that the model is not
supported), `wrong`, or `crashed` (a panic, or any other error). expected_failures.txt lists the samples that may be refused or wrong. Exits
with 1 if another sample fails, if a sample fails in another way, if an expected failure passes, or if few are ok.
"""
import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
DIFFERENCES = HERE / "../../src/examples/src/differences.toml"
OPSETS = [9, 13, 18, 23]
# The exit code of `aten2onnx` for models that it does not support.
REFUSED = 5
# The share of the operators that have a sample with the outcome `ok`. In the others, most samples cannot be judged.
MIN_OK = 0.7


# ---------------------------------------------------------------- one operator, in a separate process

def work(binary):
    """Reads {"op", "samples", "opsets"} from each line of stdin. Prints a line for each verdict, then an empty line."""
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src/examples/src")]
    import differences
    import judge
    import samples
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    print("ready", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            task = json.loads(line)
            for verdict in verdicts(binary, Path(folder), task, samples, judge, differences):
                print(json.dumps(verdict), flush=True)
            print(flush=True)


def verdicts(binary, folder, task, samples, judge, differences):
    name, by_dtype = task["op"], {}
    overload = "aten::" + samples.INFOS[name].name.replace(".", "_")
    for dtype, index, dynamic in samples.plan(name, task["samples"]):
        if dtype not in by_dtype:
            by_dtype[dtype] = samples.samples(samples.INFOS[name], dtype)
        there = by_dtype[dtype]
        if not there:
            continue
        index %= len(there)
        opsets = task["opsets"] or [OPSETS[(samples.number_of(name) // 64) % len(OPSETS)]]
        if dtype == "bfloat16":
            # Cast does not support bfloat16 before opset 13.
            opsets = sorted({max(opset, 13) for opset in opsets})
        about = {"op": name, "dtype": dtype, "sample": index, "dynamic": dynamic}
        try:
            pt2, runs, sample = prepared(samples, samples.INFOS[name], there[index], dynamic, folder)
        except samples.Skip as why:
            yield {**about, "status": "skip", "what": str(why).strip().split("\n")[0][:200]}
            continue
        for opset in opsets:
            status, what = tried(binary, overload, pt2, opset, dtype, runs, judge, lambda *results: excuse(sample, name, differences, judge, *results))
            yield {**about, "opset": opset, "status": status, "what": what, "text": sample.text()}


def prepared(samples, info, sample, dynamic, folder):
    """Writes the program to a file. Returns the inputs and the expected results."""
    import torch
    sample = samples.Sample(info, sample)
    if sum(x.numel() for x in sample.inputs) > 1_000_000:
        raise samples.Skip("large")
    with torch.no_grad():
        runs = [(sample.inputs, sample.answer(sample.inputs))]
        program = samples.exported(sample, dynamic)
        others = samples.at_other_sizes(sample, program) if dynamic else None
    path = folder / "model.pt2"
    try:
        torch.export.save(program, str(path))
    except Exception as error:
        raise samples.Skip(f"torch.export.save: {error}") from error
    return path, runs + ([others] if others else []), sample


def excuse(sample, name, differences, judge, inputs, want, have):
    """The entry of the table of differences that accepts results, or None."""
    base, _, variant = name.partition("/")
    op = "aten::" + base.removeprefix("nn.functional.").replace(".", "_")
    record = {"op": op, "args": sample.named_arguments()}

    def again(others):
        return [judge.plain_parts(judge.to_numpy(x)) for x in sample.answer([judge.to_torch(x) for x in others])]
    return differences.excuse(record, inputs, [judge.plain_parts(w) for w in want], have, judge.close, again)


def tried(binary, op, pt2, opset, dtype, runs, judge, excuse):
    """Exports and runs the program. Returns the status and a message."""
    path = pt2.with_suffix(".onnx")
    path.unlink(missing_ok=True)
    done = subprocess.run([binary, "export", str(pt2), "-o", str(path), "--opset", str(opset), "--quiet"], capture_output=True, text=True)
    if done.returncode:
        text = " ".join(done.stderr.split())
        return ("refused" if done.returncode == REFUSED and "panicked" not in text else "crashed"), text[:400]
    excused = ""
    for inputs, answer in runs:
        try:
            have, where = run(path, opset, inputs, judge)
        except Exception as error:
            return "wrong", judge.first_line(error)
        # ONNX Runtime has hardly any kernels for bfloat16.
        if where != "runtime" and dtype != "bfloat16":
            return "wrong", "ONNX Runtime has no kernel for it"
        want = list(map(judge.to_numpy, answer))
        what = judge.compared(op, want, have, random=False)
        if not what:
            continue
        what += " (at other sizes)" if inputs is not runs[0][0] else ""
        entry = excuse(list(map(judge.to_numpy, inputs)), want, have)
        if not entry:
            return "wrong", what
        excused = excused or f"{entry}: {what}"
    return ("differs", excused) if excused else ("ok", "")


def run(path, opset, inputs, judge):
    """Runs the model in ONNX Runtime with its default optimizations."""
    import onnx
    model = onnx.load(path)
    found = next(o.version for o in model.opset_import if not o.domain)
    if found != opset:
        raise ValueError(f"expected opset {opset}, found {found}")
    names = [i.name for i in model.graph.input]
    if len(names) != len(inputs):
        raise ValueError(f"expected {len(inputs)} inputs, found {len(names)}")
    return judge.run_fed(model, path.read_bytes(), opset, dict(zip(names, map(judge.to_numpy, inputs))), optimise=True)


# ---------------------------------------------------------------- all operators

class Workers:
    """Processes that take operators from a queue. If one dies, it is replaced and its operator has failed."""

    def __init__(self, command, tasks):
        self.command, self.results, self.lock = command, [], threading.Lock()
        self.tasks = queue.Queue()
        for task in tasks:
            self.tasks.put(task)

    def run(self, jobs, log):
        threads = [threading.Thread(target=self.serve, args=(log,)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.results

    def serve(self, log):
        process = None
        while True:
            try:
                task = self.tasks.get_nowait()
            except queue.Empty:
                break
            process = process or self.start()
            found = list(self.ask(process, task))
            if process.poll() is not None:
                found.append({"op": task["op"], "dtype": "", "dynamic": False, "status": "crashed", "what": "the process died"})
                process = None
            with self.lock:
                self.results += found
                for verdict in found:
                    print(json.dumps(verdict), file=log, flush=True)
        if process:
            process.stdin.close()
            process.wait()

    def start(self):
        process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            print("a worker process does not start: see above", file=sys.stderr, flush=True)
            os._exit(2)
        return process

    def ask(self, process, task):
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if not line.strip():
                return
            yield json.loads(line)
        process.wait()


class Expected:
    """A line of expected_failures.txt: `OPS DTYPES SIZES OPSETS all|some refused|wrong: REASON`. Lists have commas, `*` is everything.

    `all`: no sample passes. `some`: there are samples that pass.
    """

    def __init__(self, line):
        head, _, self.reason = line.partition(": ")
        self.line = line
        self.op, self.dtypes, self.sizes, self.opsets, self.extent, self.status = head.split()
        if self.extent not in ("all", "some") or self.status not in ("refused", "wrong") or not self.reason:
            raise ValueError(f"expected_failures.txt: cannot read `{line}`")
        self.failed = self.passed = 0

    def covers(self, verdict):
        def within(listed, value):
            return listed == "*" or str(value) in listed.split(",")
        sizes = "dynamic" if verdict["dynamic"] else "static"
        return (within(self.op, verdict["op"]) and within(self.dtypes, verdict["dtype"]) and within(self.sizes, sizes)
                and within(self.opsets, verdict.get("opset", "")))

    def stale(self, complete):
        """Whether the expected failure passes: some sample that is in `all`, or in a complete run each sample."""
        return (self.passed > 0 and self.extent == "all") or (complete and self.failed == 0)


def judged(results, expected, complete):
    """Returns a line for each problem in the results."""
    wrong = []
    for verdict in results:
        if verdict["status"] in ("skip", "differs"):
            continue
        entries = [e for e in expected if e.covers(verdict)]
        failed = [e for e in entries if e.status == verdict["status"]]
        for entry in entries:
            entry.passed += verdict["status"] == "ok"
        for entry in failed:
            entry.failed += 1
        if verdict["status"] != "ok" and not failed:
            sizes = "dynamic" if verdict["dynamic"] else "static"
            wrong.append(f"{verdict['op']} {verdict['dtype']} {sizes} at opset {verdict.get('opset')} is {verdict['status']}: "
                         f"{verdict['what']} [{verdict.get('text', '')}]")
    return wrong + [f"expected to fail, but passes; drop it from expected_failures.txt: {e.line}" for e in expected if e.stale(complete)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--samples", type=int, help="number of samples of each dtype")
    parser.add_argument("--slice", type=int, default=1, help="only every Nth operator")
    parser.add_argument("--ops", help="only these operators")
    parser.add_argument("--opsets", help="only these opsets")
    parser.add_argument("--out", default=os.devnull, help="output file for all verdicts (JSON lines)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(args.binary)
    os.environ.setdefault("PYTHONHASHSEED", "0")
    listed = json.loads(subprocess.check_output([sys.executable, "-c", LIST_NAMES], cwd=HERE))
    all_names = set(listed)
    names = args.ops.split(",") if args.ops else listed
    opsets = [int(o) for o in args.opsets.split(",")] if args.opsets else (OPSETS if args.samples else None)
    names = [name for i, name in enumerate(names) if i % args.slice == 0]
    if not names or not all_names.issuperset(names):
        sys.exit(f"there are no operators {sorted(set(names) - all_names)}")
    tasks = [{"op": name, "samples": args.samples, "opsets": opsets} for name in names]
    workers = Workers([sys.executable, __file__, "--worker", args.binary], tasks)
    with open(args.out, "w") as log:
        results = workers.run(min(args.jobs, len(tasks)), log)
    lines = (HERE / "expected_failures.txt").read_text().splitlines()
    expected = [Expected(line) for line in lines if line and not line.startswith("#")]
    wrong = judged(results, expected, complete=args.samples is not None and not args.ops and args.slice == 1)
    table = {entry["id"] for entry in tomllib.loads(DIFFERENCES.read_text())["difference"]}
    wrong += [f"expected_failures.txt: `{e.line}` names no entry of {DIFFERENCES.name}"
              for e in expected if e.status == "wrong" and e.reason.partition(": ")[0] not in table]
    unknown = {op for e in expected for op in e.op.split(",")} - all_names
    wrong += [f"expected_failures.txt: there is no operator `{op}`" for op in unknown]
    good = len({v["op"] for v in results if v["status"] == "ok"})
    if not args.ops and good < MIN_OK * len(names):
        wrong.append(f"only {good} of {len(names)} operators have a sample that is ok")
    counts = collections.Counter(v["status"] for v in results)
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    print("\n".join(sorted(wrong)))
    return 1 if wrong else 0


LIST_NAMES = "import json, samples; print(json.dumps(sorted(samples.INFOS)))"

if __name__ == "__main__":
    sys.exit(main())
