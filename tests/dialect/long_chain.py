"""Shows how export time and memory grow with the number of nodes. Chains of views and in-place operators, written without torch.

    long_chain.py PATH-OF-aten2onnx [NODES ...]
"""
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

F32, STRIDED = 7, 7


def tensor(name):
    return {"as_tensor": {"name": name}}


def meta(sizes):
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    number = lambda n: {"as_int": n}
    return {"dtype": F32, "sizes": [number(s) for s in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [number(s) for s in strides], "storage_offset": number(0), "layout": STRIDED}


def program(nodes, step):
    """Builds a program. `step(i, value)` returns nodes as (result, target, arguments, sizes), and the value that the next ones read."""
    graph = {"inputs": [tensor("x")], "outputs": [], "nodes": [], "tensor_values": {"x": meta([4, 6])}, "sym_int_values": {},
             "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}

    def add(result, target, args, sizes):
        inputs = [{"name": k, "arg": v, "kind": 1} for k, v in args.items()]
        graph["nodes"].append({"target": f"torch.ops.aten.{target}", "inputs": inputs, "outputs": [tensor(result)], "metadata": {}, "is_hop_single_tensor_return": None, "name": result})
        graph["tensor_values"][result] = meta(sizes)
    add("start", "clone.default", {"self": tensor("x")}, [4, 6])
    value, i = "start", 0
    while len(graph["nodes"]) < nodes:
        value = step(add, i, value)
        i += 1
    graph["outputs"] = [tensor(value), tensor("start")]
    signature = {"input_specs": [{"user_input": {"arg": tensor("x")}}], "output_specs": [{"user_output": {"arg": o}} for o in graph["outputs"]]}
    module = {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}}
    return {"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.13.0"}


def deep(add, i, value):
    """Takes a view of the previous view, and writes to it."""
    flat = i % 2 == 0
    sizes = [24] if flat else [4, 6]
    add(f"v{i}", "view.default", {"self": tensor(value), "size": {"as_ints": sizes}}, sizes)
    add(f"w{i}", "add_.Tensor", {"self": tensor(f"v{i}"), "other": {"as_float": 0.5}}, sizes)
    return f"v{i}"


def wide(add, i, value):
    """Writes to the rows of a tensor in turn, and reads the whole tensor."""
    add(f"r{i}", "select.int", {"self": tensor(value), "dim": {"as_int": 0}, "index": {"as_int": i % 4}}, [6])
    add(f"w{i}", "relu_.default", {"self": tensor(f"r{i}")}, [6])
    if i % 8 == 7:
        add(f"s{i}", "sin.default", {"self": tensor(value)}, [4, 6])
        add(f"c{i}", "copy_.default", {"self": tensor(value), "src": tensor(f"s{i}")}, [4, 6])
    return value


def main(binary, *sizes):
    sizes = [int(s) for s in sizes] or [50_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        for step in (deep, wide):
            for nodes in sizes:
                path = Path(folder) / "chain.pt2"
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("chain/archive_format", "pt2")
                    archive.writestr("chain/models/model.json", json.dumps(program(nodes, step)))
                start = time.perf_counter()
                subprocess.run([binary, "export", str(path), "-o", str(path.with_suffix(".onnx")), "--quiet"], check=True)
                seconds = time.perf_counter() - start
                peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                print(f"{step.__name__} {nodes}: {seconds:.2f} s, peak memory so far {peak:.0f} MB, {path.stat().st_size / 1e6:.0f} MB of JSON", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
