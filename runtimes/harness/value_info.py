"""Compares the shapes that a model records with those that onnx's shape inference finds."""
import onnx


def clashes(path):
    """How recorded shapes contradict inferred ones, a line each. Symbols of the inference (`unk__0`) contradict nothing, a number in place of a
    recorded symbol does: tools that unify both refuse the model."""
    model = onnx.load(path, load_external_data=False)
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        return [str(error)]
    recorded = {value.name: sizes(value) for value in [*model.graph.value_info, *model.graph.output]}
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
    found = {value.name: sizes(value) for value in [*inferred.value_info, *inferred.output]}
    return [
        f"`{name}` is recorded as {recorded[name]} and inferred as {found[name]}"
        for name in recorded.keys() & found.keys()
        if not agree(recorded[name], found[name])
    ]


def sizes(value):
    """The sizes of a tensor: numbers, names and None; None if nothing is known."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in value.type.tensor_type.shape.dim]


def agree(recorded, inferred):
    if recorded is None or inferred is None:
        return True
    return len(recorded) == len(inferred) and all(a == b for a, b in zip(recorded, inferred) if isinstance(b, int) and a is not None)
