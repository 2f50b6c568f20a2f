"""The inputs and outputs of a model, for adapters."""
import dataclasses

import numpy as np
import onnx


@dataclasses.dataclass(frozen=True)
class Tensor:
    """What a model declares of an input or output. A size that is no number is None; `sizes` is None if even their number is unknown."""

    dtype: np.dtype
    sizes: tuple | None

    @property
    def is_symbolic(self):
        return self.sizes is None or None in self.sizes

    def fits(self, shape):
        """Whether an array of a shape can be this tensor."""
        return self.sizes is None or len(shape) == len(self.sizes) and all(size in (None, found) for size, found in zip(self.sizes, shape))


@dataclasses.dataclass(frozen=True)
class Signature:
    """The inputs that a user gives (not those with an initializer) and the outputs, by name."""

    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]


def of(path):
    return of_graph(onnx.load(path, load_external_data=False).graph)


def of_graph(graph):
    given = {tensor.name for tensor in graph.initializer}
    return Signature({value.name: declared(value) for value in graph.input if value.name not in given}, {value.name: declared(value) for value in graph.output})


def for_shapes(model, shapes):
    """The model for shapes of its inputs, by name. Other sizes are inferred, as far as that is possible."""
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, [])):
            dim.dim_value = size
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.Clear()
    model.graph.ClearField("value_info")
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def declared(value):
    tensor = value.type.tensor_type
    sizes = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return Tensor(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), sizes)


def converted(array, dtype, replaced):
    """An array in another dtype, if the runtime computes with one in place of the other. `replaced` is by the names of dtypes."""
    one, other = array.dtype.name, dtype.name
    return array.astype(dtype) if replaced.get(one) == other or replaced.get(other) == one else array
