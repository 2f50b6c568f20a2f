"""`aten2onnx.transformers.export`: writes the directory for a task that optimum-onnx, transformers.js and onnxruntime-genai read."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from .. import _arguments
from .._calls import Auto
from .._errors import ArgumentError, Error, FileError, InputError, VerificationError
from .._export import export as export_graph
from .._program import ONNXProgram
from .._types import Branches, Capture, ExternalData, Paths, QuantizeWeights, Scales, Tensor
from . import _external, _genai, _merge, _variants
from ._graphs import Graph, graphs
from ._tasks import load

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    HuggingFaceModel: TypeAlias = PreTrainedModel | str | os.PathLike[str]
else:
    HuggingFaceModel = object

#: What a tokenizer or a processor consists of.
_OTHER_FILES = ("tokenizer*", "special_tokens_map.json", "vocab.*", "merges.txt", "*.model", "added_tokens.json", "*processor_config.json", "chat_template*")


@dataclass
class Exported:
    """What `export` wrote.

    Attributes:
        directory: The directory.
        programs: The graphs by name, such as "model" or "decoder_with_past_model".
        files: The paths of the files.
        notes: Notes for the user.
    """

    directory: Path
    programs: dict[str, ONNXProgram] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@_arguments.checked
def export(
    model: HuggingFaceModel,
    directory: str | os.PathLike[str],
    task: str | None = None,
    *,
    inputs: Mapping[str, Tensor] | None = None,
    opset_version: int | None = None,
    target: str | None = None,
    mappings: Paths = (),
    merge: bool = True,
    genai: bool = False,
    verify: bool = True,
    external_data: ExternalData = "auto",
    dtype: Sequence[str] = ("fp32",),
    quantize_weights: QuantizeWeights | None = None,
    block_size: int | Literal["channel"] | None = None,
    scales: Scales | None = None,
    skip: Sequence[str] = (),
    trust_remote_code: bool = False,
    capture: Capture = "auto",
    branches: Branches = "both",
) -> Exported:
    """Exports a Hugging Face model for a task, with dynamic sizes, and verifies it in ONNX Runtime.

    Args:
        model: A model of transformers, or what `from_pretrained` takes: a directory or the name of a repository.
        directory: The output directory: the graphs are in its folder `onnx`, the configuration and the tokenizer beside it.
        task: The task, such as "text-generation" (default: that of the class of the model).
        inputs: Example inputs by name, if the configuration does not say what they look like.
        opset_version: The opset (default: 18; for a target its fastest, if that was measured, or the nearest that it supports).
        target: The runtime, such as "onnxruntime-1.16".
        mappings: Mapping files or folders with rules for custom operators.
        merge: Whether encoder-decoder models also get one decoder for the first and later steps, `decoder_model_merged.onnx`.
        genai: Whether to write `genai_config.json` for onnxruntime-genai.
        verify: Whether to compare the results with PyTorch's in ONNX Runtime, at the sizes of the export and at others.
        external_data: Where the weights go, as in `aten2onnx.export`.
        dtype: The variants of each graph by their names in transformers.js, all from one capture: "fp32" (`model.onnx`), "fp16" (`model_fp16.onnx`), "q4" and "q4f16"
            (4 bits in blocks of 32, by ONNX Runtime's operators), "q8" (`model_quantized.onnx`), "int8" and "uint8" (products of integers).
        trust_remote_code: Whether to run code from the repository of the model.
        capture: How the graphs are captured, as in `aten2onnx.export`: "auto", "record" or "export".
        branches: What becomes of branches in Python, as in `aten2onnx.export`.

        quantize_weights: What weights are quantized to, as in `aten2onnx.export`, in the files of `dtype` "fp32".
        block_size: How many numbers of a weight have a common scale, as in `aten2onnx.export`.
        scales: How scales are chosen, as in `aten2onnx.export`.
        skip: Patterns of what is not quantized, as in `aten2onnx.export`.

    Raises:
        InputError: The model has no such task, or its inputs are unknown.
        CaptureError: A part of the model cannot be captured.
        VerificationError: The results differ from PyTorch's.
    """
    _arguments.opset(opset_version)
    _check_tensors(inputs)
    variants = _variants.checked(dtype)
    quantized = {"quantize_weights": quantize_weights, "block_size": block_size, "scales": scales, "skip": skip}
    if quantize_weights is not None and variants != ["fp32"]:
        raise ArgumentError("quantize_weights cannot be used with dtype, whose variants are made of a model of floats", help="leave one of them out")
    loaded, wanted = load(model, task, trust_remote_code)
    made = Exported(Path(directory))
    parts = graphs(loaded, wanted, dict(inputs) if inputs is not None else None)
    if genai and wanted.graphs != "decoder":
        raise InputError("`genai` is for models with the task `text-generation`", help="leave it out for this task")
    folder = made.directory / "onnx"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot make the folder {folder}: {getattr(error, 'strerror', None) or error}") from error
    chosen = {"opset_version": opset_version, "target": target, "mappings": mappings, "verify": verify, "capture": capture, "branches": branches, **quantized}
    for part in parts:
        part, program = _program(part, chosen)
        path = folder / f"{part.name}.onnx"
        made.programs[part.name] = program
        made.files += _saved(program, path, external_data)
        made.files += _variants.write(path, variants, external_data, program.report.opset, target, mappings)
        made.notes += part.notes + program.report.notes
        program.release()
    if merge and wanted.graphs == "encoder-decoder":
        for suffix in dict.fromkeys(["", *(_variants.VARIANTS[variant][0] for variant in variants)]):
            made.files += _merge.merge(folder, f"decoder_model{suffix}", f"decoder_with_past_model{suffix}", f"decoder_model_merged{suffix}")
    if "fp32" not in variants:
        made.files = _without_floats(made.files, parts)
    made.files += _configuration(loaded, model, made.directory)
    _announce(made)
    if genai:
        content = _genai.configuration(loaded, made.programs["model"])
        made.files.append(made.directory / "genai_config.json")
        made.files[-1].write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")
    return made


def _without_floats(files: list[Path], parts: Sequence[Graph]) -> list[Path]:
    """Removes the files of the capture, which nobody asked for, and returns the others."""
    names = {f"{name}.onnx{end}" for name in [*(part.name for part in parts), "decoder_model_merged"] for end in ("", _external.SUFFIX)}
    for path in files:
        if path.name in names:
            path.unlink(missing_ok=True)
    return [path for path in files if path.name not in names]


def _check_tensors(inputs: Mapping[str, Any] | None) -> None:
    """Raises an error for an example input that is no tensor."""
    for name, value in (inputs or {}).items():
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(f"inputs[{name!r}]: expected a tensor, found an object of the class `{type(value).__name__}`")


def _saved(program: ONNXProgram, path: Path, external_data: ExternalData) -> list[Path]:
    """Writes a graph and returns its files. Weights beside it get the name that Hugging Face's tools expect."""
    program.save(path, external_data=external_data)
    named = _external.rename(path)
    if named is not None:
        program.report.files[-1]["path"] = str(named)
    return [path] if named is None else [path, named]


def _announce(made: Exported) -> None:
    """Tells transformers.js, which does not look for files, whose weights are beside them."""
    outside = {path.name.removesuffix(_external.SUFFIX): 1 for path in made.files if path.name.endswith(f".onnx{_external.SUFFIX}")}
    if not outside:
        return
    path = made.directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["transformers.js_config"] = {**config.get("transformers.js_config", {}), "use_external_data_format": outside}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _program(part: Graph, chosen: dict[str, Any]) -> tuple[Graph, ONNXProgram]:
    """Exports and verifies one graph, or its alternative. `chosen` has arguments of `aten2onnx.export`."""
    try:
        program = export_graph(part.module, kwargs=part.inputs, dynamic_shapes=Auto(part.static), **chosen)
        if chosen["verify"] or part.alternative is not None:
            _verify(part, program)
    except Exception as error:  # at other sizes PyTorch and ONNX Runtime pass on whatever their operators raise
        if part.alternative is not None:
            return _program(part.alternative, chosen)
        if isinstance(error, Error):
            error.place = [f"the graph `{part.name}`", *error.place]
        raise
    return part, program


def _verify(part: Graph, program: ONNXProgram) -> None:
    """Compares a program with PyTorch at other sizes, as far as torch.export left them free."""
    for check in part.checks:
        frozen = _frozen(program, check)
        if frozen and part.alternative is not None:
            raise VerificationError(" ".join(frozen))
        if frozen:
            program.report.notes += [note for note in frozen if note not in program.report.notes]
            continue
        program.verify((), check)
        _compare(part, program, check)
    if part.prefill is not None:
        _verify_prefill(part, program)


def _frozen(program: ONNXProgram, inputs: dict[str, Any]) -> list[str]:
    """The dimensions of inputs that are constant, but of another size in these inputs."""
    kinds = dict(program.report.inputs)
    notes = []
    for name, value in inputs.items():
        sizes = kinds[name].partition("[")[2].rstrip("]").split(", ") if name in kinds else []
        for axis, size in enumerate(sizes):
            if size.isdigit() and int(size) != value.shape[axis]:
                notes.append(f"The dimension {axis} of `{name}` is always {size}: the model decides something by it when it is captured.")
    return notes


def _compare(part: Graph, program: ONNXProgram, inputs: dict[str, Any]) -> None:
    """Compares a program with the module itself, which may do something else at sizes other than those of the capture."""
    with torch.no_grad():
        expected = _expected(part, program, inputs)
    found = dict(zip([name for name, _ in program.report.outputs], program(**inputs)))
    _check(part, program, expected, found)


def _verify_prefill(part: Graph, program: ONNXProgram) -> None:
    """Compares the first call: an empty cache here, and none in PyTorch."""
    assert part.prefill is not None
    with torch.no_grad():
        expected = _expected(part, program, part.prefill | ({"use_cache": True} if "use_cache" in part.inputs else {}))
    found = dict(zip([name for name, _ in program.report.outputs], _first_call(program, part.prefill)))
    _check(part, program, expected, found)


def _first_call(program: ONNXProgram, inputs: dict[str, Any]) -> list[Any]:
    from .. import _runtime

    if program._session is None:
        program.initialize_inference_session()
    batch = next(iter(inputs.values())).shape[0]
    feeds = {}
    for value in program._session.get_inputs():
        if value.name in inputs:
            feeds[value.name] = inputs[value.name]
        else:
            sizes = [batch if size == "batch" else 0 if isinstance(size, str) else size for size in value.shape]
            feeds[value.name] = torch.zeros(sizes, dtype=_DTYPES[value.type])
    return _runtime.run(program._session, feeds, as_torch=True)


_DTYPES = {"tensor(float)": torch.float32, "tensor(float16)": torch.float16, "tensor(bfloat16)": torch.bfloat16, "tensor(double)": torch.float64}


def _expected(part: Graph, program: ONNXProgram, inputs: dict[str, Any]) -> dict[str, Any]:
    import copy

    return program._results(part.module(**copy.deepcopy(inputs)))


def _check(part: Graph, program: ONNXProgram, expected: dict[str, Any], found: dict[str, Any]) -> None:
    from .._verify import compare

    wrong = []
    for name, wanted in expected.items():
        # A sliding window keeps the last tokens only; the graph keeps all, and masks those outside the window.
        got = found.get(name)
        if got is None or (name.startswith("present") and got.shape != wanted.shape):
            continue
        row = compare(wanted, got, None, None, program._precision, program._quantized)
        if not row["ok"]:
            wrong.append(f"`{name}`: {row.get('problem', 'differs by {:.3g} of {:.3g}'.format(row['largest_difference'], row['largest_value']))}")
    if wrong:
        raise VerificationError(
            f"the results of {type(part.module).__name__} differ from PyTorch's at other sizes than those of the export: {', '.join(wrong)}",
            help="the model decides something by a size when it is captured: pass `inputs=` of the size that you need, and `verify=False`",
        )


def _configuration(model: Any, source: Any, directory: Path) -> list[Path]:
    """Writes the configuration of the model and of generation, and copies the tokenizer and the processor."""
    directory.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(directory)
    files = [directory / "config.json"]
    if getattr(model, "generation_config", None) is not None and model.can_generate():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.generation_config.save_pretrained(directory)
        files.append(directory / "generation_config.json")
    folder = Path(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else None
    if folder is not None and folder.is_dir():
        for path in sorted({path for pattern in _OTHER_FILES for path in folder.glob(pattern) if path.is_file()}):
            shutil.copyfile(path, directory / path.name)
            files.append(directory / path.name)
    elif folder is not None:
        files += _from_hub(os.fspath(folder), directory)
    return files


def _from_hub(name: str, directory: Path) -> list[Path]:
    """Saves the tokenizer and the processor of a repository."""
    import transformers

    before = set(directory.iterdir())
    for auto in (transformers.AutoTokenizer, transformers.AutoProcessor):
        try:
            auto.from_pretrained(name).save_pretrained(directory)
        except (OSError, ValueError, KeyError):  # the model has none
            continue
    return sorted(set(directory.iterdir()) - before)
