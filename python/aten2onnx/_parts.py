"""`aten2onnx.extract`, `edit`, `join` and `split`: parts of ONNX models, changed models, and several as one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

from . import _arguments, _native, _progress
from ._convert import source
from ._errors import ArgumentError, require
from ._program import external_data_choice
from ._support import rules
from ._types import Converted, DType, ExternalData, OnnxModel

#: Names of values, nodes or modules.
_Names: TypeAlias = str | Sequence[str]
_Renames: TypeAlias = Mapping[str, str] | Sequence[str]
_Strip: TypeAlias = Literal["docs", "metadata", "names", "types"]


@_arguments.checked
def extract(
    model: OnnxModel,
    f: str | os.PathLike[str] | None = None,
    *,
    from_: _Names = (),
    to: _Names = (),
    types: Mapping[str, str] | None = None,
    external_data: ExternalData = "auto",
    metadata: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    value_docs: Mapping[str, str] | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    follow_links: bool = False,
    progress: bool | None = None,
) -> Converted:
    """Returns or writes a part of an ONNX model as a model of its own: the nodes on all ways from the start to the end. Names are those of values,
    nodes, or modules (`layer1.0.conv1`); `value:`, `node:` or `module:` before a name tells them apart.

    Args:
        model: The path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        f: The output file.
        from_: Where the part begins: at these values, or with these nodes or modules (default: at the inputs of the model).
        to: Where it ends: with these values, nodes or modules (default: with the outputs of the model that depend on the start).
        types: The types of values at the start or end that the model does not declare: `{"x": "f32[batch,3]"}`.
        external_data: Where the weights go: "auto" (as in the source), "always" or True, "never" or False, or "link" (they stay where they are).
        metadata: Entries of the model's metadata to add or replace.
        doc_string: The documentation of the model.
        value_docs: The documentation of inputs and outputs, by name.
        producer_name: The name of the program that made the model (default: that of the source).
        producer_version: The version of that program.
        follow_links: Whether external data is also read through symbolic links that lead out of the model's folder.
        progress: Whether to show the progress (default: in terminals and notebooks, if it takes long).

    Returns:
        None if `f` is given. Otherwise the part: an `onnx.ModelProto` if `model` is one, else bytes.

    Raises:
        UnsupportedError: There is no such value, node or module, nothing is between the places, or a type is not known.
    """
    start, end = _names(from_), _names(to)
    if not start and not end:
        raise ArgumentError("extract: the part is the whole model", help="pass where it begins as `from_`, or where it ends as `to`")
    options = {"from": start, "to": end, "types": list((types or {}).items())}
    description = _arguments.description(metadata, doc_string, value_docs, producer_name, producer_version)
    return _made(_native.extract, model, f, options, (external_data, follow_links, description), progress)


@_arguments.checked
def edit(
    model: OnnxModel,
    f: str | os.PathLike[str] | None = None,
    *,
    input_names: _Renames = (),
    output_names: _Renames = (),
    dims: Mapping[str, str | int] | None = None,
    drop_outputs: _Names = (),
    input_types: Mapping[str, DType] | None = None,
    output_types: Mapping[str, DType] | None = None,
    to_inputs: _Names = (),
    keep_defaults: bool = False,
    to_weights: Mapping[str, object] | _Names = (),
    strip: _Strip | Sequence[_Strip] = (),
    drop_metadata: _Names = (),
    sort: bool = False,
    deduplicate: bool = False,
    external_data: ExternalData = "auto",
    metadata: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    value_docs: Mapping[str, str] | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    follow_links: bool = False,
    progress: bool | None = None,
) -> Converted:
    """Changes names, dimensions, inputs and outputs of an ONNX model, not what it computes. All names are those that it has before.

    Args:
        model: The path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        f: The output file.
        input_names: New names of inputs: by the old ones, or in order.
        output_names: New names of outputs: by the old ones, or in order.
        dims: Names or sizes of dimensions, by their names or by an input and its axis: `{"n": "batch", "x:0": 1}`. A number that gets a name is
            free then: `Reshape`s that hold it are found.
        drop_outputs: Outputs to leave out, with all that only they need.
        input_types: Other dtypes of inputs, which are cast to those before: `{"x": "float16"}` or `{"x": torch.float16}`.
        output_types: Other dtypes of outputs, cast from those before.
        to_inputs: Weights that become inputs.
        keep_defaults: Whether these keep their values as defaults.
        to_weights: Inputs that become weights: of their default, or with their elements, `{"x": 1.0, "y": [1, 2, 3], "z": None}`. One number is
            that of all elements, None the default.
        strip: What to remove: "docs", "metadata", "names" (of nodes and inner values), "types" (of inner values).
        drop_metadata: Entries of the model's metadata to remove.
        sort: Whether to put nodes in an order in which each value is computed before it is read.
        deduplicate: Whether to store equal weights once.
        external_data: Where the weights go: "auto" (as in the source), "always" or True, "never" or False, or "link" (they stay where they are).
        metadata: Entries of the model's metadata to add or replace.
        doc_string: The documentation of the model.
        value_docs: The documentation of inputs and outputs, by name.
        producer_name: The name of the program that made the model (default: that of the source).
        producer_version: The version of that program.
        follow_links: Whether external data is also read through symbolic links that lead out of the model's folder.
        progress: Whether to show the progress (default: in terminals and notebooks, if it takes long).

    Returns:
        None if `f` is given. Otherwise the model: an `onnx.ModelProto` if `model` is one, else bytes.

    Raises:
        UnsupportedError: There is no such name, or the model does not allow a change.
    """
    options = {
        "input_names": _renames(input_names),
        "output_names": _renames(output_names),
        "dims": [f"{name}={size}" for name, size in (dims or {}).items()],
        "drop_outputs": _names(drop_outputs),
        "input_types": _dtypes(input_types),
        "output_types": _dtypes(output_types),
        "to_inputs": _names(to_inputs),
        "keep_defaults": keep_defaults,
        "to_weights": _weights(to_weights),
        "strip": _names(strip),
        "drop_metadata": _names(drop_metadata),
        "sort": sort,
        "deduplicate": deduplicate,
    }
    description = _arguments.description(metadata, doc_string, value_docs, producer_name, producer_version)
    return _made(_native.edit, model, f, options, (external_data, follow_links, description), progress)


@_arguments.checked
def join(
    models: Sequence[object] | Mapping[str, object],
    f: str | os.PathLike[str] | None = None,
    *,
    wires: Mapping[str, str] | Sequence[Sequence[str]] = (),
    share: _Names = (),
    keep: _Names = (),
    opset_version: int | None = None,
    external_data: ExternalData = "auto",
    metadata: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    value_docs: Mapping[str, str] | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    follow_links: bool = False,
    progress: bool | None = None,
) -> Converted:
    """Makes one ONNX model of several, whose outputs and inputs are wired. Without wires they stand side by side.

    Args:
        models: Paths of `.onnx` files, `onnx.ModelProto`s, or models as bytes: in order, or by name. The name of a file is that without its end, of
            another model in a list `model`; where names of values clash, it is put before those of the later model. Weights and functions
            that are equal and have one name are kept once.
        f: The output file.
        wires: Which output is which input: `{"features": "x"}`, or pairs, if an output is wired to several inputs. `"a:y"` is the output `y` of
            the model `a`.
        share: Inputs that several models have, and that are one.
        keep: Wired outputs that stay outputs.
        opset_version: The opset of the result (default: the newest of the models).
        external_data: Where the weights go: "auto" (as in the sources), "always" or True, "never" or False, or "link" (they stay where they are).
        metadata: Entries of the model's metadata to add or replace.
        doc_string: The documentation of the model.
        value_docs: The documentation of inputs and outputs, by name.
        producer_name: The name of the program that made the model (default: that of the first model).
        producer_version: The version of that program.
        follow_links: Whether external data is also read through symbolic links that lead out of a model's folder.
        progress: Whether to show the progress (default: in terminals and notebooks, if it takes long).

    Returns:
        None if `f` is given. Otherwise the model: an `onnx.ModelProto` if all `models` are such, else bytes.

    Raises:
        UnsupportedError: There is no such output or input, types do not fit, or an opset cannot express a model.
    """
    named = _named(models)
    given = [(name, *source(model)) for name, model in named]
    pairs = list(wires.items()) if isinstance(wires, Mapping) else [tuple(wire) for wire in wires]
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise ArgumentError(f"wires: found {pair!r}", help='pass pairs of an output and an input: `[("features", "x")]`')
    options = {"wires": pairs, "share": _names(share), "keep": _names(keep), "opset": _arguments.opset(opset_version)}
    description = _arguments.description(metadata, doc_string, value_docs, producer_name, producer_version)
    made = _native.join(given, rules(()), _json(options, external_data, follow_links, description))
    return _result(made, f, progress, all(hasattr(model, "SerializeToString") for _, model in named))


@_arguments.checked
def split(
    model: OnnxModel,
    f: str | os.PathLike[str],
    *,
    at: _Names | None = None,
    nodes: int | None = None,
    bytes: int | str | None = None,
    parts: int | None = None,
    target: str | None = None,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    external_data: ExternalData = "auto",
    follow_links: bool = False,
    progress: bool | None = None,
) -> FilePath:
    """Writes an ONNX model into a folder as parts that run one after the other: `NAME-1.onnx` and so on, and `NAME.json`, which lists them and their
    wiring. One of `at`, `nodes`, `bytes`, `parts` and `target` says where it is cut. `aten2onnx.Pipeline` runs the parts.

    Args:
        model: The path of an `.onnx` file, an `onnx.ModelProto`, or a model as bytes.
        f: The folder, which is made if it does not exist.
        at: Cut before each of these modules, nodes or values.
        nodes: Cut after so many nodes; those that compute constants do not count.
        bytes: Cut where the weights of a part would take more: a number of bytes, or a text such as "500MB" or "1GiB".
        parts: Cut into so many parts, whose weights take about the same number of bytes.
        target: Cut around what a runtime does not run, such as "tensorrt-8.6". What it runs is written for it, as `convert(target=)` does. The list says of
            each part whether the target runs it, and why not.
        types: The types of values between parts that the model does not declare: `{"x": "f32[batch,3]"}`.
        name: The name of the parts (default: that of the file; `model` for a model in memory).
        external_data: Where the weights go: "auto" (as in the source), "always" or True, "never" or False, or "link" (they stay where they are).
        follow_links: Whether external data is also read through symbolic links that lead out of the model's folder.
        progress: Whether to show the progress (default: in terminals and notebooks, if it takes long).

    Returns:
        The path of `NAME.json`.

    Raises:
        UnsupportedError: There is no such module, node or value, a node has more weights than `bytes`, or a type is not known.
    """
    ways = {"at": at or None, "nodes": nodes, "bytes": bytes, "parts": parts, "target": target}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(f"`{way}`" for way in given) or "none of them"
        raise ArgumentError(f"split: found {found}", help="pass one of `at`, `nodes`, `bytes`, `parts` and `target`")
    for way, number in (("nodes", nodes), ("parts", parts)):
        if number is not None and number < 1:
            raise ArgumentError(f"{way}: found {number}", help="pass a number that is at least 1")
    path, content = source(model)
    stem = name if name is not None else FilePath(path).stem
    if not stem or FilePath(stem).name != stem:
        raise ArgumentError(f"name: {stem!r} is no name of a file", help="pass a name without a folder")
    options = {
        "at": _names(at or ()),
        "nodes": nodes,
        "bytes": None if bytes is None else str(bytes),
        "parts": parts,
        "target": target,
        "types": list((types or {}).items()),
    }
    with _progress.shown(progress) as shown:
        shown.step("writing")
        _native.split((path, content), os.fspath(f), stem, rules(()), _json(options, external_data, follow_links, _arguments.description(None, None, None, None, None)), shown)
    return FilePath(f) / f"{stem}.json"


def _made(
    make: Callable[..., Any], model: Any, f: str | os.PathLike[str] | None, options: dict[str, Any], written: tuple[ExternalData, bool, dict[str, object]], progress: bool | None
) -> Converted:
    made = make(source(model), rules(()), _json(options, *written))
    return _result(made, f, progress, hasattr(model, "SerializeToString"))


def _json(options: dict[str, Any], external_data: ExternalData, follow_links: bool, description: dict[str, object]) -> str:
    written = {"external_data": external_data_choice(external_data), "follow_links": follow_links, "description": description}
    return json.dumps({**options, "written": written})


def _result(made: Any, f: str | os.PathLike[str] | None, progress: bool | None, is_proto: bool) -> Converted:
    """Writes a model, or returns it in the form that the source had."""
    if f is None:
        found = made.serialized()
        return require("onnx", "a ModelProto").load_from_string(found) if is_proto else found
    with _progress.shown(progress) as shown:
        shown.step("writing")
        made.save(os.fspath(f), shown)
    return None


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _renames(given: Mapping[str, str] | Sequence[str]) -> list[tuple[str | None, str]]:
    """New names by the old ones, or in order."""
    if isinstance(given, Mapping):
        return list(given.items())
    return [(None, name) for name in given]


def _dtypes(given: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(name, str(dtype).removeprefix("torch.")) for name, dtype in (given or {}).items()]


def _weights(given: Any) -> list[tuple[str, list[float] | None]]:
    """Inputs that become weights, with their elements in order."""
    if not isinstance(given, Mapping):
        return [(name, None) for name in _names(given)]
    return [(name, None if value is None else _numbers(name, value)) for name, value in given.items()]


def _numbers(name: str, value: Any) -> list[float]:
    """The elements of a number, a list, an array or a tensor."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    found = _flat(value)
    if not all(isinstance(number, (int, float)) for number in found):
        raise ArgumentError(f"to_weights: the elements of `{name}` are no numbers", help="pass a number, a list of numbers, or None for the default of the input")
    return [float(number) for number in found]


def _flat(value: Any) -> list[Any]:
    return [number for part in value for number in _flat(part)] if isinstance(value, (list, tuple)) else [value]


def _named(models: Any) -> list[tuple[str, Any]]:
    """Models with their names, each once."""
    if isinstance(models, Mapping):
        pairs = list(models.items())
    else:
        pairs = [(FilePath(model).stem if isinstance(model, (str, os.PathLike)) else "model", model) for model in models]
    if len(pairs) < 2:
        raise ArgumentError(f"models: found {len(pairs)}", help="pass two models or more")
    taken: list[str] = []
    for name, _ in pairs:
        number, unique = 2, name
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.append(unique)
    return [(name, model) for name, (_, model) in zip(taken, pairs)]
