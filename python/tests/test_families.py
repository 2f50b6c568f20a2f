"""Six hundred programs of one operator or a few, in the manner of the test suites of other compilers: all sizes are dynamic, and each file is held against
PyTorch at several. A size of the example that the file has as a number, and what a condition of the file excludes, is not compared, but told."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import aten2onnx

from families import corners, layers, more_places, more_values, places, values
from families.makers import SIZES, Calls, axes, inputs

onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore")
OPSETS = (18, 9, 13, 23)
PROGRAMS = {f"{family}.{name}": program for module in (values, places, layers, more_values, more_places, corners) for family, table in module.TABLE.items() for name, program in table.items()}
#: What no file can have, by a part of the error.
REFUSED = {"layer.qdq": "aten.dequantize.self"}
#: The same of files: torch.export leaves functions of Python in their graphs.
REFUSED_FILES = {"gradients.jvp": "_make_dual"}
#: One of so many programs goes through torch.export, which takes seconds for some. `FAMILIES=all` takes all of them.
EXPORTED = 1 if os.environ.get("FAMILIES") == "all" else 24


def flat(results: Any) -> list[torch.Tensor]:
    found = [torch.as_tensor(result).detach() for result in torch.utils._pytree.tree_leaves(results) if result is not None]
    return [torch.view_as_real(result) if result.is_complex() else result for result in found]


def is_taken(session: Any, conditions: list[str], given: tuple[torch.Tensor, ...]) -> bool:
    """Whether a file takes the sizes of inputs: by its numbers, and by the conditions that it states."""
    known: dict[str, int] = {}
    for put, value in zip(session.get_inputs(), given):
        for size, own in zip(put.shape, value.shape):
            if isinstance(size, int) and size != own:
                return False
            known[str(size)] = own
    return all(eval(condition, {}, known) for condition in conditions)


def hold(program: aten2onnx.ONNXProgram, module: torch.nn.Module, texts: tuple[str, ...]) -> int:
    """Compares a file with its module at all sets of sizes that it takes, and returns how many there are."""
    session = onnxruntime.InferenceSession(program.model_bytes)
    count = 0
    for turn in range(len(SIZES)):
        given = inputs(texts, turn)
        if not is_taken(session, program.report.conditions, given):
            continue
        torch.default_generator.manual_seed(0)
        wanted = flat(module(*copy.deepcopy(given)))
        results = session.run(None, {put.name: value.numpy() for put, value in zip(session.get_inputs(), given)})
        assert len(results) == len(wanted)
        for number, (result, want) in enumerate(zip(results, wanted)):
            coarse = 2e-3 if want.dtype == torch.float16 else 1e-4
            largest = float(want.double().nan_to_num(0, 0, 0).abs().max()) if want.numel() else 1.0
            found = torch.from_numpy(np.asarray(result))
            torch.testing.assert_close(
                found, want, rtol=coarse, atol=coarse / 5 * max(1.0, largest), equal_nan=True, msg=lambda text, n=number, t=turn: f"output {n} at sizes {t}: {text}"
            )
        count += 1
    return count


def made(name: str) -> tuple[torch.nn.Module, tuple[str, ...]]:
    torch.default_generator.manual_seed(0)
    function, *texts = PROGRAMS[name]
    return Calls(function).eval(), tuple(texts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recorded_program(name: str) -> None:
    module, texts = made(name)
    opset = OPSETS[list(PROGRAMS).index(name) % len(OPSETS)]
    export: Callable[[], Any] = lambda: aten2onnx.export(module, inputs(texts, 0), dynamic_shapes=axes(texts, str), opset_version=opset)  # noqa: E731
    if name in REFUSED:
        with pytest.raises(aten2onnx.Error, match=REFUSED[name]):
            export()
        return
    program = export()
    # Without a condition, the file takes all sizes.
    assert hold(program, module, texts) == len(SIZES) or program.report.conditions


@pytest.mark.parametrize("name", list(PROGRAMS)[::EXPORTED])
def test_an_exported_program(name: str, tmp_path: Path) -> None:
    module, texts = made(name)
    dynamic = axes(texts, lambda _: torch.export.Dim.AUTO)
    try:
        exported = torch.export.export(module, inputs(texts, 0), dynamic_shapes=dynamic)
        torch.export.save(exported, tmp_path / "model.pt2")
    except Exception as error:  # whatever PyTorch cannot capture or save
        pytest.skip(f"torch.export: {type(error).__name__}")
    opset = OPSETS[list(PROGRAMS).index(name) // EXPORTED % len(OPSETS)]
    if name in REFUSED_FILES:
        with pytest.raises(aten2onnx.Error, match=REFUSED_FILES[name]):
            aten2onnx.export(tmp_path / "model.pt2", opset_version=opset)
        return
    program = aten2onnx.export(tmp_path / "model.pt2", opset_version=opset)
    assert hold(program, module, texts) > 0


def test_there_are_many() -> None:
    assert len(PROGRAMS) > 600
