"""Exports the archives of old and new PyTorch and compares what ONNX Runtime gives with what that PyTorch gave. Prints how many arrays it compared.

    python archives.py ATEN2ONNX FOLDER OPSET..
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

command, folder, opsets = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
HALF = {"half": 2e-2, "autocast": 2e-2}
counts, faults = collections.Counter(), []


def cases_of(path):
    """The inputs and results of each case, in order."""
    found = collections.defaultdict(lambda: {"in": {}, "out": {}})
    for key, value in np.load(path).items():
        case, role, place = key.split(".")
        found[int(case)][role][int(place)] = value
    return [[[values[i] for i in range(len(values))] for values in (case["in"], case["out"])] for _, case in sorted(found.items())]


def check(archive, opset, made):
    out = f"{made}/m.onnx"
    done = subprocess.run([command, "export", archive, "-o", out, "--opset", opset], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.strip()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(out, options, providers=["CPUExecutionProvider"])
    for inputs, wanted in cases_of(archive.with_suffix(".npz")):
        found = session.run(None, {value.name: array for value, array in zip(session.get_inputs(), inputs, strict=True)})
        assert len(found) >= len(wanted), f"{len(found)} results, not {len(wanted)}"
        for have, want in zip(found, wanted):
            assert have.shape == want.shape, f"{have.shape}, not {want.shape}"
            tolerance = HALF.get(archive.stem, 1e-4)
            np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance / 10)
            counts[archive.parent.name] += 1


for archive in sorted(folder.glob("v*/*.pt2")):
    for opset in opsets:
        with tempfile.TemporaryDirectory() as made:
            try:
                check(archive, opset, made)
            except Exception as error:
                faults.append(f"{archive.parent.name}/{archive.stem} at opset {opset}: {str(error).strip()[:400]}")
if faults:
    raise SystemExit("\n".join(faults))
print(" ".join(f"{version}={count}" for version, count in sorted(counts.items())))
