"""The shapes of the dictionaries in results: those of `inspect`, of a report, and of `verify`. Docs describe them by these types."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Port(TypedDict):
    """An input or output. `kind` is "tensor", or what else it is; `shape` has numbers and expressions in names of dimensions."""

    name: str
    kind: str
    dtype: str | None
    shape: list[str] | None


class Bounds(TypedDict):
    """The range of a dimension, both ends included. None where it has no end."""

    min: int | None
    max: int | None


class Weights(TypedDict):
    """The weights of a model. `dtypes` has the number of tensors of each dtype."""

    tensors: int
    elements: int
    bytes: int
    dtypes: dict[str, int]


class Place(TypedDict):
    """A call of an operator: the node, the module that makes it, and the line of the model, if known."""

    node: str
    module: str | None
    source_line: str | None


class Operator(TypedDict):
    """An operator with its calls."""

    operator: str
    count: int
    calls: list[Place]


class Reason(TypedDict):
    """Why an opset does not support a model, and where. `needs_opset` is the first that does, if there is one."""

    message: str
    place: list[str]
    help: str | None
    needs_opset: int | None


class Stored(TypedDict):
    """Quantized weights of one kind."""

    tensors: int
    weights: int
    bytes: int


class Quantized(TypedDict):
    """The quantized weights as they are written at an opset: by dtype, the bytes of scales and zero points, bits per weight with these, and the bytes of all weights."""

    dtypes: dict[str, Stored]
    scale_bytes: int
    bits_per_weight: float
    all_bytes: int


class Verdict(TypedDict):
    """Whether an opset supports a model. `replaced` has the operators that a target lacks."""

    opset: int
    ok: bool
    reasons: list[Reason]
    replaced: NotRequired[dict[str, int]]
    quantized: NotRequired[Quantized]


#: A parameter of a TorchScript method.
Parameter = TypedDict("Parameter", {"name": str, "type": str, "default": str | None, "recorded": str | None, "describe": str | None})


class Method(TypedDict):
    """A method of a TorchScript model."""

    name: str
    signature: str
    parameters: list[Parameter]
    returns: str


#: A TorchScript model: the version of its format, the class of the module, and its methods.
Script = TypedDict("Script", {"version": int, "class": str, "methods": list[Method]})


class Inspected(TypedDict):
    """What `inspect` finds in a model."""

    source: str
    torch_version: str | None
    torchscript: NotRequired[Script]
    inputs: list[Port]
    outputs: list[Port]
    symbols: dict[str, Bounds]
    conditions: list[str]
    weights: Weights
    operators: list[Operator]
    opsets: list[Verdict]
    target: NotRequired[str]
    notes: list[str]


class Compared(TypedDict):
    """How an output differs from PyTorch's. `differences` has the number of elements by the size of their difference, `signal_to_noise` the decibels of the
    result over the differences: infinite if there are none."""

    dtype: str
    ok: bool
    largest_difference: float
    largest_value: float
    differences: NotRequired[dict[str, int]]
    signal_to_noise: NotRequired[float]
    problem: NotRequired[str]


class Verification(TypedDict):
    """The results of `verify`: the version of ONNX Runtime, the outputs by name, and the sizes at which a recorded module was compared."""

    onnxruntime: str
    outputs: dict[str, Compared]
    sizes: NotRequired[list[dict[str, int]]]


class File(TypedDict):
    """A file that was written."""

    path: str
    bytes: int


class NamedType(TypedDict):
    """An input or output of a report: `float32[batch, 3]`."""

    name: str
    type: str


class Tensors(TypedDict):
    """The number of weights, and their bytes."""

    tensors: int
    bytes: int


class Reported(TypedDict):
    """A report as a dictionary. `seconds` has the time of each step."""

    model: str
    aten2onnx: str
    torch: str | None
    opset: int | None
    ir_version: int | None
    inputs: list[NamedType]
    outputs: list[NamedType]
    nodes: int
    operators: dict[str, int]
    weights: Tensors
    decomposed: list[str]
    notes: list[str]
    conditions: list[str]
    verification: Verification | None
    files: list[File]
    seconds: dict[str, float]
    error: str | None


class Written(TypedDict):
    """What the native library wrote: paths, bytes, and advice about these. Without data beside the model, `data_path` and `data_bytes` are None."""

    path: object
    bytes: int
    data_path: object
    data_bytes: int | None
    advice: str | None
