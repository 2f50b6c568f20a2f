"""Arguments of torch.onnx.export that are ignored cause a warning with the reason."""

from __future__ import annotations

import warnings

import aten2onnx
import pytest
import torch
from torch import nn

NET = nn.ReLU().eval()
ARGS = (torch.zeros(2),)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("dynamo", False),
        ("profile", True),
        ("training", torch.onnx.TrainingMode.TRAINING),
        ("operator_export_type", torch.onnx.OperatorExportTypes.ONNX_ATEN),
        ("do_constant_folding", False),
        ("keep_initializers_as_inputs", True),
        ("custom_opsets", {"mydomain": 1}),
        ("export_modules_as_functions", True),
        ("autograd_inlining", False),
    ],
)
def test_ignored_with_a_reason(argument, value) -> None:
    with pytest.warns(UserWarning, match=f"`{argument}` is ignored: "):
        aten2onnx.export(NET, ARGS, **{argument: value})


def test_default_values_cause_no_warning() -> None:
    defaults = {
        "dynamo": True,
        "verbose": True,
        "profile": False,
        "training": torch.onnx.TrainingMode.EVAL,
        "operator_export_type": torch.onnx.OperatorExportTypes.ONNX,
        "do_constant_folding": True,
        "keep_initializers_as_inputs": False,
        "custom_opsets": None,
        "export_modules_as_functions": False,
        "autograd_inlining": True,
        "export_params": True,
        "custom_translation_table": {},
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning)
        aten2onnx.export(NET, ARGS, **defaults)


@pytest.mark.parametrize(("argument", "value"), [("export_params", False), ("custom_translation_table", {1: 2})])
def test_arguments_that_need_another_model_are_errors(argument, value) -> None:
    with pytest.raises(aten2onnx.UnsupportedError, match=f"`{argument}` is not supported") as caught:
        aten2onnx.export(NET, ARGS, **{argument: value})
    assert caught.value.help


def test_unknown_arguments_and_wrong_values() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'opset'"):
        aten2onnx.export(NET, ARGS, opset=13)
    with pytest.raises(TypeError, match="opset_version: expected an int or None, found '13'"):
        aten2onnx.export(NET, ARGS, opset_version="13")
    with pytest.raises(ValueError, match="provenance: expected 'none', 'compact' or 'full', found 'all'"):
        aten2onnx.export(NET, ARGS, provenance="all")
