"""Runs the models that `aten2onnx try` and the example tests build, and compares them with PyTorch or with the native ONNX operator.

    judge.py RECORDS VERDICTS [MODULE ...]

Reads records (JSON lines) from RECORDS and writes a verdict for each to VERDICTS:
    {"id": 3, "failures": [{"opset": 11, "what": "...", "invalid": false}], "accepted": ["equal-elements"], "ran": [9, 13], "engines": {"runtime": 2}}
`engines` counts the models by what ran them: ONNX Runtime, or onnx's reference evaluator where that has no kernel. A record passes if its list of failures is empty; `invalid` says that the model contradicts the schemas. If it is `excused`, differences that differences.toml lists are accepted. The `args` of a record refer to its `inputs` by index; `models` are hexadecimal ModelProtos. Results that are random in PyTorch are compared by their distributions.
Each MODULE is imported first; these define custom operators.
"""
import ctypes
import importlib
import inspect
import json
import multiprocessing
import os
import signal
import sys
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import ml_dtypes
import numpy as np

import distributions
import unique

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_,
    "c64": np.complex64, "c128": np.complex128, "str": np.object_,
}
# Modules whose functions rules name.
PYTHON = ["_operator", "math", "torch"]
# The share of the usual tolerance that is left where both sides compute in float64: the level of rounding, 1e-9.
PRECISE = 1e-3
# The newest opset that ONNX Runtime supports. onnx's reference evaluator runs models of newer opsets.
NEWEST_RUNTIME = 26
# Of <linux/prctl.h>.
PR_SET_PDEATHSIG = 1


def make_input(spec, rng):
    """Creates the array of an example: random, within bounds, or with given values."""
    dtype = NUMPY[spec["dtype"]]
    sizes = spec["sizes"]
    if dtype == np.object_:
        # Strings are texts of integers.
        return make_input({**spec, "dtype": "i64"}, rng).astype(str).astype(np.object_)
    if spec.get("elements") is not None:
        return np.array(spec["elements"], dtype=np.float64).astype(dtype).reshape(sizes)
    kind = np.dtype(dtype).kind
    low, high = spec["range"] or (None, None)
    if kind == "b":
        return rng.integers(0, 2, sizes).astype(np.bool_)
    if kind in "iu":
        low = (-10 if kind == "i" else 0) if low is None else low
        high = 10 if high is None else high
        return rng.integers(int(low), int(high) + 1, sizes).astype(dtype)
    if kind == "c":
        return (rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(dtype)
    values = rng.standard_normal(sizes) if low is None else rng.uniform(low, high, sizes)
    return np.asarray(values).astype(dtype)


def make_inputs(record):
    """The arrays of an example, in whose order a record refers to them. The text of the example determines them."""
    rng = np.random.default_rng(zlib.crc32(record["text"].encode()))
    inputs = [make_input(spec, rng) for spec in record["inputs"]]
    if not record.get("distinct"):
        return inputs
    # Integers may be positions.
    return [distinct(a) if plain(spec) and a.dtype.kind in "fVc" else a for spec, a in zip(record["inputs"], inputs)]


def plain(spec):
    return spec.get("elements") is None and not spec["range"]


def distinct(array):
    """Elements that differ, as far as the dtype has so many numbers that it represents exactly."""
    most = {"float16": 2048, "bfloat16": 256}.get(array.dtype.name, 1 << 24)
    return (np.arange(1, array.size + 1) % most).reshape(array.shape).astype(array.dtype)


def to_torch(array):
    import torch
    if isinstance(array, torch.Tensor):
        return array.clone()
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def spread(tensor):
    """The same tensor with gaps between its elements, and its dimensions in another order in memory."""
    import torch
    turned = tensor.permute(*reversed(range(tensor.dim())))
    return torch.stack([turned, turned], -1)[..., 0].permute(*reversed(range(tensor.dim())))


def to_numpy(tensor):
    import torch
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def python_value(value, inputs, strided=False):
    """Converts an argument for PyTorch."""
    import torch
    (kind, x), = value.items()
    if kind == "tensor":
        return spread(to_torch(inputs[x])) if strided else to_torch(inputs[x])
    if kind == "list":
        return [python_value(v, inputs, strided) for v in x]
    if kind == "dtype":
        return getattr(torch, x)
    if kind == "float":
        return float(x)
    if kind == "name":
        # `cpu` is also a module of torch.
        found = getattr(torch, x, x)
        return x if inspect.ismodule(found) else found
    return x


def run_python(namespace, name, record, inputs):
    """What a function of Python gives, which takes numbers by place."""
    values = [python_value(value, inputs) for _, value in record["args"]]
    function = getattr(importlib.import_module(namespace), name)
    return [np.array(function(*[v.item() if hasattr(v, "item") else v for v in values]))], False


def find_operator(overload):
    """The operator of PyTorch that a rule names."""
    import torch
    namespace, _, rest = overload.partition("::")
    namespace = {"complex": "aten"}.get(namespace, namespace)
    name, _, overload = rest.partition(".")
    if namespace == "torchvision":
        import torchvision  # noqa: F401
    if namespace == "torchao":
        import torchao.quantization  # noqa: F401
    if namespace == "onnx":
        import torch.onnx.ops  # noqa: F401
    if namespace == "transformers":
        import transformers.integrations.moe  # noqa: F401
    if namespace == "torch_nn":
        import torch.nn.modules.linear_cross_entropy  # noqa: F401
    if namespace == "quantized_decomposed":
        from torch.ao.quantization.fx import _decomposed  # noqa: F401
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


def operator_arguments(op, record, inputs):
    """The arguments of a record by name."""
    # A number in place of a Tensor is what torch.export writes for `x + 1`. PyTorch accepts it. A single number in place of a sized
    # list is repeated, as the front end does.
    # What operators on memory do depends on strides.
    strided = record.get("strided") and "stride" not in record["op"]
    lists = {a.name: a.N for a in op._schema.arguments if "List" in str(a.type)}
    args = {}
    for name, value in record["args"]:
        v = python_value(value, inputs, strided)
        if name in lists and isinstance(v, (int, float)) and not isinstance(v, bool):
            v = [v] * (lists[name] or 1)
        args[name] = v
    return args


def called(op, args):
    """The result of an operator. Where it takes no number in place of a tensor, the number is a tensor without dimensions, as in programs."""
    import torch
    try:
        return op(**args)
    except RuntimeError as error:
        if "Expected a value of type 'Tensor'" not in str(error):
            raise
        tensors = {a.name for a in op._schema.arguments if str(a.type) == "Tensor"}
        # A number does not widen a dtype of floats.
        dtype = next((v.dtype for v in args.values() if isinstance(v, torch.Tensor) and v.is_floating_point()), None)
        return op(**{n: torch.tensor(v, dtype=dtype) if n in tensors and isinstance(v, float) else v for n, v in args.items()})


def run_torch(record, inputs):
    """Returns the results of PyTorch, and whether they are random."""
    import torch
    namespace, _, rest = record["op"].partition("::")
    if namespace in PYTHON:
        return run_python(namespace, rest, record, inputs)
    op = find_operator(record["op"])
    args = operator_arguments(op, record, inputs)
    before = torch.get_rng_state()
    try:
        out = called(op, args)
    except (RuntimeError, ValueError):
        # Operators that PyTorch only has on other devices, or for other dtypes.
        import stand_ins
        if record["op"] not in stand_ins.STAND_INS:
            raise
        out = stand_ins.STAND_INS[record["op"]](**args)
    flat = []

    def collect(x):
        if isinstance(x, torch.Tensor):
            flat.append(to_numpy(x))
        elif isinstance(x, (list, tuple)):
            for y in x:
                collect(y)
        elif isinstance(x, (bool, int, float)):
            flat.append(np.array(x))
    collect(out)
    # An operator that may draw numbers need not: attention without dropout, dropout of nothing.
    draws = torch.Tag.nondeterministic_seeded in op.tags and not torch.equal(before, torch.get_rng_state())
    return flat, draws or "empty" in rest.partition(".")[0]


def run_model(model_bytes, opset, inputs):
    """Runs a model whose inputs are named x0, x1, ...; some may be missing. Returns its results, and what ran it."""
    runs, where = runs_of_model(model_bytes, opset, inputs, 1)
    return runs[0], where


def runs_of_model(model_bytes, opset, inputs, times):
    """Runs a model as often as asked. Returns the results of each run, and what ran it."""
    import onnx
    model = onnx.load_from_string(model_bytes)
    names = [i.name for i in model.graph.input]
    feeds = {f"x{i}": a for i, a in enumerate(inputs) if f"x{i}" in names}
    try:
        return runs_fed(model, model_bytes, opset, feeds, times)
    except Exception as error:
        if type(error).__name__ != "RuntimeImplementationError":
            raise
        older = before_last_version(model)
        return runs_fed(older, older.SerializeToString(), older.opset_import[0].version, feeds, times)


def before_last_version(model):
    """The model at the last opset before the newest version of its operator, which nothing runs. Some versions only add types."""
    import onnx
    found = onnx.ModelProto.FromString(model.SerializeToString())
    newest = max(onnx.defs.get_schema(node.op_type, found.opset_import[0].version).since_version for node in found.graph.node)
    found.opset_import[0].version = newest - 1
    return found


def run_fed(model, model_bytes, opset, feeds, optimise=False):
    """Returns the results of a model, and what ran it."""
    runs, where = runs_fed(model, model_bytes, opset, feeds, 1, optimise)
    return runs[0], where


def runs_fed(model, model_bytes, opset, feeds, times, optimise=False):
    """Returns the results of runs of a model, and what ran it. onnx's reference evaluator runs it once: it takes too long."""
    import onnx
    import onnxruntime as ort
    onnx.checker.check_model(model, full_check=True)
    feeds = {k: (np.stack([a.real, a.imag], -1) if np.iscomplexobj(a) else a) for k, a in feeds.items()}
    if opset <= NEWEST_RUNTIME:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        if not optimise:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = ort.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])
            if any(a.dtype == np.object_ for a in feeds.values()):
                return [[with_text(np.asarray(x)) for x in session.run(None, feeds)] for _ in range(times)], "runtime"
            bound = {}
            for k, a in feeds.items():
                if a.dtype == ml_dtypes.bfloat16:
                    bound[k] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
                        np.ascontiguousarray(a).reshape(a.shape).view(np.uint16), onnx.TensorProto.BFLOAT16)
                else:
                    bound[k] = ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(a).reshape(a.shape))
            names = [o.name for o in session.get_outputs()]
            runs = [[from_ort(v) for v in session.run_with_ort_values(names, bound)] for _ in range(times)]
            return runs, "runtime"
        except Exception as error:
            # ONNX Runtime has no kernel for the node, or does not support this version of the operator yet.
            if type(error).__name__ not in ("NotImplemented", "InvalidGraph") and "NOT_IMPLEMENTED" not in str(error):
                raise
    import onnx.reference
    got = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    return [[with_text(np.asarray(g)) for g in got]], "reference"


def with_text(array):
    """Text as Python's objects: a tensor without dimensions has a dtype of its own length otherwise."""
    return array.astype(np.object_) if array.dtype.kind in "US" else array


def from_ort(value):
    import onnx
    if value.element_type() == onnx.TensorProto.BFLOAT16:
        import torch
        shared = torch.utils.dlpack.from_dlpack(value._ortvalue.to_dlpack())
        return shared.view(torch.uint16).numpy().copy().view(ml_dtypes.bfloat16)
    return with_text(value.numpy())


def plain_parts(array):
    """An array without complex numbers, which models do not have either."""
    return np.stack([array.real, array.imag], -1) if np.iscomplexobj(array) else array


def close(want, have, scale=1, exactly=False):
    """Which elements are as wanted, within the tolerance of their dtype times a scale."""
    if exactly:
        return (have == want) | (want != want)
    if want.dtype.kind not in "fV" and want.dtype != ml_dtypes.bfloat16:
        return have == want
    rtol = {2: 1e-2, 4: 1e-4, 8: 1e-6}[want.dtype.itemsize] * scale
    if want.dtype == ml_dtypes.bfloat16:
        rtol = 3e-2 * scale
    w, h = want.astype(np.float64), have.astype(np.float64)
    finite = np.abs(w[np.isfinite(w)])
    # A larger scale is one of rounding, which the largest element determines.
    largest = float(finite.max()) if finite.size else 1.0
    # Neighbours among the smallest numbers of 16 bits are as good as each other.
    least = 2.0 ** -24 if want.dtype == np.float16 else 1e-30 * rtol
    with np.errstate(all="ignore"):
        return np.isclose(h, w, rtol, max(rtol * (largest if scale > 1 else min(1.0, largest)), least), equal_nan=True)


def differs(want, have, random, exactly=False, scale=1):
    """Returns why an output is wrong, or None."""
    want = plain_parts(want)
    if have.dtype != want.dtype:
        return f"dtype {have.dtype}, wanted {want.dtype}"
    if have.shape != want.shape:
        return f"shape {list(have.shape)}, wanted {list(want.shape)}"
    if random or want.size == 0:
        return None
    good = np.asarray(close(want, have, scale, exactly))
    if np.all(good):
        return None
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    return f"{int((~good).sum())} of {want.size} values differ, at {list(at)}: {have[at]}, wanted {want[at]}"


def fault(record, inputs, want, have, random):
    """Returns why results are wrong, or None; and which entry of the table of differences accepts them, or None."""
    what = compared(record["op"], want, have, random, record.get("distinct", False), PRECISE if record.get("precise") else 1)
    if what and record.get("excused"):
        import differences
        entry = differences.excuse(record, inputs, [plain_parts(w) for w in want], have, close, lambda others: plain_results(record, others))
        if entry:
            return None, entry
    return what, None


def plain_results(record, inputs):
    """What the operator gives for other inputs, as models give it."""
    native = record.get("native")
    results = run_model(bytes.fromhex(native["hex"]), native["opset"], inputs)[0] if native else run_torch(record, inputs)[0]
    return [plain_parts(result) for result in results]


def results_of_runs(record, inputs):
    """What PyTorch gives in many runs, or None if there is nothing to compare: memory that nobody wrote, complex numbers, nothing at all."""
    import onnxruntime
    import torch
    if "empty" in record["op"]:
        return None
    # So that the same record has the same verdict.
    torch.manual_seed(0)
    onnxruntime.set_seed(0)
    runs = [run_torch(record, inputs)[0] for _ in range(distributions.RUNS)]
    is_plain = all(x.dtype.kind in "biufV" or x.dtype == ml_dtypes.bfloat16 for x in runs[0])
    return runs if is_plain and any(x.size for x in runs[0]) else None


def judge(line):
    warnings.simplefilter("ignore")
    record = json.loads(line)
    verdict = {"id": record["id"], "failures": [], "accepted": [], "ran": [], "engines": {}}
    try:
        inputs = make_inputs(record)
        if record.get("native"):
            want, _ = run_model(bytes.fromhex(record["native"]["hex"]), record["native"]["opset"], inputs)
            random = False
        else:
            want, random = run_torch(record, inputs)
        drawn = random and results_of_runs(record, inputs)
    except Exception as error:
        verdict["failures"].append({"opset": 0, "what": "no answer to compare with: " + first_line(error)})
        return json.dumps(verdict)
    for model in record["models"]:
        invalid = False
        try:
            runs, where = runs_of_model(bytes.fromhex(model["hex"]), model["opset"], inputs, len(drawn) if drawn else 1)
            verdict["engines"][where] = verdict["engines"].get(where, 0) + 1
            what, entry = fault(record, inputs, want, runs[0], random)
            if drawn and where == "runtime":
                what = what or distributions.difference(drawn, runs)
            if entry:
                verdict["accepted"].append(entry)
        except Exception as error:
            what, invalid = first_line(error), is_of_form(error)
        verdict["ran"].append(model["opset"])
        if what:
            verdict["failures"].append({"opset": model["opset"], "what": what, "invalid": invalid})
    return json.dumps(verdict)


def is_of_form(error):
    """Whether an error says that a model contradicts the schemas, whatever its inputs are: onnx's checker, its shape inference, or a runtime that loads it."""
    return type(error).__module__.startswith("onnx.") or any(mark in str(error) for mark in ("InferenceError", "INVALID_GRAPH", "Type Error"))


def compared(op, want, have, random, exactly=False, scale=1):
    """Returns why the results of an operator are wrong, or None."""
    if len(have) != len(want):
        return f"{len(have)} outputs, wanted {len(want)}"
    several = unique.has(op)
    pairs = [(f"output {i}", w, h, random or several) for i, (w, h) in enumerate(zip(want, have))]
    wrong = first_difference(pairs, exactly, scale)
    if wrong or random or not several:
        return wrong
    # Products of factors are measured by their largest element.
    return first_difference([(*part, False) for part in unique.parts(op, want, have)], scale=8)


def first_difference(pairs, exactly=False, scale=1):
    for name, want, have, random in pairs:
        found = differs(want, have, random, exactly, scale)
        if found:
            return f"{name}: {found}"
    return None


def first_line(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: " + " / ".join(lines[:2])[:400]


def warm_up(modules):
    import onnx.reference  # noqa: F401
    import onnxruntime
    import torch
    if modules:
        sys.path.insert(0, os.getcwd())
    for module in modules:
        importlib.import_module(module)
    onnxruntime.set_default_logger_severity(4)
    torch.set_num_threads(1)


def records_of(source, modules):
    """The lines of a file. Those of the standard input come while this program imports what it needs."""
    if source == "-":
        warm_up(modules)
        return sys.stdin.read().splitlines()
    with open(source) as f:
        return f.read().splitlines()


def pool_of(jobs, modules):
    """Processes that judge. On Linux they are forks, and find imported what this process has; elsewhere libraries of the system do not take that.
    If one crashes, for example in a kernel, this pool raises an error; a `multiprocessing.Pool` would wait forever."""
    if sys.platform != "linux":
        return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), warm_up, (modules,))
    warm_up(modules)
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), end_with, (os.getpid(),))


def end_with(parent):
    """A fork ends with its parent: it holds the pipe from which it reads, and would wait for one that was killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main(source, target, *modules):
    lines = records_of(source, modules)
    # A process needs seconds for its imports, so only many records are worth one.
    jobs = min(len(lines) // 16 + 1, multiprocessing.cpu_count())
    with open(target, "w") as out:
        if jobs < 2:
            warm_up(modules)
            results = map(judge, lines)
            for verdict in results:
                print(verdict, file=out, flush=True)
            return
        done = 0
        with pool_of(jobs, modules) as pool:
            try:
                for verdict in pool.map(judge, lines, chunksize=8):
                    print(verdict, file=out, flush=True)
                    done += 1
            except BrokenProcessPool:
                near = [json.loads(line)["text"] for line in lines[done:done + 8 * jobs]]
                sys.exit("a process crashed on one of these examples:\n" + "\n".join(near))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
