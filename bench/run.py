#!/usr/bin/env python3
"""Exports the same .pt2 files with aten2onnx and with torch.onnx.export(dynamo=True), and prints a Markdown table.

FOLDER contains NAME/model.pt2 and NAME/inputs.npz (arrays i0, i1, ... in the order of the model's inputs); models.py creates one.
The time of torch is that of torch.onnx.export alone, without the import, torch.export.load and writing the result. The time of
aten2onnx is that of the whole process, for a self-contained file and for `--external-data link`: the fastest of --repeat runs, which
alternate with `cp` of the .pt2. "faster" and "memory" are torch / aten2onnx, "vs cp" is aten2onnx / cp. File size (without weights) and nodes are
shown as "aten2onnx / torch"; latency is the ratio aten2onnx / torch. --into FILE replaces the table and the summary between the two
marks in that file.

This process must not import large packages, because the peak memory of a child includes that of its parent.
"""
import argparse
import fnmatch
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TORCH = r"""
import json, sys, time, warnings
warnings.simplefilter("ignore")
source, out, opset = sys.argv[1:]
import torch, torchvision, onnx, onnxscript
import torch.onnx._internal.exporter._core
torch.set_num_threads(1)
program = torch.export.load(source)
start = time.perf_counter()
result = torch.onnx.export(program, dynamo=True, opset_version=int(opset), verbose=False)
exported = time.perf_counter()
result.save(out, external_data=True)
print("\n" + json.dumps({"export_s": exported - start, "write_s": time.perf_counter() - exported}))
"""

LATENCY = r"""
import json, sys, time, numpy as np, onnx, onnxruntime as ort
paths, inputs, seconds = sys.argv[1:3], np.load(sys.argv[3]), float(sys.argv[4])
def nodes(graph):
    bodies = [a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    return len(graph.node) + sum(map(nodes, bodies))
models = [onnx.load(p, load_external_data=False) for p in paths]
counts = [nodes(m.graph) for m in models]
def without_weights(model):
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
    return model.ByteSize()
sizes = [without_weights(m) for m in models]
del models
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
try:
    sessions = [ort.InferenceSession(p, options, providers=["CPUExecutionProvider"]) for p in paths]
    feeds = [{i.name: inputs[f"i{k}"] for k, i in enumerate(s.get_inputs())} for s in sessions]
    outputs = [s.run(None, f) for s, f in zip(sessions, feeds)]
    worst = max((float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-9))
                 for a, b in zip(*outputs) if a.size), default=0.0)
    times, end = [[], []], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 10:
        for kept, session, feed in zip(times, sessions, feeds):
            start = time.thread_time()  # of this thread, which does all the work: other load does not count
            session.run(None, feed)
            kept.append(time.thread_time() - start)
    # Noise only adds time, so only the faster half counts.
    quick = [sorted(t)[: max(1, len(t) // 2)] for t in times]
    latency = [1e3 * sum(q) / len(q) for q in quick]
except Exception as error:
    latency, worst = None, str(error)[:300]
print("\n" + json.dumps({"nodes": counts, "graph_bytes": sizes, "latency_ms": latency, "difference": worst}))
"""


def run(command):
    """Runs a process. Returns its seconds, its peak memory in bytes, and the JSON in its last line of output."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - start
        out.seek(0)
        text = out.read().decode(errors="replace").strip()
    if status:
        return None, None, {"error": text[-300:]}
    last = text.rsplit("\n", 1)[-1]
    return took, usage.ru_maxrss * 1024, json.loads(last) if last.startswith("{") else {}


def in_turns(commands, repeat):
    """Returns the fastest result of each command by name.

    The commands take turns, and each round starts with another one, because noise comes in waves. Output files are deleted before
    the next command starts, so that it does not wait for the disk; those of the last round stay.
    """
    results = {name: [] for name in commands}
    order = list(commands)
    for turn in range(repeat):
        for name in order:
            command, out = commands[name]
            results[name].append(run(command))
            if turn + 1 < repeat:
                for written in out.parent.glob(out.name + "*"):
                    written.unlink()
        order.append(order.pop(0))
    failed = lambda runs: [r for r in runs if r[0] is None]
    return {name: (failed(runs) or [min(runs, key=lambda r: r[0])])[0] for name, runs in results.items()}


def size(folder, name):
    return sum(f.stat().st_size for f in folder.glob(name + "*"))


def compare(name, folder, args, work):
    source, inputs = folder / "model.pt2", folder / "inputs.npz"
    copy, ours, linked, theirs = work / "m.pt2", work / "ours.onnx", work / "linked.onnx", work / "theirs.onnx"
    row, start = {"name": name, "load_average": os.getloadavg()[0], "pt2_bytes": source.stat().st_size}, time.perf_counter()
    run(["cp", source, copy])  # the source is in the page cache from here on
    export = [args.bin, "export", copy, "--opset", args.opset, "-q", "-o"]
    plain = work / "copy.tmp"
    results = in_turns({"cp": (["cp", copy, plain], plain), "ours": ([*export, ours], ours),
                        "link": ([*export, linked, "--external-data", "link"], linked)}, args.repeat)
    plain.unlink()
    for key, (took, peak, info) in results.items():
        row[f"{key}_s"], row[f"{key}_rss"] = took, peak
        if took is None:
            return {**row, **info}
    row["link_bytes"] = size(work, "linked.onnx")
    _, row["torch_rss"], info = run([sys.executable, "-c", TORCH, copy, theirs, args.opset])
    row.update(info)
    row["ours_bytes"], row["torch_bytes"] = size(work, "ours.onnx"), size(work, "theirs.onnx")
    if "error" not in row:
        _, _, info = run([sys.executable, "-c", LATENCY, ours, theirs, inputs, args.seconds])
        row.update(info)
    row["took_s"] = time.perf_counter() - start
    return row


HEAD = ("| model | weights MB | torch s | ours s | linked ms | faster | faster linked | vs cp | peak MB | memory | kB without weights "
        "| nodes | latency |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
MARKS = ("<!-- bench/run.py -->\n", "<!-- bench/run.py ends -->\n")


def line(r):
    if "error" in r:
        return f"| {r['name']} | {r['error'][-80:]!r} |"
    torch = r["export_s"]
    graph, (ours, theirs) = [n / 1e3 for n in r["graph_bytes"]], r["nodes"]
    latency = f"{r['latency_ms'][0] / r['latency_ms'][1]:.2f}" if r["latency_ms"] else "-"
    cells = [r["name"], f"{r['pt2_bytes'] / 1e6:.0f}", f"{torch:.1f}", f"{r['ours_s']:.3f}", f"{1e3 * r['link_s']:.0f}",
             f"{torch / r['ours_s']:.0f}x", f"{torch / r['link_s']:.0f}x", f"{r['ours_s'] / r['cp_s']:.2f}",
             f"{r['ours_rss'] / 1e6:.0f}", f"{r['torch_rss'] / r['ours_rss']:.0f}x",
             f"{graph[0]:.0f} / {graph[1]:.0f}", f"{ours} / {theirs}", latency]
    return "| " + " | ".join(cells) + " |"


def summary(rows):
    done = [r for r in rows if "error" not in r]
    if not done:
        return "nothing compared"
    both = [r["latency_ms"][0] / r["latency_ms"][1] for r in done if r["latency_ms"]]
    copied, linked = ([r["export_s"] / r[key] for r in done] for key in ("ours_s", "link_s"))
    fewer = sum(r["nodes"][0] <= r["nodes"][1] for r in done)
    graphs = statistics.median(r["graph_bytes"][0] / r["graph_bytes"][1] for r in done)
    return "\n".join([
        f"- export: median {statistics.median(copied):.0f} times faster, at least {min(copied):.0f} times",
        f"- linked: median {statistics.median(linked):.0f} times faster, at least {min(linked):.0f} times; "
        f"at most {1e3 * max(r['link_s'] for r in done):.0f} ms",
        f"- nodes: {sum(r['nodes'][0] for r in done)} vs {sum(r['nodes'][1] for r in done)}; not more in {fewer} of {len(done)} models",
        f"- bytes without weights: median {graphs:.3f} of torch",
        f"- latency: median {statistics.median(both):.3f}, at most {max(both):.2f}" if both else "- latency: none",
        f"- outputs differ by at most {max(r['difference'] for r in done if r['latency_ms']):.1e} of the largest value",
        f"- peak memory: at most {max(r['ours_rss'] for r in done) / 1e6:.0f} MB; "
        f"median of torch {statistics.median(r['torch_rss'] for r in done) / 1e6:.0f} MB",
        f"- {len(done)} models in {sum(r['took_s'] for r in done) / 60:.0f} minutes, load average at most "
        f"{max(r['load_average'] for r in done):.1f} before each",
    ])


def put_into(file, text):
    """Replaces the text between the two marks of a file."""
    before, rest = file.read_text().split(MARKS[0])
    _, after = rest.split(MARKS[1])
    file.write_text(before + MARKS[0] + text + MARKS[1] + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bin", type=Path, default=Path("target/release/aten2onnx"))
    parser.add_argument("--opset", type=int, default=18)
    parser.add_argument("--only", default="*", help="comma-separated patterns of model names")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6, help="how long to measure the latency of each pair")
    parser.add_argument("--work", type=Path, help="folder for temporary files (default: that of the system)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--into", type=Path, help="the Markdown file whose table is replaced")
    args = parser.parse_args()
    rows = []
    print(HEAD, flush=True)
    for folder in sorted(args.folder.iterdir()):
        if (folder / "model.pt2").exists() and any(fnmatch.fnmatch(folder.name, p) for p in args.only.split(",")):
            work = Path(tempfile.mkdtemp(dir=args.work))
            try:
                rows.append(compare(folder.name, folder, args, work))
                print(line(rows[-1]), flush=True)
            finally:
                shutil.rmtree(work)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    print("\n" + summary(rows))
    if args.into:
        put_into(args.into, "\n".join([HEAD, *map(line, rows), "", summary(rows)]) + "\n")


if __name__ == "__main__":
    main()
