"""The dictionaries of results are what their types say, and no public function of a result is typed as Any."""

from __future__ import annotations

import inspect
import json
import types
import typing
from typing import Any

import pytest
import torch

import aten2onnx
from aten2onnx import _facts


def problems(value: object, kind: Any, where: str) -> list[str]:
    """How a value differs from a type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.NotRequired:
        return problems(value, inner[0], where)
    if typing.is_typeddict(kind):
        if type(value) is not dict:
            return [f"{where} is {value!r}"]
        fields = typing.get_type_hints(kind)
        wrong = [f"{where} has `{key}`, which {kind.__name__} lacks" for key in value if key not in fields]
        wrong += [f"{where} lacks `{key}`" for key in fields if key not in value and not _may_lack(kind, key)]
        return wrong + [found for key in value if key in fields for found in problems(value[key], fields[key], f"{where}.{key}")]
    if origin in (typing.Union, types.UnionType):
        tried = [problems(value, one, where) for one in inner]
        return [] if [] in tried else max(tried, key=len)
    if origin is list:
        return [found for index, item in enumerate(value) for found in problems(item, inner[0], f"{where}[{index}]")] if type(value) is list else [f"{where} is {value!r}"]
    if origin is dict:
        return [found for key, item in value.items() for found in problems(item, inner[1], f"{where}[{key}]")] if type(value) is dict else [f"{where} is {value!r}"]
    number = kind is float and type(value) is int
    return [] if number or type(value) is kind or (kind is type(None) and value is None) else [f"{where} is {value!r}, not {kind.__name__}"]


def _may_lack(kind: Any, key: str) -> bool:
    hints = typing.get_type_hints(kind, include_extras=True)
    return typing.get_origin(hints[key]) is typing.NotRequired


def test_the_check_finds_what_differs() -> None:
    right = {"name": "x", "kind": "tensor", "dtype": "float32", "shape": ["n"]}
    assert problems(right, _facts.Port, "port") == []
    for change in ({"name": 7}, {"shape": [7]}, {"more": 1}, {"dtype": 1.5}):
        assert problems({**right, **change}, _facts.Port, "port") != []
    assert problems({"name": "x"}, _facts.Port, "port") != []


def test_an_inspection_is_what_its_type_says(mobilenet, tmp_path) -> None:
    module = torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(2, 3))
    module.save(tmp_path / "linear.ts")
    for found in (
        aten2onnx.inspect(mobilenet),
        aten2onnx.inspect(mobilenet, target="tract"),
        aten2onnx.inspect(tmp_path / "linear.ts"),
        aten2onnx.inspect(torch.nn.Linear(3, 2), (torch.ones(2, 3),), dynamic_shapes=({0: "batch"},)),
    ):
        assert problems(found.data, _facts.Inspected, "inspection") == []
    unsupported = aten2onnx.inspect(torch.nn.LayerNorm(4).half(), (torch.ones(2, 4).half(),), opset=9)
    assert problems(unsupported.data, _facts.Inspected, "inspection") == []


@pytest.mark.parametrize("dynamic", [None, ({0: "batch"},)])
def test_a_report_is_what_its_type_says(dynamic, tmp_path) -> None:
    program = aten2onnx.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),), f=tmp_path / "m.onnx", dynamic_shapes=dynamic, verify=True, external_data=True)
    found = json.loads(program.report.json())
    assert found["files"] and found["verification"]
    assert problems(found, _facts.Reported, "report") == []


def test_no_result_is_typed_as_any() -> None:
    for kind in (aten2onnx.ONNXProgram, aten2onnx.Inspection, aten2onnx.Report):
        public = {name: member for name, member in vars(kind).items() if not name.startswith("_") or name == "__call__"}
        for name, member in public.items():
            function = member.fget if isinstance(member, property) else inspect.unwrap(member) if callable(member) else None
            text = "" if function is None else str(inspect.signature(function))
            assert "Any" not in text, f"{kind.__name__}.{name}{text}"
    for function in (aten2onnx.export, aten2onnx.convert, aten2onnx.inspect, aten2onnx.export_many):
        assert "Any" not in str(inspect.signature(inspect.unwrap(function)))
