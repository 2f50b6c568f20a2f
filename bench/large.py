"""Measures what docs/large-models.md states: layers as functions, programs that share weights, and weights that stay in safetensors.

    python bench/large.py functions shared meta real --into docs/large-models.md
    python bench/large.py narrow

Takes the Python package. `shared` writes about 6 GB into a temporary folder, `real` about 4 GB, `narrow` about 10 GB; `meta` writes sparse files.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from torch import nn

import aten2onnx

MEGABYTE = 1 << 20


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, groups * self.size, bias=False)
        self.v_proj = nn.Linear(width, groups * self.size, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin, past):
        batch, length, _ = x.shape
        q = rotated(self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2), cos, sin)
        k = rotated(self.k_proj(x).view(batch, length, self.groups, self.size).transpose(1, 2), cos, sin)
        v = self.v_proj(x).view(batch, length, self.groups, self.size).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1)), (k, v)


class MLP(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(width, heads, groups), MLP(width, inner)
        self.input_layernorm, self.post_attention_layernorm = Norm(width), Norm(width)

    def forward(self, x, cos, sin, past):
        y, cache = self.self_attn(self.input_layernorm(x), cos, sin, past)
        x = x + y
        return x + self.mlp(self.post_attention_layernorm(x)), cache


class Llama(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, groups: int, inner: int, words: int) -> None:
        super().__init__()
        self.size = width // heads
        self.embed_tokens = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, groups, inner) for _ in range(layers))
        self.norm, self.lm_head = Norm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids, past=None):
        x = self.embed_tokens(ids)
        start = 0 if past is None else past[0][0].shape[2]
        steps = torch.arange(0, self.size, 2, device=ids.device, dtype=torch.float32)
        at = torch.arange(start, start + ids.shape[1], device=ids.device, dtype=torch.float32)
        angles = torch.outer(at, 1 / 10000 ** (steps / self.size)).repeat(1, 2)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        caches = []
        for i, layer in enumerate(self.layers):
            x, cache = layer(x, cos, sin, None if past is None else past[i])
            caches.append(cache)
        return self.lm_head(self.norm(x)), caches


class Logits(nn.Module):
    """The model without its cache."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids)[0]


class Peak:
    """The most anonymous memory while the block runs, more than before: pages of files can be dropped at any time."""

    def __enter__(self) -> Peak:
        gc.collect()
        self._before, self._most, self._over = self._now(), 0, False
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()

    def _now(self) -> int:
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return (int(fields["RssAnon"].split()[0]) + int(fields["RssShmem"].split()[0])) * 1024

    def _watch(self) -> None:
        while not self._over:
            self._most = max(self._most, self._now())
            time.sleep(0.005)

    @property
    def megabytes(self) -> float:
        return max(self._most - self._before, 0) / MEGABYTE


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(found: np.ndarray, wanted: torch.Tensor) -> float:
    """The largest difference, relative to the largest value."""
    return float((torch.from_numpy(found) - wanted).abs().max() / wanted.abs().max())


def functions(folder: Path) -> list[str]:
    """Layers as functions: sizes, numbers, latency."""
    rows = ["| layers | functions | kB of .onnx | without initializers | load ms | latency | difference |", "|---|---|---|---|---|---|---|"]
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length")
    for layers in (32, 80):
        torch.manual_seed(0)
        model, ids = Logits(Llama(layers, 64, 4, 2, 128, 320)).eval(), torch.randint(0, 320, (2, 16))
        exported = torch.export.export(model, (ids,), dynamic_shapes=({0: batch, 1: length},))
        sessions, facts = {}, {}
        for which in ("none", "repeated", "modules"):
            path = folder / f"{which}.onnx"
            aten2onnx.export(exported, f=path, functions=which, external_data="always")
            onnx.checker.check_model(path, full_check=True)
            proto = onnx.load(path, load_external_data=False)
            entries = sum(tensor.ByteSize() + 4 for tensor in proto.graph.initializer)
            start = time.perf_counter()
            sessions[which] = session(path)
            load = time.perf_counter() - start
            found = sessions[which].run(None, {"ids": ids.numpy()})[0]
            facts[which] = (len(proto.functions), path.stat().st_size, path.stat().st_size - entries, load, difference(found, model(ids).detach()))
        best = dict.fromkeys(sessions, float("inf"))
        for _ in range(40):
            for which, one in sessions.items():
                start = time.process_time()
                one.run(None, {"ids": ids.numpy()})
                best[which] = min(best[which], time.process_time() - start)
        flat = facts["none"]
        for which, (count, size, bare, load, off) in facts.items():
            label = f"{layers}, `{which}`"
            ratio = best[which] / best["none"]
            sizes = f"{size / 1000:.0f} ({size / flat[1]:.2f}) | {bare / 1000:.0f} ({bare / flat[2]:.3f})"
            rows.append(f"| {label} | {count} | {sizes} | {load * 1000:.0f} | {ratio:.2f} | {off:.0e} |")
    return rows


def shared(folder: Path) -> list[str]:
    """Prefill and decode of one model, which share its weights."""
    torch.manual_seed(0)
    model = Llama(16, 2048, 16, 8, 5504, 32000).eval()
    once = sum(weight.nbytes for weight in model.parameters())
    ids, one = torch.randint(0, 32000, (1, 8)), torch.randint(0, 32000, (1, 1))
    past = [(torch.randn(1, 8, 8, 128), torch.randn(1, 8, 8, 128)) for _ in range(16)]
    prefill = torch.export.export(model, (ids,))
    decode = torch.export.export(model, (one, past))
    with Peak() as peak:
        start = time.perf_counter()
        aten2onnx.export_many({"prefill": prefill, "decode": decode}, folder / "both")
        took = time.perf_counter() - start
    data = folder / "both/weights.data"
    ratio = data.stat().st_size / once
    off = difference(session(folder / "both/prefill.onnx").run(None, {"ids": ids.numpy()})[0], model(ids)[0].detach())
    feeds = {value.name: array.numpy() for value, array in zip(session(folder / "both/decode.onnx").get_inputs(), [one, *(x for pair in past for x in pair)])}
    off = max(off, difference(session(folder / "both/decode.onnx").run(None, feeds)[0], model(one, past)[0].detach()))
    # What lies in files is copied by the system, as `cp` does.
    torch.export.save(prefill, folder / "prefill.pt2")
    del model, prefill, decode
    gc.collect()
    copied, written = [], []
    for _ in range(7):
        start = time.perf_counter()
        shutil.copyfile(data, folder / "copy")
        copied.append(time.perf_counter() - start)
        (folder / "copy").unlink()
        start = time.perf_counter()
        aten2onnx.export_many({"a": folder / "prefill.pt2", "b": folder / "prefill.pt2"}, folder / "files")
        written.append(time.perf_counter() - start)
        shutil.rmtree(folder / "files")
    return [
        "| prefill and decode | |",
        "|---|---|",
        f"| weights of one model | {once / 1e6:.0f} MB |",
        f"| `weights.data` | {ratio:.4f} of it |",
        f"| from memory: time, memory on top | {took:.1f} s, {peak.megabytes:.0f} MB |",
        f"| two programs from files, the median of 7 turns | {median(written):.2f} s, copying `weights.data` {median(copied):.2f} s:"
        f" {median(written) / median(copied):.2f} times |",
        f"| difference from PyTorch | {off:.0e} |",
    ]


def sparse(folder: Path, tensors: dict[str, Any], limit: int = 5 << 30) -> int:
    """Writes shards with headers and holes in the place of the bytes, and their index. Returns the bytes of all tensors."""
    shards: list[dict[str, Any]] = [{}]
    ends = [0]
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if ends[-1] and ends[-1] + size > limit:
            shards.append({})
            ends.append(0)
        dtype = {torch.bfloat16: "BF16", torch.float16: "F16", torch.float32: "F32"}[tensor.dtype]
        shards[-1][name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [ends[-1], ends[-1] + size]}
        ends[-1] += size
    names = {}
    for number, (shard, end) in enumerate(zip(shards, ends), 1):
        path = folder / f"model-{number:05}-of-{len(shards):05}.safetensors"
        header = json.dumps(shard).encode()
        header += b" " * (-len(header) % 8)
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + end)
        names |= dict.fromkeys(shard, path.name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": sum(ends)}, "weight_map": names}))
    return sum(ends)


def meta(folder: Path) -> list[str]:
    """A model of the shape of Llama 70B on the meta device, linked to sparse shards."""
    with torch.device("meta"):
        model = Llama(80, 8192, 64, 8, 28672, 128256).to(torch.bfloat16).eval()
        ids = torch.zeros(1, 16, dtype=torch.int64)
    count = sum(weight.numel() for weight in model.parameters())
    total = sparse(folder, model.state_dict())
    start = time.perf_counter()
    torch.export.export(Logits(model), (ids,))
    captured = time.perf_counter() - start
    rows = [f"| {count / 1e9:.1f} billion weights, {total / 1e9:.0f} GB in shards | time | memory on top | .onnx |", "|---|---|---|---|"]
    rows.append(f"| torch.export | {captured:.1f} s | | |")
    for which in ("none", "repeated"):
        path = folder / f"{which}.onnx"
        with Peak() as peak:
            start = time.perf_counter()
            given = {"weights": folder, "weight_names": {"model.": ""}, "external_data": "link", "functions": which}
            aten2onnx.export(Logits(model), (ids,), path, capture="record", **given)
            took = time.perf_counter() - start
        onnx.checker.check_model(path, full_check=True)
        rows.append(f"| aten2onnx, recorded and exported, `functions=\"{which}\"`, checked by onnx | {took:.1f} s | {peak.megabytes:.0f} MB | {path.stat().st_size / 1000:.0f} kB |")
    return rows


def real(folder: Path) -> list[str]:
    """A model of a billion weights: the module on the meta device, its weights in a file, the result in ONNX Runtime."""
    from safetensors.torch import save_file

    shape = (18, 2048, 16, 8, 5632, 32000)
    torch.manual_seed(0)
    model, ids = Llama(*shape).eval(), torch.randint(0, 32000, (1, 8))
    count, wanted = sum(weight.numel() for weight in model.parameters()), Logits(model)(ids).detach()
    save_file(model.state_dict(), folder / "model.safetensors")
    del model
    gc.collect()
    with torch.device("meta"):
        exported = torch.export.export(Logits(Llama(*shape).eval()), (torch.zeros(1, 8, dtype=torch.int64),))
    with Peak() as peak:
        start = time.perf_counter()
        aten2onnx.export(exported, f=folder / "m.onnx", weights=folder, weight_names={"model.": ""}, external_data="link")
        took = time.perf_counter() - start
    off = difference(session(folder / "m.onnx").run(None, {"ids": ids.numpy()})[0], wanted)
    return [
        f"{count / 1e9:.2f} billion float32 weights in one file, linked in {took:.2f} s with {peak.megabytes:.0f} MB on top, run in ONNX Runtime:"
        f" the largest difference from PyTorch is {off:.0e} of the largest value."
    ]


def narrow(folder: Path) -> list[str]:
    """An ONNX file of 3 GB in fewer bits: the time beside a copy of the file, both written to the disk, and the memory."""
    shape = (14, 2048, 16, 8, 5632, 32000)
    torch.manual_seed(0)
    source = folder / "m.onnx"
    aten2onnx.export(Logits(Llama(*shape).eval()), (torch.zeros(1, 8, dtype=torch.int64),), source, external_data="always")
    gc.collect()
    data = folder / "m.onnx.data"
    kinds = {
        "float16": {"precision": "float16"},
        "bfloat16": {"precision": "bfloat16", "opset_version": 22},
        "int8": {"quantize_weights": "int8"},
        "int4": {"quantize_weights": "int4", "opset_version": 21},
        "int4 for ONNX Runtime": {"quantize_weights": "int4", "target": "onnxruntime"},
        "int4, `scales=\"mse\"`": {"quantize_weights": "int4", "opset_version": 21, "scales": "mse"},
    }
    lines = [f"A file of {data.stat().st_size / 1e9:.1f} GB, the seconds beside those of a copy:", "", "| to | time, copy = 1.0 | memory on top | written |", "|---|---|---|---|"]
    for name, options in kinds.items():
        times = []
        for write in (lambda: shutil.copyfile(data, folder / "copy"), lambda: aten2onnx.convert(source, folder / "out.onnx", external_data="always", **options)):
            os.sync()
            with Peak() as peak:
                start = time.perf_counter()
                write()
                os.sync()
                times.append(time.perf_counter() - start)
        size = (folder / "out.onnx.data").stat().st_size
        lines.append(f"| {name} | {times[1] / times[0]:.2f} ({times[1]:.1f} s, {times[0]:.1f} s) | {peak.megabytes:.0f} MB | {size / 1e9:.2f} GB |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


PARTS: dict[str, Callable[[Path], list[str]]] = {"functions": functions, "shared": shared, "meta": meta, "real": real, "narrow": narrow}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--into", type=Path, help="the page whose tables are replaced")
    options = parser.parse_args()
    for part in options.parts:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder, torch.no_grad():
            lines = "\n".join(PARTS[part](Path(folder)))
        print(lines, flush=True)
        if options.into is not None:
            page = options.into.read_text()
            marked = re.compile(rf"(<!-- bench/large.py {part} -->\n).*?(<!-- ends -->)", re.DOTALL)
            options.into.write_text(marked.sub(lambda match: f"{match[1]}\n{lines}\n\n{match[2]}", page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
