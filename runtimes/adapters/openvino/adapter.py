"""OpenVINO on the CPU, in the precision of the model."""
import ml_dtypes
import openvino

CORE = openvino.Core()


def version():
    return openvino.get_version().split("-")[0]


def load(path):
    return CORE.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})


def run(model, inputs):
    found = model(by_index(model, inputs))
    return [as_typed(found[port], port.element_type) for port in model.outputs]


def as_typed(array, element_type):
    """OpenVINO gives the bytes of bfloat16 as float16."""
    return array.view(ml_dtypes.bfloat16) if element_type == openvino.Type.bf16 else array


def by_index(model, inputs):
    """Inputs by their place. Those that nothing needs are gone. An input that only goes through the model has lost its name: then the
    order of the model counts."""
    places = {name: index for index, port in enumerate(model.inputs) for name in port.get_names()}
    known = {places[name]: array for name, array in inputs.items() if name in places}
    if len(known) == len(model.inputs):
        return known
    if len(inputs) != len(model.inputs):
        raise ValueError(f"the model has the inputs {sorted(places)}, not {sorted(inputs)}")
    return dict(enumerate(inputs.values()))
