"""Every public call answers a wrong argument with an error of the one family, and names the argument."""

from __future__ import annotations

import inspect
import typing

import aten2onnx
import pytest
import torch

WRONG = [None, 7, -1, 1.5, "x", "", b"x", [], {}, (), [7], {7: 7}, {"x": object()}, True, object(), "\0"]
#: The arguments of the valid calls, of which one is replaced at a time.
NET = torch.nn.Linear(2, 2).eval()
X = torch.ones(1, 2)


def program() -> aten2onnx.ONNXProgram:
    return aten2onnx.export(NET, (X,))


class Place:
    """A call with valid arguments, in a folder of its own."""

    def __init__(self, name: str, function, valid: dict, extras: tuple[str, ...] = ()) -> None:
        self.name, self.function, self.valid = name, function, valid
        self.parameters = [
            *(name for name, parameter in inspect.signature(function).parameters.items() if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)),
            *extras,
        ]


def calls(folder) -> list[Place]:
    made, saved = program(), folder / "model.onnx"
    made.save(saved)
    file = folder / "model.pt2"
    torch.export.save(torch.export.export(NET, (X,)), file)
    script = folder / "model.pt"
    torch.jit.save(torch.jit.trace(NET, (X,)), script)
    others = tuple(aten2onnx._others.IGNORED) + tuple(aten2onnx._others.REFUSED)
    inspection = aten2onnx.inspect(file)
    return [
        Place("export", aten2onnx.export, {"model": NET, "args": (X,)}, others),
        Place("export a program", aten2onnx.export, {"model": torch.export.export(NET, (X,))}),
        Place("export by torch.export", aten2onnx.export, {"model": NET, "args": (X,), "capture": "export"}),
        Place("export a file", aten2onnx.export, {"model": str(file)}),
        Place("export TorchScript", aten2onnx.export, {"model": str(script), "args": (X,)}),
        Place("export a ScriptModule", aten2onnx.export, {"model": torch.jit.script(NET), "args": (X,)}),
        Place("export_many", aten2onnx.export_many, {"models": {"one": (NET, (X,))}, "f": folder / "many"}, ("opset_version", "model", "kwargs")),
        Place("convert", aten2onnx.convert, {"model": saved}),
        Place("inspect", aten2onnx.inspect, {"model": NET, "args": (X,)}),
        Place("inspect a file", aten2onnx.inspect, {"model": str(file)}),
        Place("supported", aten2onnx.supported, {"op": "aten::gelu"}),
        Place("save", made.save, {"destination": folder / "saved.onnx"}),
        Place("save_adapter", made.save_adapter, {"path": folder / "a.onnx_adapter"}),
        Place("verify", made.verify, {}),
        Place("session", made.initialize_inference_session, {}, ("sess_options", "provider_options")),
        Place("report", made.report.save, {"path": folder / "report.md"}),
        Place("reasons", inspection.reasons, {"opset": 13}),
        Place("quantized", inspection.quantized, {"opset": 13}),
    ]


def outcome(call, *args, **kwargs) -> str | None:
    """What a call raises that is not of the family; None if it raises nothing else."""
    try:
        call(*args, **kwargs)
    except aten2onnx.Error as error:
        assert str(error).strip() and not isinstance(error, aten2onnx.InternalError), error
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.filterwarnings("ignore")
def test_wrong_values_of_each_parameter(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for place in calls(tmp_path):
        for parameter in place.parameters:
            for value in WRONG:
                found = outcome(place.function, **{**place.valid, parameter: value})
                if found is not None:
                    wrong.append(f"{place.name}({parameter}={value!r}): {found.splitlines()[0]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
def test_the_model_is_called_with_wrong_values() -> None:
    made = program()
    wrong = [f"{value!r}: {found}" for value in WRONG if (found := outcome(made, value))]
    wrong += [f"more {value!r}: {found}" for value in WRONG if (found := outcome(made, X, value))]
    wrong += [f"z={value!r}: {found}" for value in WRONG if (found := outcome(made, z=value))]
    wrong += [found for x in [torch.ones(3), torch.ones(1, 2, dtype=torch.int64)] if (found := outcome(made, x))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("value", "parameter"),
    [(7, "kwargs"), ("13", "opset_version"), (True, "opset_version"), ("all", "provenance"), (2, "external_data"), ("x", "args"), ({"input": X}, "args"), (7, "f")]
    + [(7, "weights"), ({"weight": 7}, "weights"), ("x", "dynamic_shapes"), (7, "dynamic_axes"), ("x", "optimize"), ([7], "input_names"), (-1, "opset_version")],
)
def test_the_error_names_the_argument(value, parameter) -> None:
    with pytest.raises(aten2onnx.ArgumentError) as caught:
        aten2onnx.export(**{"model": NET, "args": (X,), parameter: value})
    assert str(caught.value).startswith(parameter) and isinstance(caught.value, (TypeError, ValueError))


@pytest.mark.parametrize(
    ("function", "first", "keyword", "wanted"),
    [
        (aten2onnx.export, NET, "opset", "opset_version"),
        (aten2onnx.export, NET, "output", "f"),
        (aten2onnx.export, NET, "dynamic_shape", "dynamic_shapes"),
        (aten2onnx.convert, "model.onnx", "opset", "opset_version"),
        (aten2onnx.inspect, NET, "opset_version", "opset"),
        (aten2onnx.supported, "aten::gelu", "opset_version", "opset"),
    ],
)
def test_a_keyword_that_does_not_exist_is_answered_with_the_right_one(function, first, keyword, wanted) -> None:
    with pytest.raises(aten2onnx.ArgumentError, match="unexpected keyword argument") as caught:
        function(first, **{keyword: 13})
    assert caught.value.help == f"write `{wanted}=`"
    assert isinstance(caught.value, TypeError)


def test_a_dictionary_is_no_list_of_arguments() -> None:
    with pytest.raises(aten2onnx.ArgumentError, match="args") as caught:
        aten2onnx.export(NET, {"input": X})
    assert "`kwargs`" in caught.value.help


def public() -> list[tuple[str, typing.Callable]]:
    found = []
    modules = [(aten2onnx, aten2onnx.__all__)]
    for module, names in modules:
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value):
                found += [(f"{name}.{member}", function) for member, function in vars(value).items() if inspect.isfunction(function) and (member[0] != "_" or member == "__call__")]
            elif callable(value):
                found.append((name, value))
    return found


def test_parameters_are_typed_without_any() -> None:
    assert len(public()) > 15
    for name, function in public():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == "self":
                continue
            assert parameter.annotation is not parameter.empty, f"{name}: {parameter.name}"
            words = str(parameter.annotation)
            assert words != "Any" and "| Any" not in words, f"{name}: {parameter}"
