"""Answers questions about calls of PyTorch's operators, for `aten2onnx-codegen verify`.

    oracle.py [MODULE ...]

Reads a line of JSON with a list of questions, writes a line with a list of answers, until the input ends; `null` if a question made the process
crash that answers them.
`{"types": RECORD}` is answered by `{"types": [["float32", [2, 3]], ..], "random": false}`, or by `{"refused": "why"}` where PyTorch refuses the call, with
`"broken": true` where it breaks a relation of relations.toml.
`{"doubt": RECORD}` is answered by `{"doubt": "why"}` if PyTorch contradicts itself about the call, else by `{"doubt": null}`.
`{"relation": RECORD}` is answered by `{"broken": "a relation of relations.toml"}`, or by `{"broken": null}` if the call keeps all.
`{"judge": RECORD}` is answered by the verdict of judge.py. Records are those of judge.py, which lies in the same folder.
"""
import contextlib
import faulthandler
import json
import os
import resource
import signal
import sys
import warnings

import judge
import numpy as np
import relations

# Results with more elements are not compared.
MOST_ELEMENTS = 1_000_000
# Bytes of memory beyond those after the imports.
MOST_MEMORY = 4 << 30
# Seconds of processors for one question of each kind. Whoever needs more counts as crashed. A busy machine takes longer for the same, and must
# not change what is found: the time of the clock only ends what waits for nothing.
MOST_SECONDS = {"relation": 10, "types": 10, "doubt": 20, "judge": 60}
LONGEST = 1800


def types(record):
    try:
        inputs = judge.make_inputs(record)
        need = broken_relation(record, inputs)
        if need:
            return {"refused": f"it breaks the relation `{need}`", "broken": True}
        results, random = run_native(record) if record.get("native") else judge.run_torch(record, inputs)
        of_python = record["op"].partition("::")[0] in judge.PYTHON
        if any(result.dtype == object or of_python and result.dtype == np.uint64 for result in results):
            return {"refused": "a result is an integer beyond 64 bits"}
        if of_python and any(np.iscomplexobj(result) for result in results):
            return {"refused": "torch.export has no complex numbers of Python"}
        if not results:
            return {"refused": "the call has no results"}
        if sum(result.size for result in results) > MOST_ELEMENTS:
            return {"refused": "the results are too large to be compared"}
        return {"types": [[dtype_name(result), list(result.shape)] for result in results], "random": random}
    except Exception as error:
        return {"refused": judge.first_line(error)}


def broken_relation(record, inputs):
    """The relation of its arguments that a call breaks, or None."""
    if not relations.needs_of(record["op"]):
        return None
    namespace, is_torch, _ = record["op"].partition("::")
    if not is_torch or namespace in judge.PYTHON:
        return relations.broken(record["op"], {name: judge.python_value(value, inputs) for name, value in record["args"]})
    op = judge.find_operator(record["op"])
    return relations.broken(record["op"], relations.with_defaults(op, judge.operator_arguments(op, record, inputs)))


def dtype_name(array):
    return "string" if array.dtype.kind in "OUS" else array.dtype.name


def run_native(record):
    """The results of the operator that lowerings stand for, and whether they are random."""
    first, second = (run_reference(record, judge.run_model) for _ in range(2))
    for result, shape in zip(first, inferred_shapes(bytes.fromhex(record["native"]["hex"]))):
        if len(shape) != result.ndim or any(known not in (None, size) for known, size in zip(shape, result.shape)):
            raise ValueError(f"the runtime gives {list(result.shape)}, shape inference {shape}: the inputs contradict the operator")
    return first, any(a.shape != b.shape or a.dtype != object and not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, second))


def inferred_shapes(model):
    """The shapes of the results by onnx's shape inference, with None for sizes that it does not know; none if it knows a rank nowhere."""
    import onnx
    inferred = onnx.load_from_string(model)
    types = [output.type.tensor_type for output in onnx.shape_inference.infer_shapes(inferred).graph.output]
    if not all(ty.HasField("shape") for ty in types):
        return []
    return [[dim.dim_value if dim.HasField("dim_value") else None for dim in ty.shape.dim] for ty in types]


def run_reference(record, run):
    native = record["native"]
    inputs = judge.make_inputs(record)
    results, where = run(bytes.fromhex(native["hex"]), native["opset"], inputs)
    if where == "reference" and any(x.dtype.name == "bfloat16" for x in inputs):
        raise ValueError("the reference evaluator does not keep bfloat16")
    return results


def evaluate(model, opset, inputs):
    """What onnx's reference evaluator gives for a model."""
    import onnx.reference
    evaluator = onnx.reference.ReferenceEvaluator(onnx.load_from_string(model))
    feeds = {name: inputs[int(name[1:])] for name in evaluator.input_names}
    return [np.asarray(x) for x in evaluator.run(None, feeds)], "reference"


def native_doubt(record):
    """Why the results of an ONNX operator are not certain: its reference evaluator contradicts the runtime."""
    want = run_reference(record, judge.run_model)
    try:
        have = run_reference(record, evaluate)
    except Exception as error:
        return {"doubt": f"the reference evaluator refuses it: {judge.first_line(error)}"}
    what = judge.compared(record["op"], want, have, False)
    return {"doubt": f"the reference evaluator gives another result: {what}" if what else None}


def doubt(record):
    """Why a call is not taken as valid although a kernel gives an answer: kernels of the CPU do not check everything."""
    import torch
    import torch._decomp
    inputs = judge.make_inputs(record)
    need = broken_relation(record, inputs)
    if need:
        return {"doubt": f"it breaks the relation `{need}`"}
    if record.get("native"):
        return native_doubt(record)
    if record["op"].partition("::")[0] in judge.PYTHON:
        return {"doubt": None}
    op = judge.find_operator(record["op"])
    args = judge.operator_arguments(op, record, inputs)
    want = flat(op(**args))
    metas = torch.utils._pytree.tree_map(lambda x: x.to("meta") if isinstance(x, torch.Tensor) else x, args)
    decomposed = torch._decomp.decomposition_table.get(op)
    for what, run in [("meta kernel", lambda: op(**metas)), ("decomposition", decomposed and (lambda: decomposed(*by_place(op, args), **by_name(op, args))))]:
        if run is None:
            continue
        try:
            have = flat(run())
        except (NotImplementedError, TypeError):
            # There is no such kernel, or it does not take all arguments.
            continue
        except Exception as error:
            if "meta" in str(error).lower() and what == "meta kernel":
                continue
            return {"doubt": f"PyTorch's {what} refuses it: {judge.first_line(error)}"}
        if have != want and len(have) == len(want):
            return {"doubt": f"PyTorch's {what} gives {have}, its kernel {want}"}
    return {"doubt": other_without_onednn(record)}


def other_without_onednn(record):
    """How PyTorch's results differ without the kernels of oneDNN: some of these are wrong in bfloat16. Random ones say nothing."""
    import torch
    want, is_random = judge.run_torch(record, judge.make_inputs(record))
    with torch.backends.mkldnn.flags(enabled=False):
        have, _ = judge.run_torch(record, judge.make_inputs(record))
    what = None if is_random else judge.compared(record["op"], want, have, False)
    return f"PyTorch without oneDNN gives another result: {what}" if what else None


def by_place(op, args):
    """The arguments before the first that must have a name. Decompositions call them otherwise than the schema."""
    places = [argument for argument in op._schema.arguments if not argument.kwarg_only]
    last = max((i for i, argument in enumerate(places) if argument.name in args), default=-1)
    return [args.get(argument.name, argument.default_value) for argument in places[:last + 1]]


def by_name(op, args):
    return {argument.name: args[argument.name] for argument in op._schema.arguments if argument.kwarg_only and argument.name in args}


def flat(results):
    import torch
    leaves = torch.utils._pytree.tree_leaves(results)
    return [(str(x.dtype), list(x.shape)) for x in leaves if isinstance(x, torch.Tensor)]


def limited(question):
    """The answer to a question. The process ends if it takes too long, also inside of a kernel."""
    kind, = question
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS[kind])
    faulthandler.dump_traceback_later(LONGEST, exit=True, file=open(os.devnull, "w"))
    try:
        return answer(question)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


def answer(question):
    (kind, record), = question.items()
    if kind == "doubt":
        try:
            return doubt(record)
        except Exception:
            return {"doubt": None}
    if kind == "relation":
        try:
            return {"broken": broken_relation(record, judge.make_inputs(record))}
        except Exception as error:
            return {"broken": judge.first_line(error)}
    return types(record) if kind == "types" else json.loads(judge.judge(json.dumps(record)))


def limit_memory():
    with open("/proc/self/statm") as f:
        used = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, resource.RLIM_INFINITY))


def answer_all(source, target):
    """Runs in a process of its own, which a kernel may crash."""
    with contextlib.suppress(OSError, ValueError):
        limit_memory()
    for line in source:
        print(json.dumps([limited(question) for question in json.loads(line)]), file=target, flush=True)


def worker():
    """Starts a process that has done the imports already: its number, and files for questions and answers."""
    (question_out, question_in), (answer_out, answer_in) = os.pipe(), os.pipe()
    number = os.fork()
    if number == 0:
        os.close(question_in)
        os.close(answer_out)
        # What libraries print must not get between the answers.
        os.dup2(2, 1)
        answer_all(os.fdopen(question_out), os.fdopen(answer_in, "w"))
        os._exit(0)
    os.close(question_out)
    os.close(answer_in)
    return number, os.fdopen(question_in, "w"), os.fdopen(answer_out)


def main(*modules):
    warnings.simplefilter("ignore")
    judge.warm_up(modules)
    relations.table()  # an error in it ends the process before it is ready
    print("ready", flush=True)
    number, questions, answers = worker()
    for line in sys.stdin:
        try:
            print(line, end="", file=questions, flush=True)
            answered = answers.readline()
        except BrokenPipeError:
            answered = ""
        if not answered:
            os.waitpid(number, 0)
            number, questions, answers = worker()
        print(answered.rstrip("\n") or "null", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
