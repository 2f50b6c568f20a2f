#!/usr/bin/env python3
"""Measures statically quantized models beside those of ONNX Runtime's `quantize_static`: signal to noise, kernels, latency, size, time to make them.

    bench/static.py [--into docs/quantization.md] [--models resnet18,bert]

Models have random weights; those with batch norms saw pictures in training mode first. Four batches are measured, two others are compared with the
float model in ONNX Runtime. `quantize_static` gets the float model of the same exporter at opset 17, after its own preprocessing, with activations of uint8
and weights of int8 with a scale for each channel, as ours. Sessions take turns, on one thread; latency is a ratio to the float model.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import aten2onnx
from pages import current_commit, finish_table
from turns import least_times

MARK, END = "<!-- bench/static.py -->", "<!-- bench/static.py ends -->"
MEASURED, COMPARED, TURNS = 4, 2, 30
INTEGER = ("QLinear", "QGemm", "MatMulIntegerToFloat")
FLOAT = ("Conv", "FusedConv", "Gemm", "MatMul", "FusedMatMul", "FusedGemm")


def models() -> Iterator[tuple[str, torch.nn.Module, list[tuple[torch.Tensor, ...]], tuple[dict[int, str], ...]]]:
    """Names, modules, batches and symbolic dimensions."""
    import torchvision.models as vision
    from transformers import BertConfig, BertModel, ViTConfig, ViTModel

    count = MEASURED + COMPARED
    for name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x1_0"):
        torch.manual_seed(0)
        model = getattr(vision, name)(weights=None).train()
        with torch.no_grad():
            for _ in range(6):
                model(torch.randn(8, 3, 96, 96))
        yield name, model.eval(), [(torch.randn(2, 3, 96, 96),) for _ in range(count)], ({0: "batch"},)
    torch.manual_seed(0)
    small = {"hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 512}
    yield "bert", BertModel(BertConfig(vocab_size=1000, **small)).eval(), [(torch.randint(0, 1000, (2, 32)),) for _ in range(count)], ({0: "batch", 1: "steps"},)
    vit = ViTModel(ViTConfig(image_size=64, patch_size=16, **small)).eval()
    yield "vit", vit, [(torch.randn(2, 3, 64, 64),) for _ in range(count)], ({0: "batch"},)


class Batches(CalibrationDataReader):
    """What `quantize_static` reads."""

    def __init__(self, feeds: list[dict[str, np.ndarray]]) -> None:
        self.rest = iter(feeds)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.rest, None)


def made(model: torch.nn.Module, batches: list[tuple[torch.Tensor, ...]], dims: tuple[dict[int, str], ...], folder: Path) -> tuple[dict[str, Path], dict[str, float], list[str]]:
    """The files, the processor seconds to quantize, and the names of the inputs."""
    files, seconds = {name: folder / f"{name.replace(' ', '-')}.onnx" for name in ("float", "ours", "entropy", "quantize_static")}, {}
    options = {"dynamic_shapes": dims}
    program = aten2onnx.export(model, batches[0], files["float"], target="onnxruntime", **options)
    names = [name for name, _ in program.report.inputs]
    feeds = [dict(zip(names, (tensor.numpy() for tensor in batch))) for batch in batches[:MEASURED]]
    for name, method in (("ours", "minmax"), ("entropy", "entropy")):
        began = time.process_time()
        aten2onnx.convert(files["float"], files[name], target="onnxruntime", quantize="static", calibrate=feeds, calibration=method)
        seconds[name] = time.process_time() - began
    older, prepared = folder / "older.onnx", folder / "prepared.onnx"
    aten2onnx.export(model, batches[0], older, opset_version=17, **options)
    began = time.process_time()
    quant_pre_process(older, prepared, skip_symbolic_shape=True)
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    # Of some models its MinMax writes one that ONNX Runtime does not load.
    for method in (CalibrationMethod.MinMax, CalibrationMethod.Entropy):
        try:
            quantize_static(prepared, files["quantize_static"], Batches(feeds), quant_format=QuantFormat.QDQ, per_channel=True, calibrate_method=method, **types)
            break
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            continue
    seconds["quantize_static"] = time.process_time() - began
    return files, seconds, names


def opened(path: Path) -> tuple[onnxruntime.InferenceSession, str]:
    """A session, and how many of its products compute with integers."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.optimized_model_filepath = str(path.with_suffix(".optimized.onnx"))
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    operators = [node.op_type for node in onnx.load(options.optimized_model_filepath, load_external_data=False).graph.node]
    return session, f"{sum(name.startswith(INTEGER) for name in operators)} / {sum(name in FLOAT for name in operators)}"


def noise(wanted: list[np.ndarray], found: list[np.ndarray]) -> float:
    """The signal to noise in decibels."""
    signal, error = (sum(float((a.astype(float) ** 2).sum()) for a in arrays) for arrays in (wanted, [a - b for a, b in zip(wanted, found)]))
    return 10 * np.log10(signal / error)


def row(name: str, model: torch.nn.Module, batches: list[tuple[torch.Tensor, ...]], dims: tuple[dict[int, str], ...]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        files, seconds, names = made(model, batches, dims, Path(folder))
        sessions = {kind: opened(path) for kind, path in files.items()}
        feeds = [dict(zip(names, (tensor.numpy() for tensor in batch))) for batch in batches[MEASURED:]]
        results = {kind: [session.run(None, feed)[0] for feed in feeds] for kind, (session, _) in sessions.items()}
        times = least_times({kind: (lambda session=session: session.run(None, feeds[0])) for kind, (session, _) in sessions.items()}, TURNS, time.process_time)
        cells = []
        for kind in ("ours", "entropy", "quantize_static"):
            size = files[kind].stat().st_size / 1e6
            cells.append(f"{noise(results['float'], results[kind]):.1f} dB, {sessions[kind][1]}, {times[kind] / times['float']:.2f}, {size:.1f} MB, {seconds[kind]:.1f} s")
        return [name, *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the table into this page")
    parser.add_argument("--models", type=lambda text: text.split(","), help="these models alone")
    options = parser.parse_args()
    lines = ["| model | `calibrate` | with `calibration=\"entropy\"` | `quantize_static` of ONNX Runtime |", "|---|---|---|---|"]
    for name, *model in models():
        if options.models is None or name in options.models:
            lines.append(f"| {' | '.join(row(name, *model))} |")
            print(lines[-1], file=sys.stderr)
    lines += ["", f"- `bench/static.py` at {current_commit()}, ONNX Runtime {onnxruntime.__version__}"]
    finish_table(lines, options.into, MARK, END)


if __name__ == "__main__":
    main()
