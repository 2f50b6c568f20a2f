"""Compares an exported model with PyTorch, and finds the first node whose results differ."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from . import _runtime
from ._errors import Error, InputError, UnsupportedError, VerificationError, require
from ._facts import Compared


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference: the sum of a fraction of the value, a fraction of the largest value of the tensor, and a constant."""

    rtol: float
    of_largest: float
    atol: float


# Sums in a different order add rounding errors in each layer of the network.
_TOLERANCES = {
    "float64": Tolerance(1e-7, 1e-8, 1e-12),
    "float32": Tolerance(1e-3, 1e-4, 1e-6),
    "float16": Tolerance(1e-2, 1e-2, 1e-4),
    "bfloat16": Tolerance(5e-2, 5e-2, 1e-3),
}
# In what a model of a precision computes.
_DTYPES_OF_PRECISIONS = {"float16": "float16", "mixed": "float16", "bfloat16": "bfloat16"}
# The least signal to noise, in decibels, of a model with quantized weights. Results that have nothing to do with those of PyTorch have 0 and less.
_LEAST_SIGNAL = {"dynamic": 14.0, "static": 10.0, "int8": 20.0, "uint8": 20.0, "fp8": 14.0, "int4": 6.0, "uint4": 6.0}
_EXACT = Tolerance(0, 0, 0)
_COARSE = Tolerance(0.15, 0.15, 1e-2)


def tolerance(dtype: str) -> Tolerance:
    """Returns the tolerance for a dtype, by its torch name."""
    if dtype.startswith("float8"):
        return _COARSE
    return _TOLERANCES.get(dtype.replace("complex128", "float64").replace("complex64", "float32"), _EXACT)


def verify(program: Any, args: Any, kwargs: Mapping[str, Any] | None, *, rtol: float | None = None, atol: float | None = None) -> None:
    """Compares a program with PyTorch; see `ONNXProgram.verify`."""
    runtime = require("onnxruntime", "verifying a model")
    exported = None if program._live is None else program._live.exported
    if exported is None:
        raise UnsupportedError(
            "a model that was exported from a `.pt2` file cannot be compared with PyTorch",
            help="export the result of `torch.export.load` instead",
        )
    if program._live.outside.paths or program._live.outside.tensors:
        raise UnsupportedError(
            "a model whose weights come from elsewhere cannot be compared with PyTorch",
            help="load the weights into the module, and export it without `weights`",
        )
    if args is None:
        if exported.example_inputs is None:
            raise UnsupportedError("the program has no example inputs", help="pass `args`, and `kwargs` if it needs them")
        args, kwargs = exported.example_inputs
    else:
        args, kwargs = program._arranged((args,) if hasattr(args, "detach") else tuple(args), kwargs)
    leaves = _runtime.user_inputs(exported, args, kwargs)
    try:
        expected, new_values = results(exported, leaves)
    except Exception as error:  # whatever the model and PyTorch raise on what the user gave them
        raise InputError(f"PyTorch cannot run the model on these inputs: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from error
    if is_random(exported) and not _same(expected, expected_outputs(exported, leaves)):
        warnings.warn("not verified: the results of the model are random", stacklevel=5)
        program.report.notes.append("Not verified: the results of the model are random.")
        return
    found = program._run(args, kwargs or {})
    rows: dict[str, Compared] = {}
    names = [name for name, _ in program.report.outputs]
    # The outputs of `keep_mutations` follow those of the user.
    expected += [new_values.get(name) for name in names[len(expected) :]]
    for name, wanted, got in zip(names, expected, found):
        if wanted is None:
            program.report.notes.append(f"Output `{name}` is not verified because it was renamed.")
            continue
        rows[name] = compare(wanted, got, rtol, atol, program._precision, program._quantized)
    program.report.verification = {"onnxruntime": runtime.__version__, "outputs": rows}
    wrong = [name for name, row in rows.items() if not row["ok"]]
    if wrong:
        raise _failure(program, leaves, wrong, rows)


def verify_runs(program: Any) -> None:
    """Compares a program with the runs that it was recorded in, whose results are then forgotten. The report says at which sizes."""
    recorded: Any = None if program._live is None else program._live.exported
    checks, found = getattr(recorded, "checks", []), program.report.verification
    if found is None or not checks:
        return
    recorded.checks = []
    found["sizes"] = []
    names = [name for name, _ in program.report.outputs]
    while checks:
        sizes, arguments, expected = checks.pop(0)
        if not sizes and not arguments.examples:
            continue
        got = _at(program, arguments, sizes)
        for name, wanted, value in zip(names, (one for one in expected if one is not None), got):
            row = compare(wanted, value, None, None, program._precision, program._quantized)
            if not row["ok"]:
                where = ", ".join(f"{symbol}={size}" for symbol, size in sizes.items())
                error = VerificationError(
                    f"the exported model differs from PyTorch at {where or 'other data'}: output `{name}`: {_difference(row)}",
                    help="leave dimensions out of `dynamic_shapes`, and report this: the file is right at the sizes of the example",
                )
                found["outputs"][name] = row
                error.program, error.report = program, program.report
                raise error
            found["outputs"][name] = _worse(found["outputs"].get(name, row), row)
        if sizes not in found["sizes"]:
            found["sizes"].append(dict(sizes))


def _at(program: Any, arguments: Any, sizes: Mapping[str, int]) -> list[Any]:
    """The results of the file at the sizes of a run."""
    from torch.utils import _pytree as pytree

    args, kwargs = pytree.tree_unflatten(arguments.at(sizes), arguments.tree)
    return program._run(args, kwargs)


def _worse(one: Compared, other: Compared) -> Compared:
    """Of two comparisons of an output that is equal within the tolerance, that with the larger difference."""
    return other if other["largest_difference"] > one["largest_difference"] else one


def compare(wanted: Any, got: Any, rtol: float | None, atol: float | None, precision: str | None = None, quantized: str | None = None) -> Compared:
    """Compares two tensors: dtype, whether they are equal within the tolerance, the largest difference and value, and how many
    differences there are of each size. A model that computes in half precision has the tolerance of that, and may have results of it. One with
    quantized weights has to have a signal to noise of its format, if no tolerance is given; its integers, which follow from compared floats, may differ."""
    import torch

    wanted, got = torch.as_tensor(wanted).detach().cpu(), torch.as_tensor(got)
    if wanted.is_complex():
        wanted = torch.view_as_real(wanted.resolve_conj())
    dtype = str(wanted.dtype).removeprefix("torch.")
    row: Compared = {"dtype": dtype, "ok": False, "largest_difference": float("nan"), "largest_value": float("nan")}
    computed = dtype
    if precision is not None and wanted.dtype == torch.float32:
        computed = _DTYPES_OF_PRECISIONS[precision]
        got = got.float() if computed == str(got.dtype).removeprefix("torch.") else got
    if wanted.dtype != got.dtype or wanted.shape != got.shape:
        row["problem"] = f"expected {_described(wanted)}, found {_described(got)}"
        return row
    allowed = tolerance(computed)
    wide = torch.float64 if wanted.is_floating_point() else torch.int64
    exact = torch.equal(wanted, got)
    wanted, got = wanted.to(wide), got.to(wide)
    finite = wanted.isfinite() & got.isfinite()
    difference = torch.where(finite, (wanted - got).abs(), torch.zeros_like(wanted))
    largest = wanted[finite].abs().max().item() if finite.any() else 0
    limit = (allowed.rtol if rtol is None else rtol) * wanted.abs()
    limit = limit + (allowed.of_largest * largest if atol is None else 0) + (allowed.atol if atol is None else atol)
    special = (wanted == got) | (wanted.isnan() & got.isnan()) if wide.is_floating_point else wanted == got
    row["largest_difference"] = float(difference.max()) if difference.numel() else 0.0
    row["largest_value"] = float(largest)
    row["differences"] = _by_size(difference[finite])
    row["ok"] = exact or bool(torch.where(finite, difference <= limit, special).all())
    if wide.is_floating_point:
        row["signal_to_noise"] = _signal_to_noise(wanted[finite], difference[finite])
    if quantized is not None and rtol is None and atol is None:
        is_close = row.get("signal_to_noise", 0.0) >= _LEAST_SIGNAL[quantized] if wide.is_floating_point else computed != "bool"
        row["ok"] = row["ok"] or bool(is_close and special[~finite].all())
    return row


def _signal_to_noise(wanted: Any, difference: Any) -> float:
    """The decibels of a result over its differences."""
    signal, noise = float((wanted.double() ** 2).sum()), float((difference.double() ** 2).sum())
    return math.inf if noise == 0 else -math.inf if signal == 0 else 10 * math.log10(signal / noise)


def _by_size(difference: Any) -> dict[str, int]:
    """Counts differences by their decimal exponents; "exact" are those that are zero."""
    import torch

    some = difference[difference > 0]
    exponents, counts = torch.unique(torch.floor(torch.log10(some.double())).to(torch.int64), return_counts=True)
    sizes = {str(exponent): count for exponent, count in zip(exponents.tolist(), counts.tolist())}
    return {"exact": difference.numel() - some.numel(), **sizes}


def _described(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _same(first: list[Any], second: list[Any]) -> bool:
    return all(compare(a, b, None, None)["ok"] for a, b in zip(first, second))


def is_random(exported: Any) -> bool:
    """Whether the program calls an operator that may return random numbers."""
    import torch

    tag = torch.Tag.nondeterministic_seeded
    return any(tag in getattr(node.target, "tags", ()) for module in exported.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes)


def expected_outputs(exported: Any, leaves: list[Any], see: Callable[[Any, Any], None] | None = None) -> list[Any]:
    """Returns the user outputs that are tensors or numbers, computed by PyTorch. `see` is called with each node and its result."""
    return results(exported, leaves, see)[0]


def results(
    exported: Any, leaves: list[Any], see: Callable[[Any, Any], None] | None = None, see_numbers: Callable[[Any, Any], None] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Like `expected_outputs`, and also returns the new values of buffers and inputs, by the name of the model's output. `see` is given each tensor of the program,
    and `see_numbers` whatever else it computes, also in the turns of its loops and on the sides of its branches."""
    import torch

    class Run(torch.fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if see_numbers is not None:
                args = tuple(partial(_run_inner, arg) if isinstance(arg, torch.fx.GraphModule) else arg for arg in args)
            return super().call_function(target, args, kwargs)

        def run_node(self, node: Any) -> Any:
            try:
                result = super().run_node(node)
            except Exception as error:
                error.source_line = source_line(node)  # type: ignore[attr-defined]
                raise
            if see is not None and isinstance(result, torch.Tensor):
                see(node, result)
            if see_numbers is not None and not isinstance(result, torch.Tensor):
                see_numbers(node, result)
            return result

    def _run_inner(body: Any, *given: Any) -> Any:
        return Run(body).run(*given)

    bound = _bound(exported, leaves)
    with torch.no_grad():
        values = Run(exported.graph_module).run(*bound)
    new_values = {f"{spec.target or spec.arg.name}_out": value for spec, value in zip(exported.graph_signature.input_specs, bound)}
    kept = []
    for value, spec in zip(values, exported.graph_signature.output_specs):
        if spec.kind.name in ("USER_OUTPUT", "LOSS_OUTPUT"):
            kept.append(value)
        else:
            new_values[f"{spec.target}_out"] = value
    return [value for value in kept if value is not None], new_values


def _bound(exported: Any, leaves: list[Any]) -> list[Any]:
    """Returns the values of all placeholders. Buffers and inputs are copied, because the graph may write to them."""
    import torch

    copied = lambda value: value.detach().clone() if isinstance(value, torch.Tensor) else value  # noqa: E731
    users = iter(leaves)
    bound = []
    for spec in exported.graph_signature.input_specs:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            bound.append(copied(next(users)))
        elif kind == "PARAMETER":
            bound.append(exported.state_dict[spec.target])
        else:
            values = exported.state_dict if spec.target in exported.state_dict else exported.constants
            bound.append(copied(values[spec.target]))
    return bound


def _failure(program: Any, leaves: list[Any], wrong: list[str], rows: dict[str, Compared]) -> VerificationError:
    what = "; ".join(f"output `{name}`: {_difference(rows[name])}" for name in wrong)
    message = f"the exported model differs from PyTorch: {what}"
    first = _first_difference(program, leaves)
    if first is None:
        error = VerificationError(message, help="no intermediate value differs; compare with other values of `rtol` and `atol`")
    else:
        node, row = first
        line = source_line(node)
        operator = node.target.name().removesuffix(".default") if hasattr(node.target, "name") else str(node.target)
        place = f"first at `{node.name}` ({operator}): {_difference(row)}"
        error = VerificationError(message, place=[place, *([line] if line else [])], operator=operator, node=node.name, source_line=line)
    error.program, error.report = program, program.report
    return error


def _difference(row: Compared) -> str:
    noise = f", signal to noise {row['signal_to_noise']:.1f} dB" if "signal_to_noise" in row else ""
    return row.get("problem") or f"differs by up to {row['largest_difference']:.3g}; the largest value is {row['largest_value']:.3g} ({row['dtype']}){noise}"


def source_line(node: Any) -> str | None:
    import torch

    own = os.path.dirname(torch.__file__)
    lines = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', node.meta.get("stack_trace") or "")
    lines = [line for line in lines if not line[0].startswith(own)]
    return 'File "{}", line {}, in {}'.format(*lines[-1]) if lines else None


def _first_difference(program: Any, leaves: list[Any]) -> tuple[Any, Compared] | None:
    """Returns the first node of the PyTorch graph whose result differs from the value of the same name in the ONNX model."""
    try:
        inner = _inner_values(program, leaves)
    except (Error, ImportError):
        return None  # the model cannot be changed without onnx
    found: list[tuple[Any, Compared]] = []

    def see(node: Any, result: Any) -> None:
        if not found and node.op == "call_function" and node.name in inner:
            row = compare(result, inner[node.name], None, None, program._precision, program._quantized)
            # A different type means that another value has the name of the node.
            if not row["ok"] and "problem" not in row:
                found.append((node, row))

    expected_outputs(program._live.exported, leaves, see)
    return found[0] if found else None


def _inner_values(program: Any, leaves: list[Any]) -> dict[str, Any]:
    """Returns the values of the ONNX model that have the name of a node of the PyTorch graph."""
    onnx = require("onnx", "finding the first different node")
    runtime = require("onnxruntime", "verifying a model")
    nodes = {node.name for node in program._live.exported.graph.nodes}
    with TemporaryDirectory(prefix="aten2onnx-") as folder:
        path = os.path.join(folder, "model.onnx")
        program._model.save(path, "auto", None)
        model = onnx.load(path, load_external_data=False)
        known = {output.name for output in model.graph.output}
        model.graph.output.extend(value for value in model.graph.value_info if value.name in nodes - known)
        onnx.save(model, path)
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        specs = _runtime.input_specs(program._live.exported)
        values = [leaf for leaf, spec in zip(leaves, specs) if not hasattr(spec.arg, "value")]
        values += _runtime.state(program._live.exported, names[len(values) :])
        outputs = _runtime.run(session, dict(zip(names, values)), as_torch=True)
        return dict(zip([value.name for value in session.get_outputs()], outputs))
