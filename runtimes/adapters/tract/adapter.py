"""tract, by its Python package."""
import tract


def version():
    return tract.version()


def load(path):
    inference = tract.onnx().load(path)
    names = [inference.input_name(index) for index in range(inference.input_count())]
    return names, inference.into_model().into_runnable()


def run(model, inputs):
    names, runnable = model
    found = runnable.run([tract.Tensor.from_numpy(inputs[name]) for name in names])
    return [array_of(tensor) for tensor in found]


def array_of(tensor):
    """The array of an output. Sizes have a dtype of their own, which NumPy does not have."""
    try:
        return tensor.to_numpy()
    except tract.TractError:
        return tensor.convert_to(tract.DatumType.I64).to_numpy()
