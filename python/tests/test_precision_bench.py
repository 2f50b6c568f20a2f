"""bench/precision.py: what needs no other converters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from tiers import slow

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def facts(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    import precision_facts

    return precision_facts


def test_a_model_is_measured_without_other_converters() -> None:
    """A Loop and an If at other sizes, in both dtypes."""
    done = subprocess.run([sys.executable, BENCH / "precision.py", "--only", "hazard: turns"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ours")]
    # float16: files, valid, right where each node rounds and in ONNX Runtime, overflow. bfloat16 takes OpenVINO and the first of these.
    assert [line.split("|")[2:7] for line in lines[:3]] == [[" 1 ", " 1 ", " 1 ", " 1 ", " 0 "]] * 3, done.stdout
    assert [line.split("|")[2:6] for line in lines[3:]] == [[" 1 ", " 1 ", " 1 ", " 0 "]] * 2, done.stdout
    assert "left out" not in done.stdout


@slow
def test_an_unknown_model_is_named() -> None:
    done = subprocess.run([sys.executable, BENCH / "precision.py", "--only", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no model has the name `nothing`" in done.stderr


def test_what_is_counted_in_a_file(facts, tmp_path) -> None:
    """Casts and nodes in bodies count, whatever types the file says its values have."""
    float32, float16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 18]>
        graph (float[N] x, bool c) => (float[N] y) {
            half = Cast <to = 10> (x)
            twice = Add (half, half)
            z = If (c) <
                then_branch = narrow () => (one) { one = Neg (twice) },
                else_branch = other () => (two) { wide = Cast <to = 1> (twice)
                                                  more = Exp (wide)
                                                  two = Cast <to = 10> (more) }>
            y = Cast <to = 1> (z)
        }""")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("twice", float32, ["N"]))
    onnx.save(model, tmp_path / "model.onnx")
    found = facts.facts_of(tmp_path / "model.onnx")
    assert (found.casts, found.half) == (4, 3 / 4)
    assert facts.types_of(onnx.shape_inference.infer_shapes(onnx.load(tmp_path / "model.onnx")))["half"] == float16


def test_results_are_compared(facts) -> None:
    wanted = [np.array([1.0, 2.0, np.inf]), np.array([4.0])]
    near = facts.compared([np.array([1.0, 2.1, np.inf]), np.array([4.0])], wanted)
    assert near.difference == pytest.approx(0.05) and near.overflows == 0 and near.decibels == pytest.approx(27, abs=0.1)
    assert facts.compared([np.array([1.0, np.inf, np.inf]), np.array([4.0])], wanted).overflows == 1
    with pytest.raises(ValueError, match="sizes"):
        facts.compared([np.array([1.0]), np.array([4.0])], wanted)
    with pytest.raises(ValueError, match="1 results"):
        facts.compared(wanted[:1], wanted)


def test_a_process_that_ends_fails_its_job_alone(monkeypatch, tmp_path) -> None:
    """A converter may end the process: the jobs after it are still done."""
    monkeypatch.syspath_prepend(BENCH)
    import precision_processes

    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, sys\n"
        "jobs, done = json.load(open(sys.argv[1])), sys.argv[1] + '.done'\n"
        "before = len(open(done).readlines()) if os.path.exists(done) else 0\n"
        "for job in jobs[before:]:\n"
        "    if job == 'ends': os._exit(3)\n"
        "    open(done, 'a').write(json.dumps({'seconds': job}) + '\\n')\n"
    )
    monkeypatch.setattr(precision_processes, "JOBS", worker)
    found = precision_processes.performed([1, "ends", 3], sys.executable, tmp_path / "jobs.json")
    assert [one.get("seconds") for one in found] == [1, None, 3]
    assert "ended with 3" in found[1]["error"]
