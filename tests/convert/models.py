"""Converts models to old opsets and compares their results in ONNX Runtime with those of PyTorch.

    models.py PATH-OF-aten2onnx FOLDER [OPSET ...]

FOLDER contains the output of tests/data/convert/make.py: models that torch.onnx exported at opset 18, and .pt2 files, which are first
exported at opset 26. Prints a line for each conversion, and exits with 1 if any result is wrong.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

RTOL, ATOL = 1e-3, 1e-4


def aten2onnx(*arguments):
    run = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if run.returncode:
        raise AssertionError(run.stderr.strip())


def weights(model):
    return {t.name: tuple(t.dims) for t in model.graph.initializer if np.prod(t.dims) > 64}


def judge(path, source, opset, x, y):
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(path, load_external_data=False)
    found = {o.domain: o.version for o in model.opset_import}
    assert found[""] == opset, f"asked for opset {opset}, got {found['']}"
    for what in ("input", "output"):
        names = [v.name for v in getattr(model.graph, what)]
        assert names == [v.name for v in getattr(source.graph, what)], f"the {what}s are {names}"
    lost = set(weights(source).items()) - set(weights(model).items())
    assert not lost, f"weights have other names or shapes: {sorted(lost)[:3]}"
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    got = session.run(None, {session.get_inputs()[0].name: x})[0]
    assert got.dtype == y.dtype and got.shape == y.shape, f"{got.dtype}{got.shape} instead of {y.dtype}{y.shape}"
    np.testing.assert_allclose(got, y, RTOL, ATOL)
    return float(np.abs(got - y).max()), len(model.graph.node), model.ir_version


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    opsets = [int(a) for a in sys.argv[3:]] or [17, 13, 11, 9]
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        archives = sorted(folder.glob("*.pt2"))
        if not archives:
            sys.exit(f"{folder} has no .pt2 files")
        for archive in archives:
            stored = np.load(archive.with_suffix(".npz"))
            ours = scratch / f"{archive.stem}-26.onnx"
            aten2onnx(binary, "export", archive, "-o", ours, "--opset", 26)
            for maker, source in [("torch.onnx 18", archive.with_suffix(".onnx")), ("aten2onnx 26", ours)]:
                proto = onnx.load(source)
                for opset in opsets:
                    path = scratch / "converted.onnx"
                    try:
                        aten2onnx(binary, "convert", source, "-o", path, "--opset", opset)
                        worst, nodes, ir = judge(path, proto, opset, stored["x"], stored["y"])
                        print(f"{archive.stem:8} {maker:13} -> {opset:2}: {len(proto.graph.node)} nodes to {nodes}, IR {ir}, "
                              f"largest difference {worst:.1e}")
                    except Exception as error:  # noqa: BLE001
                        failed = True
                        print(f"{archive.stem:8} {maker:13} -> {opset:2}: {error}")
    sys.exit(failed)


main()
