"""Tests `aten2onnx extract` and `split`: parts that run one after the other give what the whole model gives, bit by bit.

    parts.py PATH-OF-aten2onnx [check_NAME ..]
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from harness import BINARY, ROOT, SCRATCH, checked, command, identical, main, model, names, run, same, saved, session, value

RNG = np.random.default_rng(0)


def everything():
    """A model with bodies that read outer values, a function that calls another, constants, and a weight that two nodes read."""
    then = h.make_graph([h.make_node("Mul", ["y", "two"], ["t"], "twice")], "then", [], [value("t", shape=None)])
    other = h.make_graph([h.make_node("Sub", ["y", "a"], ["e"], "less")], "else", [], [value("e", shape=None)])
    body = h.make_graph(
        [h.make_node("Identity", ["c"], ["c2"]), h.make_node("Add", ["s", "branch"], ["s2"]), h.make_node("ReduceSum", ["s2", "zero"], ["sum"], keepdims=0)],
        "body", [value("i", T.INT64, ()), value("c", T.BOOL, ()), value("s")], [value("c2", T.BOOL, ()), value("s2"), value("sum", shape=(3,))])
    inner = h.make_function("mine", "Inner", ["a"], ["b"], [h.make_node("Neg", ["a"], ["b"])], [h.make_opsetid("", 18)])
    scale = h.make_function("mine", "Scale", ["a"], ["b"], [h.make_node("Inner", ["a"], ["k"], domain="mine"), h.make_node("Mul", ["a", "k"], ["b"])], [h.make_opsetid("", 18), h.make_opsetid("mine", 1)])
    unused = h.make_function("mine", "Unused", ["a"], ["b"], [h.make_node("Abs", ["a"], ["b"])], [h.make_opsetid("", 18)])
    nodes = [
        h.make_node("Add", ["x", "w"], ["a"], "net.first/Add"),
        h.make_node("Scale", ["a"], ["b"], "net.first/call", domain="mine"),
        h.make_node("Add", ["b", "w"], ["y"], "net.second/Add"),
        h.make_node("Constant", [], ["zero"], value=nh.from_array(np.array([0], np.int64))),
        h.make_node("ReduceMax", ["y"], ["top"], "net.second/top", keepdims=0),
        h.make_node("Greater", ["top", "one"], ["large"], "net.second/compare"),
        h.make_node("If", ["large"], ["branch"], "net.choose/If", then_branch=then, else_branch=other),
        h.make_node("Loop", ["three", "", "x"], ["looped", "sums"], "net.repeat/Loop", body=body),
        h.make_node("Exp", ["x"], ["dead"], "net.dead/Exp"),
        h.make_node("Mul", ["looped", "w"], ["z"], "net.last/Mul"),
    ]
    weights = [nh.from_array(np.array([1, 2, 3], np.float32), "w"), nh.from_array(np.float32(1), "one"), nh.from_array(np.float32(2), "two"), nh.from_array(np.int64(3), "three"), nh.from_array(np.ones(5, np.float32), "unread")]
    made = model(nodes, [value("x")], [value("z"), value("sums", shape=(3, 3))], weights, functions=[inner, scale, unused], domains=[("mine", 1)], doc_string="all of it")
    h.set_model_props(made, {"author": "somebody"})
    return made


def feeds_of(path):
    """Random inputs of a model, with every symbolic size 2, or as the files of tests/data/convert have them."""
    stored = pathlib.Path(path).with_suffix(".npz")
    if stored.exists():
        found = np.load(stored)
        opened = session(path)
        return {node.name: found["x"] for node in opened.get_inputs()}
    feeds = {}
    for node in session(path).get_inputs():
        shape = [2 if not isinstance(size, int) else size for size in node.shape]
        kind = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": bool}[node.type]
        feeds[node.name] = (RNG.standard_normal(shape) if kind is np.float32 else np.ones(shape)).astype(kind)
    return feeds


def chained(first, second, feeds):
    """Two parts, the second of which may also need inputs of the model."""
    given = run(first, feeds)
    return {**given, **run(second, {**feeds, **given})}


def check_every_value_of_a_model():
    path = saved(everything())
    feeds = {"x": RNG.standard_normal((2, 3)).astype(np.float32)}
    whole = run(path, feeds)
    tried = 0
    for cut in ("a", "b", "y", "top", "large", "branch", "looped"):
        command("extract", path, "--to", cut, "-o", SCRATCH / "1.onnx")
        command("extract", path, "--from", cut, "-o", SCRATCH / "2.onnx")
        first, second = checked(SCRATCH / "1.onnx"), checked(SCRATCH / "2.onnx")
        assert names(first.graph.output) == [cut] and cut in names(second.graph.input), cut
        assert first.graph.doc_string == "all of it" and second.metadata_props[0].value == "somebody"
        assert not any(function.name == "Unused" for function in [*first.functions, *second.functions])
        assert "unread" not in names(first.graph.initializer) and "dead" not in [o for n in first.graph.node for o in n.output]
        # The second part gives those of the outputs that depend on the cut; what else it needs comes from a third.
        needed = [name for name in names(second.graph.input) if name not in (cut, "x")]
        given = {}
        if needed:
            command("extract", path, "--to", ",".join(needed), "-o", SCRATCH / "3.onnx")
            given = run(SCRATCH / "3.onnx", feeds)
        found = chained(SCRATCH / "1.onnx", SCRATCH / "2.onnx", {**feeds, **given})
        given = [name for name in whole if name in found]
        assert given and (len(given) == len(whole)) == (cut not in ("looped",)), (cut, given)
        same({name: found[name] for name in given}, {name: whole[name] for name in given})
        tried += 1
    assert tried == 7
    first = checked(SCRATCH / "1.onnx")
    assert {function.name for function in first.functions} == {"Inner", "Scale"}, "what is called by way of others"


def check_modules_of_models():
    """Every module boundary of models that torch.onnx and aten2onnx exported."""
    for name in ("resnet", "vit", "gpt2"):
        path = ROOT / f"tests/data/convert/{name}.onnx"
        feeds = feeds_of(path)
        whole = run(path, feeds)
        loaded = onnx.load(path)
        out = SCRATCH / name
        modules = sorted({node.name.rsplit("/", 1)[0] for node in loaded.graph.node if "/" in node.name and node.name.rsplit("/", 1)[0]})
        if not modules:
            modules = [node.name for node in loaded.graph.node if node.op_type != "Constant"][:: max(1, len(loaded.graph.node) // 12)]
        step = max(1, len(modules) // 12)
        for module in modules[::step]:
            command("split", path, "--at", module, "-o", out)
            same(pipeline(out / f"{name}.json", feeds), whole)
        command("split", path, "--nodes", "7", "-o", out)
        assert len(json.loads((out / f"{name}.json").read_text())["parts"]) > 3
        same(pipeline(out / f"{name}.json", feeds), whole)


def pipeline(path, feeds):
    """What parts give, with the wiring as it is written."""
    wiring = json.loads(path.read_text())
    values = dict(feeds)
    for part in wiring["parts"]:
        file = path.parent / part["file"]
        loaded = checked(file)
        assert names(loaded.graph.input) == part["inputs"] and names(loaded.graph.output) == part["outputs"], part
        assert all(value.type.WhichOneof("value") for value in [*loaded.graph.input, *loaded.graph.output])
        opened = session(file)
        values.update(zip(part["outputs"], opened.run(part["outputs"], {name: values[name] for name in part["inputs"]})))
    for wire in wiring["wires"]:
        senders = [part for part in wiring["parts"] if part["file"] == wire["from"]]
        readers = [part["file"] for part in wiring["parts"] if wire["value"] in part["inputs"]]
        assert wire["value"] in senders[0]["outputs"] and readers == wire["to"], wire
    return {name: values[name] for name in wiring["outputs"]}


def check_ways_to_split():
    path = saved(everything())
    feeds = {"x": RNG.standard_normal((2, 3)).astype(np.float32)}
    whole = run(path, feeds)
    out = SCRATCH / "ways"
    for ways, count in [(("--nodes", 1), 8), (("--nodes", 3), 3), (("--parts", 2), 2), (("--parts", 8), 8), (("--at", "net.second,net.repeat,z"), 4), (("--bytes", "1kB"), 1)]:
        command("split", path, *ways, "-o", out)
        assert len(json.loads((out / "in.json").read_text())["parts"]) == count, ways
        same(pipeline(out / "in.json", feeds), whole)


def check_bytes():
    nodes = [h.make_node("MatMul", [f"v{i}", f"w{i % 4}"], [f"v{i + 1}"], f"m{i}") for i in range(8)]
    weights = [nh.from_array(RNG.standard_normal((64, 64)).astype(np.float32), f"w{i}") for i in range(4)]
    path = saved(model(nodes, [value("v0", shape=("n", 64))], [value("v8", shape=("n", 64))], weights))
    feeds = {"v0": np.ones((1, 64), np.float32)}
    out = SCRATCH / "bytes"
    for limit, count in [(16384, 8), (32768, 4), (65536, 1), ("64KiB", 1)]:
        command("split", path, "--bytes", limit, "-o", out)
        wiring = json.loads((out / "in.json").read_text())
        assert len(wiring["parts"]) == count, (limit, len(wiring["parts"]))
        same(pipeline(out / "in.json", feeds), run(path, feeds))
    message = command("split", path, "--bytes", 16383, "-o", out, fails=5)
    assert "16384 bytes" in message and "m0" in message, message
    assert not (out / "in.json").exists() or json.loads((out / "in.json").read_text())


def check_values_that_are_no_tensors():
    nodes = [h.make_node("SequenceConstruct", ["x", "x"], ["s"]), h.make_node("SequenceInsert", ["s", "x"], ["s2"]), h.make_node("Optional", ["x"], ["o"]), h.make_node("OptionalGetElement", ["o"], ["g"]), h.make_node("ConcatFromSequence", ["s2"], ["c"], axis=0), h.make_node("Add", ["c", "one"], ["d"]), h.make_node("Add", ["g", "one"], ["e"])]
    path = saved(model(nodes, [value("x")], [value("d"), value("e")], [nh.from_array(np.float32(1), "one")]))
    feeds = {"x": RNG.standard_normal((2, 3)).astype(np.float32)}
    command("split", path, "--at", "s2,g,c", "-o", SCRATCH / "values")
    same(pipeline(SCRATCH / "values/in.json", feeds), run(path, feeds))
    command("extract", path, "--from", "s", "--to", "d", "-o", SCRATCH / "sequence.onnx")
    part = checked(SCRATCH / "sequence.onnx")
    assert part.graph.input[0].type.sequence_type.elem_type.tensor_type.shape.dim[1].dim_value == 3, part.graph.input


def check_dtypes_of_weights():
    """Weights of 4 bits and of 8-bit floats, inside and beside the model."""
    packed = h.make_tensor("q", T.INT4, [64, 64], bytes(RNG.integers(0, 256, 2048, np.uint8)), raw=True)
    eight = nh.from_array(RNG.standard_normal((64, 64)).astype(ml_dtypes.float8_e4m3fn), "f8")
    scale = nh.from_array(np.float32(0.1), "scale")
    nodes = [h.make_node("DequantizeLinear", ["q", "scale"], ["w"]), h.make_node("DequantizeLinear", ["f8", "scale"], ["v"]), h.make_node("MatMul", ["x", "w"], ["h"]), h.make_node("MatMul", ["h", "v"], ["y"])]
    made = model(nodes, [value("x", shape=("n", 64))], [value("y", shape=("n", 64))], [packed, eight, scale], opset=21, ir=10)
    feeds = {"x": np.ones((1, 64), np.float32)}
    path = saved(made)
    whole = run(path, feeds)
    onnx.save(made, SCRATCH / "beside.onnx", save_as_external_data=True, location="beside.bin", size_threshold=0)
    for source in (path, SCRATCH / "beside.onnx"):
        for place in ("auto", "always", "never", "link"):
            command("split", source, "--at", "h", "-o", SCRATCH, "--external-data", place)
            same(pipeline(SCRATCH / f"{source.stem}.json", feeds), whole)
            stored = {t.name: t for t in checked(SCRATCH / f"{source.stem}-1.onnx").graph.initializer}
            beside = place in ("always", "link") or place == "auto" and source.stem == "beside"
            assert (stored["q"].data_location == T.EXTERNAL) == beside, (source.stem, place)
            if place == "link":
                assert stored["q"].external_data[0].value == ("beside.bin" if source.stem == "beside" else "in.onnx")


def check_start_and_end():
    path = saved(everything())
    out = SCRATCH / "part.onnx"
    # Nodes and modules are inside of the part.
    command("extract", path, "--from", "net.second", "--to", "net.second", "-o", out)
    assert [n.op_type for n in checked(out).graph.node] == ["Add", "ReduceMax", "Greater"]
    assert names(checked(out).graph.input) == ["b"] and names(checked(out).graph.output) == ["y", "large"]
    command("extract", path, "--from", "node:net.second/top", "--to", "value:large", "-o", out)
    assert names(checked(out).graph.input) == ["y"]
    # A body reads what is outside: it becomes an input, which is told.
    said = command("extract", path, "--from", "net.choose", "--to", "net.choose", "-o", out)
    assert names(checked(out).graph.input) == ["large", "y", "a"], names(checked(out).graph.input)
    said = command("extract", path, "--from", "large", "--to", "branch", "-o", out)
    assert "also needs `y`, `a`" in said, said
    # A weight at the start is an input of the part.
    command("extract", path, "--from", "w,looped", "--to", "z", "-o", out)
    assert names(checked(out).graph.input) == ["w", "looped"] and not checked(out).graph.initializer
    dims = checked(out).graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [3], dims
    # Sizes are symbolic where they are in the model.
    command("extract", path, "--from", "a", "--to", "y", "-o", out)
    dims = checked(out).graph.input[0].type.tensor_type.shape.dim
    assert dims[0].dim_param == "n" and dims[1].dim_value == 3, dims


def check_order_does_not_matter():
    made = everything()
    shuffled = onnx.ModelProto.FromString(made.SerializeToString())
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(reversed(made.graph.node))
    for way in ("extract", "split"):
        path, other = saved(made, "a/m.onnx"), saved(shuffled, "b/m.onnx")
        if way == "split":
            for one in (path, other):
                command("split", one, "--parts", 3, "-o", one.parent)
            assert [len(p["inputs"]) for p in json.loads((path.parent / "m.json").read_text())["parts"]]
        else:
            for one in (path, other):
                command("extract", one, "--from", "a", "--to", "branch", "-o", one.parent / "out.onnx")
            first, second = (onnx.load(one.parent / "out.onnx") for one in (path, other))
            assert sorted(n.name for n in first.graph.node) == sorted(n.name for n in second.graph.node)


def check_a_model_of_8_gigabytes():
    """Zeros in a sparse file: nothing is read, and parts are linked."""
    folder = SCRATCH / "large"
    folder.mkdir()
    with (folder / "w.bin").open("wb") as file:
        file.truncate(8 << 30)

    def tensor(number):
        made = onnx.TensorProto(name=f"w{number}", dims=[16384, 16384], data_type=T.FLOAT, data_location=T.EXTERNAL)
        for key, text in (("location", "w.bin"), ("offset", str(number << 30)), ("length", str(1 << 30))):
            made.external_data.add(key=key, value=text)
        return made

    nodes = [h.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(8)]
    made = model(nodes, [value("v0", shape=("n", 16384))], [value("v8", shape=("n", 16384))])
    made.graph.initializer.extend(tensor(number) for number in range(8))
    path = saved(made, "large/m.onnx")
    # A process of its own: this one may be a fork of a large one, whose memory would be counted.
    measure = "import os, subprocess, sys, time; start = time.monotonic(); child = subprocess.Popen(sys.argv[1:]); _, status, used = os.wait4(child.pid, 0); print(status, time.monotonic() - start, used.ru_maxrss)"
    command_line = [BINARY, "split", path, "--parts", "4", "-o", folder, "--external-data", "link", "--quiet"]
    measured = subprocess.run([sys.executable, "-S", "-c", measure, *map(str, command_line)], capture_output=True, text=True, check=True).stdout.split()
    status, took, mega = int(measured[0]), float(measured[1]), int(measured[2]) / 1024
    assert status == 0
    assert took < 2 and mega < 100, (took, mega)
    wiring = json.loads((folder / "m.json").read_text())
    assert [part["weights"] for part in wiring["parts"]] == [2 << 30] * 4, wiring
    stored = onnx.load(folder / "m-4.onnx", load_external_data=False).graph.initializer
    assert {e.key: e.value for e in stored[1].external_data} == {"location": "w.bin", "offset": str(7 << 30), "length": str(1 << 30)}
    assert sum(file.stat().st_blocks for file in folder.iterdir()) < 1000, "nothing is copied"


def check_misuse():
    path = saved(everything())
    out = SCRATCH / "never.onnx"

    def fails(*arguments, code=5, source=path):
        message = command("extract", source, *arguments, "-o", out, fails=code)
        assert not out.exists(), "a failure left a file behind"
        return message

    assert "no value, node or module `brunch`" in (message := fails("--to", "brunch")) and "did you mean `branch`" in message, message
    assert "inside of a body" in (message := fails("--to", "twice")) and "net.choose/If" in message, message
    assert "begin and end at `y`" in fails("--from", "y", "--to", "y")
    assert "does not depend on the start" in fails("--from", "looped", "--to", "branch")
    assert "does not depend on `looped`" in fails("--from", "a,looped", "--to", "y")
    assert "is a weight" in fails("--to", "w") and "is an input" in fails("--to", "x")
    assert "nothing reads" in fails("--to", "net.dead")
    assert "is not a tensor" in fails("--to", "y", "--type", "y:[f32[1]]")
    command("extract", path, "-o", out, fails=2)
    assert "not an ONNX model" in fails("--to", "y", source=ROOT / "README.md", code=4)
    unknown = model([h.make_node("Mystery", ["x"], ["m"], domain="their"), h.make_node("Mystery", ["m"], ["y"], domain="their")], [value("x")], [value("y")], domains=[("their", 1)])
    other = saved(unknown, "unknown.onnx")
    message = fails("--to", "m", source=other)
    assert "its type is not declared" in message and "--type m:f32" in message, message
    command("extract", other, "--to", "m", "--type", "m:f16[batch,3]", "-o", out)
    ty = onnx.load(out).graph.output[0].type.tensor_type
    assert ty.elem_type == T.FLOAT16 and ty.shape.dim[0].dim_param == "batch"
    out.unlink()
    broken = everything()
    broken.graph.node[2].input[0] = "gone"
    assert "`gone` is read, but nothing computes it" in fails("--to", "y", source=saved(broken, "broken.onnx"), code=4)
    cyclic = everything()
    cyclic.graph.node[0].input[0] = "y"
    assert "waits for its own result" in fails("--to", "y", source=saved(cyclic, "cyclic.onnx"), code=4)
    twice = everything()
    twice.graph.node[2].output[0] = "a"
    assert "`a` is defined twice" in fails("--to", "b", source=saved(twice, "twice.onnx"), code=4)


def check_names_with_commas():
    nodes = [h.make_node("Neg", ["x"], ["a,b"], "first,node"), h.make_node("Abs", ["a,b"], ["c"]), h.make_node("Exp", ["c"], ["y,"])]
    path = saved(model(nodes, [value("x")], [value("y,")]))
    feeds = {"x": RNG.standard_normal((2, 3)).astype(np.float32)}
    command("extract", path, "--from", r"a\,b", "--to", r"y\,", "-o", SCRATCH / "part.onnx")
    part = checked(SCRATCH / "part.onnx")
    assert names(part.graph.input) == ["a,b"] and names(part.graph.output) == ["y,"]
    command("extract", path, "--to", r"first\,node,c", "-o", SCRATCH / "part.onnx")
    assert names(checked(SCRATCH / "part.onnx").graph.output) == ["a,b", "c"]
    command("extract", path, "--to", r"a\,b", "--to", "c", "-o", SCRATCH / "repeated.onnx")
    assert (SCRATCH / "repeated.onnx").read_bytes() == (SCRATCH / "part.onnx").read_bytes()
    for ways in (["--at", r"c,y\,"], ["--at", "c", "--at", r"y\,"]):
        command("split", path, *ways, "-o", SCRATCH / "commas")
        assert [part["inputs"] for part in json.loads((SCRATCH / "commas/in.json").read_text())["parts"]] == [["x"], ["a,b"], ["c"]]
        same(pipeline(SCRATCH / "commas/in.json", feeds), run(path, feeds))
    for wrong in ("a,", ",a", "", "a,,b"):
        assert "a name is missing" in command("split", path, "--at", wrong, "-o", SCRATCH / "commas", fails=2)


def check_a_split_that_fails_changes_nothing():
    path, folder = saved(everything()), SCRATCH / "kept"
    command("split", path, "--parts", 2, "-o", folder, "--external-data", "always")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert len(before) >= 3
    # The last part cannot be written.
    (folder / "in-4.onnx").mkdir()
    message = command("split", path, "--parts", 4, "-o", folder, fails=3)
    assert "in-4.onnx` is" in message or "in-4.onnx`: is a folder" in message, message
    (folder / "in-4.onnx").rmdir()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    same(pipeline(folder / "in.json", {"x": np.ones((2, 3), np.float32)}), run(path, {"x": np.ones((2, 3), np.float32)}))
    # A part may not replace the file that it is read from.
    own = saved(everything(), "own/in-2.onnx")
    text = own.read_bytes()
    other = SCRATCH / "own/in.onnx"
    other.write_bytes(text)
    command("split", other, "--parts", 2, "-o", SCRATCH / "own")
    assert len(onnx.load(own).graph.node) < 10, "another file of that name is replaced"
    message = command("split", own, "--at", "net.last", "-o", SCRATCH / "missing/folder", fails=3)
    assert not (SCRATCH / "missing").exists(), message


def check_many_parts():
    """More parts than a process may have open files."""
    nodes = [h.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(300)]
    path = saved(model(nodes, [value("v0")], [value("v300")]))
    said = subprocess.run(["bash", "-c", 'ulimit -n 64; exec "$@"', "-", str(BINARY), "split", str(path), "--nodes", "1", "-o", str(SCRATCH / "many"), "-q"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert len(list((SCRATCH / "many").iterdir())) == 301


def check_a_file_that_is_missing():
    """Each command says what is there in its place."""
    there, folder = saved(everything(), "there/in.onnx"), SCRATCH / "there"
    out = SCRATCH / "there/out.onnx"
    missing = folder / "im.onnx"
    for arguments in [
        ("extract", missing, "--to", "y", "-o", out),
        ("split", missing, "--parts", 2, "-o", folder / "parts"),
        ("edit", missing, "-o", out),
        ("join", there, missing, "-o", out),
        ("join", missing, there, "-o", out),
        ("diff", there, missing),
        ("diff", missing, there),
        ("convert", missing, "-o", out),
        ("pack", missing, "-o", out),
        ("inspect", missing),
        ("export", missing, "-o", out),
        ("ops", "--of", missing),
    ]:
        message = command(*arguments, fails=3)
        assert "im.onnx" in message and f"help: `{folder}` has `in.onnx`" in message, (arguments, message)
        assert [file.name for file in folder.iterdir()] == ["in.onnx"], arguments
    assert f"help: the folder `{folder / 'no'}` does not exist" in command("edit", folder / "no/in.onnx", "-o", out, fails=3)
    assert "help: this folder has `in.onnx`" in command("edit", "im.onnx", "-o", "out.onnx", fails=3, cwd=folder)
    assert f"help: `{folder}` has no file that ends in `.onx`" in command("edit", folder / "in.onx", "-o", out, fails=3)


def check_targets():
    """What a runtime does not run is in parts of its own, which say why; the others can be converted to it."""
    path = saved(everything())
    feeds = {"x": RNG.standard_normal((2, 3)).astype(np.float32)}
    folder = SCRATCH / "targets"
    kinds = {}
    for target in ("onnxruntime", "tract", "tensorrt-8.5", "onnxruntime-web"):
        said = command("split", path, "--target", target, "-o", folder)
        wiring = json.loads((folder / "in.json").read_text())
        assert wiring["target"].startswith(target)
        kinds[target] = [part["runs_on_target"] for part in wiring["parts"]]
        for part in wiring["parts"]:
            code = 0 if part["runs_on_target"] else 5
            assert ("reasons" in part) != part["runs_on_target"] and (f"{part['file']} is not for" in said) != part["runs_on_target"], (part, said)
            command("convert", folder / part["file"], "-o", SCRATCH / "converted.onnx", "--target", target, "--opset", 17, fails=code)
        for name, one in pipeline(folder / "in.json", feeds).items():
            assert np.allclose(one, run(path, feeds)[name], rtol=1e-6), (target, name)
    assert kinds["onnxruntime"] == [True], kinds
    # The order of nodes does not matter; what depends on no input, but is not for the runtime, is in a part of its own.
    count = h.make_node("TfIdfVectorizer", ["i"], ["counts"], "count", mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1, 2], pool_int64s=[2, 4, 6])
    nodes = [h.make_node("Mul", ["scaled", "a"], ["y"], "last"), h.make_node("Mul", ["counts", "two"], ["scaled"], "scale"), count, h.make_node("Neg", ["x"], ["a"], "first"), h.make_node("Add", ["two", "two"], ["four"], "four"), h.make_node("Mul", ["a", "four"], ["z"], "other")]
    constant = model(nodes, [value("x")], [value("y"), value("z")], [nh.from_array(np.array([2, 2, 4], np.int64), "i"), nh.from_array(np.float32(2), "two")])
    path = saved(constant)
    command("split", path, "--target", "tract", "-o", folder)
    parts = json.loads((folder / "in.json").read_text())["parts"]
    assert [part["runs_on_target"] for part in parts] == [False, True], parts
    assert parts[0]["reasons"][0].startswith("node `count` (TfIdfVectorizer): ") and [node.name for node in onnx.load(folder / "in-1.onnx").graph.node] == ["count"]
    ordered = onnx.ModelProto.FromString(constant.SerializeToString())
    del ordered.graph.node[:]
    ordered.graph.node.extend([nodes[i] for i in (2, 1, 3, 0, 4, 5)])
    same(pipeline(folder / "in.json", feeds), run(saved(ordered, "ordered.onnx"), feeds))
    # An operator of another domain is known to be of a runtime, or it is not.
    foreign = model([h.make_node("Neg", ["x"], ["a"]), h.make_node("Gelu", ["a"], ["b"], "gelu", domain="com.microsoft"), h.make_node("Mine", ["b"], ["c"], "mine", domain="mine"), h.make_node("Abs", ["c"], ["y"])], [value("x")], [value("y")], domains=[("com.microsoft", 1), ("mine", 1)], value_info=[value("b"), value("c")])
    for target, wanted in (("onnxruntime", [True, False, True]), ("tract", [True, False, True])):
        command("split", saved(foreign), "--target", target, "-o", folder)
        parts = json.loads((folder / "in.json").read_text())["parts"]
        assert [part["runs_on_target"] for part in parts] == wanted, parts
        assert [len(part.get("reasons", [])) for part in parts] == [0, 1 if target == "onnxruntime" else 2, 0]
        assert "mine::Mine" in parts[1]["reasons"][-1]
    # Also inside of functions and bodies.
    inside = h.make_function("own", "Outer", ["a"], ["b"], [h.make_node("Mine", ["a"], ["b"], domain="mine")], [h.make_opsetid("mine", 1)])
    body = h.make_graph([h.make_node("Mine", ["x"], ["t"], domain="mine")], "body", [], [value("t")])
    other = h.make_graph([h.make_node("Neg", ["x"], ["e"])], "other", [], [value("e")])
    for node, more in ((h.make_node("Outer", ["x"], ["y"], "call", domain="own"), {"functions": [inside]}), (h.make_node("If", ["c"], ["y"], "if", then_branch=body, else_branch=other), {})):
        made = model([node], [value("x"), value("c", T.BOOL, ())], [value("y")], domains=[("own", 1), ("mine", 1)], **more)
        command("split", saved(made), "--target", "onnxruntime", "-o", folder)
        [part] = json.loads((folder / "in.json").read_text())["parts"]
        assert not part["runs_on_target"] and "mine::Mine" in part["reasons"][0], part
    halves = model([h.make_node("Cast", ["x"], ["a"], to=T.BFLOAT16), h.make_node("Neg", ["a"], ["b"]), h.make_node("Cast", ["b"], ["y"], to=T.FLOAT)], [value("x")], [value("y")])
    command("split", saved(halves), "--target", "tract", "-o", folder)
    [part] = json.loads((folder / "in.json").read_text())["parts"]
    assert not part["runs_on_target"] and len(part["reasons"]) == 3 and "node of `b` (Neg): tract-0.23 lacks bfloat16, the dtype of `a`" in part["reasons"], part["reasons"]
    assert "did you mean" in command("split", path, "--target", "tensort", "-o", folder, fails=2)


def check_metadata_of_parts():
    path = saved(everything())
    command("extract", path, "--to", "y", "-o", SCRATCH / "m.onnx", "--metadata", "stride=32", "--doc-string", "a part", "--value-doc", "y=sums", "--producer-name", "me")
    part = checked(SCRATCH / "m.onnx")
    assert {p.key: p.value for p in part.metadata_props} == {"author": "somebody", "stride": "32"}
    assert (part.doc_string, part.graph.output[0].doc_string, part.producer_name) == ("a part", "sums", "me")


if __name__ == "__main__":
    main(globals())
