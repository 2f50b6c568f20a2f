"""Says what the installed PyTorch has, for `aten2onnx-codegen import-aten VERSION`, which runs it in an environment of its own.

    python ask_torch.py schemas      # prints {"torch": "2.8.0", "torchvision": "0.23.0", "schemas": {"aten": ["aten::relu(Tensor self) -> Tensor", ..], ..}}
    python ask_torch.py try < NAMES  # for each overload in a line, prints a line: what PyTorch makes of a module that calls it

A schema is copied from native_functions.yaml if it is there. For others, the numbers in torch's rendering are converted to the same notation, as
tools/schemas/dump_aten.py does.
"""

import contextlib
import importlib.util
import io
import itertools
import json
import logging
import os
import pathlib
import re
import signal
import sys
import warnings

import torch

#: The namespaces that have snapshots. `onnx` has two operators besides that only TorchScript uses.
NAMESPACES = ("aten", "prims", "quantized_decomposed", "onnx", "torchvision")
#: Shapes and dtypes that are tried for the tensors of a call, in order.
TENSORS = [
    ((2, 3), torch.float32), ((3, 3), torch.float32), ((2, 3, 4), torch.float32), ((1, 2, 6, 6), torch.float32), ((3,), torch.float32),
    ((2, 2, 4, 8), torch.float32), ((1, 2, 4, 4, 4), torch.float32), ((), torch.float32), ((2, 3), torch.int64), ((3,), torch.int64),
    ((2, 3), torch.bool), ((4, 4), torch.uint8), ((4, 4), torch.int8), ((2, 3), torch.complex64),
]
#: What is tried for numbers and lists of numbers.
NUMBERS = (1, 0, 2, 3)
#: So many seconds of a processor may a call take. One that waits for nothing ends after the others, whatever else the machine does.
LIMIT, WAITING = 20, 600


def release(version):
    return version.split("+")[0]


def register():
    """Imports what registers the operators of PyTorch itself, where the release has it."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401
    with contextlib.suppress(ImportError):
        import torch.onnx.ops  # noqa: F401


def register_vision():
    """Imports torchvision, if it is there, and returns its version. It may import parts of PyTorch that register more."""
    with contextlib.suppress(ImportError, RuntimeError):
        import torchvision
        return release(torchvision.__version__)
    return None


def native_functions():
    """Returns schemas by full name, from the native_functions.yaml of the package."""
    import torchgen
    path = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    texts = ["aten::" + text for text in re.findall(r"^- func: (.*?)\s*$", path.read_text(encoding="utf-8"), re.MULTILINE)]
    return {text[: text.index("(")]: text for text in texts}


def rendered(schema):
    """Returns the schema as torch prints it, with numbers as in native_functions.yaml."""
    text = re.sub(r"(?<==)(-?\d+)\.(?=[,)])", r"\1.0", str(schema))
    return re.sub(r"(?<==)-?\d*\.\d{15,}(e-?\d+)?|(?<==)-?\d\.\d+e-?\d+", lambda m: repr(float(m[0])), text)


def schemas_of(namespaces):
    """The schemas of all overloads in some namespaces, by namespace and name."""
    native = native_functions() if "aten" in namespaces else {}
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace = schema.name.split("::")[0]
        if namespace not in namespaces or (namespace == "onnx" and not schema.overload_name.startswith("opset")):
            continue
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        found.setdefault(namespace, {})[name] = native.get(name) or rendered(schema)
    return {namespace: [text for _, text in sorted(schemas.items())] for namespace, schemas in found.items()}


def print_schemas():
    register()
    own = schemas_of(set(NAMESPACES) - {"torchvision"})
    torchvision = register_vision()
    print(json.dumps({"torch": release(torch.__version__), "torchvision": torchvision, "schemas": {**own, **schemas_of({"torchvision"})}}))


def overload_of(name):
    namespace, rest = name.split("::")
    operator, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload or "default")


def value_of(kind, tensor, number):
    """A value for an argument that has no default; raises LookupError for a type that has none."""
    kind = str(kind)
    inner = re.fullmatch(r"List\[(.*)\]|(.*)\[(\d*)\]", kind)
    if kind.startswith("Optional["):
        return None
    if inner:
        one = value_of(inner[1] or inner[2], tensor, number)
        return [one] * int(inner[3] or (2 if "Tensor" in kind else 1))
    values = {"Tensor": tensor, "int": number, "SymInt": number, "float": 0.5, "bool": False, "number": number, "Scalar": number,
              "str": "mean", "Device": torch.device("cpu"), "ScalarType": torch.float32, "Layout": torch.strided, "MemoryFormat": torch.contiguous_format}
    if kind not in values:
        raise LookupError(f"no value is known for an argument of type {kind}")
    return values[kind]


def first_call(overload):
    """Arguments by name with which the operator runs."""
    needed = [argument for argument in overload._schema.arguments if not argument.has_default_value()]
    last = None
    for (shape, dtype), number in itertools.product(TENSORS, NUMBERS):
        tensor = torch.ones(shape, dtype=dtype)
        if dtype.is_floating_point:
            tensor = torch.linspace(0.1, 0.9, tensor.numel()).reshape(shape)
        arguments = {argument.name: value_of(argument.type, tensor, number) for argument in needed}
        try:
            with torch.no_grad():
                overload(*positional(overload, arguments), **by_keyword(overload, arguments))
        except Exception as error:  # another call may be right
            last = error
            continue
        return arguments
    raise LookupError(f"no call is known that PyTorch takes; the last one: {line_of(last)}")


def positional(overload, arguments):
    return [arguments[a.name] for a in overload._schema.arguments if a.name in arguments and not a.kwarg_only]


def by_keyword(overload, arguments):
    return {a.name: arguments[a.name] for a in overload._schema.arguments if a.name in arguments and a.kwarg_only}


def line_of(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def shown(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, list) else repr(value)


class Call(torch.nn.Module):
    """A module that calls an operator. Tensors are its inputs, all else is written in it."""

    def __init__(self, overload, arguments):
        super().__init__()
        self.overload, self.arguments = overload, arguments

    def inputs(self):
        found = []
        for value in self.arguments.values():
            found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, torch.Tensor)]
        return tuple(one.clone() for one in found)

    def forward(self, *tensors):
        rest = iter(tensors)

        def filled(value):
            if isinstance(value, list):
                return [filled(one) for one in value]
            return next(rest) if isinstance(value, torch.Tensor) else value
        given = {name: filled(value) for name, value in self.arguments.items()}
        return self.overload(*positional(self.overload, given), **by_keyword(self.overload, given))


def operators_of(exported):
    """The operators of an exported program, each once, in order."""
    names = []
    for node in exported.graph.nodes:
        if node.op == "call_function":
            target = node.target
            names.append(target._schema.name + ("." + target._overloadname if target._overloadname != "default" else "") if hasattr(target, "_schema") else getattr(target, "__name__", str(target)))
    return list(dict.fromkeys(names))


def attempt(work):
    """What work gives, or what is wrong."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return work()
    except Exception as error:
        return {"problem": line_of(error)}


def tried(name):
    """What PyTorch and the recorder make of an overload."""
    overload = overload_of(name)
    answer = {"name": name, "composed": bool(overload._can_decompose())}
    tables = torch._decomp.global_decomposition_table
    answer["tables"] = [kind for kind in ("post_autograd", "pre_autograd", "meta") if overload in tables[kind]]
    answer["core"] = overload in torch._decomp.core_aten_decompositions()
    found = attempt(lambda: {"arguments": first_call(overload)})
    if "problem" in found:
        return {**answer, "problem": found["problem"]}
    arguments = found["arguments"]
    answer["call"] = ", ".join(f"{key}={shown(value)}" for key, value in arguments.items())
    module = Call(overload, arguments).eval()
    program = {}

    def exported():
        program["export"] = torch.export.export(module, module.inputs())
        return {"operators": operators_of(program["export"])}
    answer["exported"] = attempt(exported)
    if "export" in program:
        table = {overload: tables["post_autograd"][overload]} if overload in tables["post_autograd"] else {}
        answer["decomposed"] = attempt(lambda: {"operators": operators_of(program["export"].run_decompositions(table))})
    if importlib.util.find_spec("aten2onnx"):
        answer["recorded"] = attempt(lambda: recorded(module))
    return answer


def recorded(module):
    """What the recorder of aten2onnx makes of it."""
    import aten2onnx

    program = aten2onnx.export(module, module.inputs(), capture="record")
    return {"operators": list(dict.fromkeys(node.op_type for node in program.model_proto.graph.node))}


def print_tries():
    """Answers each name in a process of its own: a call may end it."""
    register()
    register_vision()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    for name in sys.stdin.read().split():
        source, target = os.pipe()
        child = os.fork()
        if child == 0:
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            signal.alarm(WAITING)
            with contextlib.suppress(Exception):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                answer = tried(name)
            except Exception as error:
                answer = {"name": name, "problem": line_of(error)}
            with os.fdopen(target, "w") as out:
                out.write(json.dumps(answer))
            os._exit(0)
        os.close(target)
        with os.fdopen(source) as answers:
            text = answers.read()
        os.waitpid(child, 0)
        print(text or json.dumps({"name": name, "problem": f"the process ended, or took more than {LIMIT} seconds of a processor"}), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"schemas": print_schemas, "try": print_tries}[sys.argv[1]]()
