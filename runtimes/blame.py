"""Finds the first node of a model that a runtime gets wrong or cannot run: `python runtimes/blame.py tract model.onnx --inputs x.npz`.

ONNX Runtime gives the right value of every node. Each value in turn becomes the only output of the model, with the nodes that it
needs, until one is not right. Its node is then run alone, then with the nodes before it, then with those before them, until the
fault shows. `--save` keeps both models.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime
from harness import environments, verdict
from harness.worker import Stopped, Worker
from onnx import helper
from run import inputs_of

DEEPEST = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime")
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--save", type=Path, help="a folder for the models that show the fault")
    parser.add_argument("--skip", default="", help="operators whose outputs are not looked at: `Shape,Gather`")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--bisect", action="store_true", help="assumes that all values after a wrong one are wrong: for slow runtimes")
    args = parser.parse_args()
    model = onnx.load(args.model)
    inputs = inputs_of(args.model, args.inputs)
    values = all_values(model, inputs)
    try:
        with Worker(environments.find(args.runtime), args.seconds) as worker, tempfile.TemporaryDirectory() as folder:
            found = first_fault(worker, model, inputs, values, args.save or Path(folder), args)
    except (environments.UnknownRuntime, Stopped) as error:
        sys.exit(f"error: {error}")
    sys.exit(1 if found else 0)


def all_values(model, inputs):
    """The outputs of all nodes, by name, in the order of the graph."""
    wanted = onnx.ModelProto.FromString(model.SerializeToString())
    names = [name for node in model.graph.node for name in node.output if name]
    del wanted.graph.output[:]
    wanted.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(wanted.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs)))


def first_fault(worker, model, inputs, values, folder, args):
    """Prints the first node that is not right, and whether it is right alone."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [node for node in model.graph.node if node.op_type not in args.skip.split(",")]

    def is_right(index):
        return run(worker, upto(model, nodes[index], inputs), inputs, values, nodes[index], folder / "upto.onnx")[0] == "right"

    index = first_of(len(nodes), is_right, args.bisect)
    if index == len(nodes):
        print(f"all {len(nodes)} nodes are right")
        return False
    node = nodes[index]
    print(f"node {index}: {node.op_type} `{node.name}`", *run(worker, upto(model, node, inputs), inputs, values, node, folder / "upto.onnx"))
    show_smallest(worker, model, node, {**inputs, **values}, values, folder / "smallest.onnx")
    return True


def show_smallest(worker, model, node, known, values, path):
    """Prints the smallest part of the model around a node that is not right."""
    names = set(node.output)
    for depth in range(DEEPEST):
        part = [there for there in model.graph.node if names & set(there.output)]
        found, reason = run(worker, *fragment(model, part, node, known), values, node, path)
        if found != "right":
            break
        names |= {name for there in part for name in there.input}
    print(f"with {depth} levels before it:" if depth else "alone:", found, reason)
    for there in part:
        inputs = [f"{name} {known[name].dtype}{list(known[name].shape)}" for name in there.input if name in known]
        print(f"  {there.op_type} {', '.join(inputs)}")


def first_of(count, is_right, is_monotone):
    """The first index that is not right."""
    if not is_monotone:
        return next((index for index in range(count) if not is_right(index)), count)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_right(middle) else (low, middle)
    return low


def run(worker, model, inputs, values, node, path):
    onnx.save(model, path)
    used = {value.name for value in model.graph.input}
    result = worker.run(path, {name: value for name, value in inputs.items() if name in used})
    if result.verdict != "ran":
        return result.verdict, result.reason
    return verdict.compare(result.outputs, [values[output.name] for output in model.graph.output], computes=worker.runtime.computes)


def upto(model, node, inputs):
    """The model with the outputs of a node, and what it needs."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    needed, kept = set(node.output), []
    for there in reversed(made.graph.node):
        if needed & set(there.output):
            needed |= set(there.input) | captured(there)
            kept.append(onnx.NodeProto.FromString(there.SerializeToString()))
    del made.graph.node[:]
    made.graph.node.extend(reversed(kept))
    keep(made.graph.initializer, needed)
    keep(made.graph.input, needed)
    set_outputs(made, model, node)
    return made


def captured(node):
    """The names that the graphs of a node take from outside."""
    found = set()
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else []:
            for inner in graph.node:
                found |= set(inner.input) | captured(inner)
            found |= {output.name for output in graph.output}
    return found


def fragment(model, nodes, last, known):
    """Some nodes, and the values of their inputs. Constants stay constants."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    needed = {name for node in nodes for name in [*node.input, *captured(node)]} - {name for node in nodes for name in node.output}
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    keep(made.graph.initializer, needed)
    given = {tensor.name for tensor in made.graph.initializer}
    inputs = {name: known[name] for name in sorted(needed) if name in known and name not in given}
    types = {value.name: value for value in [*model.graph.value_info, *model.graph.input]}
    del made.graph.input[:]
    for name, value in inputs.items():
        made.graph.input.append(types.get(name) or helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    set_outputs(made, model, last)
    return made, inputs


def keep(values, names):
    kept = [value for value in values if value.name in names]
    del values[:]
    values.extend(kept)


def set_outputs(made, model, node):
    """Makes the outputs of a node those of the model, with the types that the model states."""
    types = {value.name: value for value in [*model.graph.value_info, *model.graph.output]}
    del made.graph.value_info[:]
    del made.graph.output[:]
    made.graph.output.extend(types.get(name, onnx.ValueInfoProto(name=name)) for name in node.output if name)


if __name__ == "__main__":
    main()
