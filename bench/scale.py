#!/usr/bin/env python3
"""Times exports of graphs of growing size: layers of ten operators with small weights, with static or dynamic shapes.

The .pt2 files are made by repeating the layer that torch.export.save wrote, because torch would take minutes for 100,000 nodes.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import torch


class Layer(torch.nn.Module):
    def forward(self, x, w):
        y = torch.relu(x + w)
        y = (y * 0.5).transpose(0, 1).transpose(0, 1)
        y = torch.nn.functional.layer_norm(y, (8,))
        y = y.reshape(-1, 2, 4).reshape(-1, 8)
        return torch.sigmoid(y) - x + torch.tanh(w)


def entries(dynamic):
    """The archive entries that torch writes for one layer."""
    x, w = torch.randn(4, 8), torch.randn(8)
    shapes = ({0: torch.export.Dim("n", min=2, max=512)}, None) if dynamic else None
    program = torch.export.export(Layer(), (x, w), dynamic_shapes=shapes, strict=False)
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        torch.export.save(program, file.name)
        with zipfile.ZipFile(file.name) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def renamed(value, names):
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def grown(files, layers):
    """The same with this many layers, each of which takes the result of the previous one."""
    name = next(n for n in files if n.endswith(".json") and "/models/" in n)
    program = json.loads(files[name])
    graph = program["graph_module"]["graph"]
    nodes, tensors = graph["nodes"], graph["tensor_values"]
    last = graph["outputs"][0]["as_tensor"]["name"]
    made = [out["as_tensor"]["name"] for node in nodes for out in node["outputs"] if "as_tensor" in out]
    first = graph["inputs"][0]["as_tensor"]["name"]
    all_nodes, all_tensors, feed = [], dict(tensors), first
    for layer in range(layers):
        names = {n: f"{n}_l{layer}" for n in made} | {first: feed}
        all_nodes += renamed(nodes, names)
        all_tensors |= {names[n]: tensors[n] for n in made if n in tensors}
        feed = names[last]
    graph["nodes"], graph["tensor_values"] = all_nodes, all_tensors
    graph["outputs"] = renamed(graph["outputs"], {last: feed})
    signature = program["graph_module"]["signature"]
    signature["output_specs"] = renamed(signature["output_specs"], {last: feed})
    return {**files, name: json.dumps(program).encode()}, len(all_nodes)


def timed(command):
    """Runs a process. Returns its wall seconds and its processor seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path("target/release/aten2onnx"))
    parser.add_argument("--sizes", type=int, nargs="*", default=[25_000, 50_000, 100_000])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print("| shapes | nodes | MB of JSON | wall s | processor s | growth |\n|---|---|---|---|---|---|", flush=True)
    for dynamic in (False, True):
        files, before = entries(dynamic), None
        per_layer = grown(files, 1)[1]
        for size in args.sizes:
            with tempfile.TemporaryDirectory() as folder:
                source, out = Path(folder) / "m.pt2", Path(folder) / "m.onnx"
                entries_, nodes = grown(files, size // per_layer)
                with zipfile.ZipFile(source, "w", zipfile.ZIP_STORED) as archive:
                    for name, data in entries_.items():
                        archive.writestr(name, data)
                wall, cpu = min((timed([args.bin, "export", source, "-o", out, "-q"]) for _ in range(args.repeat)),
                                      key=lambda times: times[1])
                ratio = f"{cpu / before:.2f}x" if before else ""
                cells = ["dynamic" if dynamic else "static", nodes, f"{source.stat().st_size / 1e6:.0f}", f"{wall:.2f}",
                         f"{cpu:.2f}", ratio]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
                before = cpu


if __name__ == "__main__":
    main()
