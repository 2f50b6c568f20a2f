"""Tests `aten2onnx diff`: what it shows of two models that differ in one thing, and that equal ones are equal.

    diff.py PATH-OF-aten2onnx [check_NAME ..]
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from harness import ROOT, SCRATCH, command, main, saved
from parts import everything


def diff(first, second, differ=True):
    a, b = (one if isinstance(one, pathlib.Path) else saved(one, f"{name}.onnx") for one, name in ((first, "a"), (second, "b")))
    text = command("diff", a, b, fails=int(differ))
    assert command("diff", a, b, "--quiet", fails=int(differ)) == ""
    if not differ:
        assert text == "the models are equal\n", text
    return text


def changed(change):
    made = everything()
    change(made)
    return diff(everything(), made)


def check_equal_models():
    diff(everything(), everything(), differ=False)
    for name in ("resnet", "vit", "gpt2"):
        path = ROOT / f"tests/data/convert/{name}.onnx"
        diff(path, path, differ=False)
        onnx.save(onnx.load(path), SCRATCH / "beside.onnx", save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
        diff(path, SCRATCH / "beside.onnx", differ=False)
    renamed = everything()
    for node in renamed.graph.node:
        node.name = "n_" + node.name
    renamed.graph.node[0].output[0] = renamed.graph.node[1].input[0] = "other"
    next(a.g for a in renamed.graph.node[6].attribute if a.name == "else_branch").node[0].input[1] = "other"
    text = diff(everything(), renamed)
    assert "Nodes" in text and text.count("branch") >= 2, "a body names what it reads"
    del renamed.graph.node[6:8], renamed.graph.output[1:]
    plain = everything()
    del plain.graph.node[6:8], plain.graph.output[1:]
    for made in (plain, renamed):
        made.graph.node[-1].input[0] = "y"
    diff(plain, renamed, differ=False)


def check_each_difference():
    def weight(made):
        made.graph.initializer[0].CopyFrom(nh.from_array(np.array([1, 2, 4], np.float32), "w"))

    text = changed(weight)
    assert "+ w: float32[3] with other elements" in text and "a = Add(x, w) `net.first/Add`" in text and "nodes read what these compute" in text, text
    text = changed(lambda made: made.graph.initializer[0].CopyFrom(nh.from_array(np.array([1, 2, 3], np.int32), "w")))
    assert "- w: float32[3]" in text and "+ w: int32[3]" in text, text
    typed = everything()
    typed.graph.initializer[0].CopyFrom(h.make_tensor("w", T.FLOAT, [3], [1, 2, 3]))
    diff(everything(), typed, differ=False)
    text = changed(lambda made: h.set_model_props(made, {"author": "you", "more": "1"}))
    assert "- author: somebody" in text and "+ author: you" in text and "+ more: 1" in text and "Nodes" not in text, text
    text = changed(lambda made: made.graph.input[0].type.tensor_type.shape.dim[0].__setattr__("dim_param", "batch"))
    assert "- x float32[n, 3]" in text and "+ x float32[batch, 3]" in text and "Nodes" not in text, text
    text = changed(lambda made: made.graph.output.reverse())
    assert "- in the order z, sums" in text and "+ in the order sums, z" in text, text
    text = changed(lambda made: made.opset_import[0].__setattr__("version", 19))
    assert "- opset of ai.onnx: 18" in text and "+ opset of ai.onnx: 19" in text, text
    text = changed(lambda made: made.functions[0].node[0].__setattr__("op_type", "Abs"))
    assert "Functions" in text and "mine::Inner" in text, text
    text = changed(lambda made: made.graph.node[4].attribute[0].__setattr__("i", 1))
    assert "- top = ReduceMax(y) {keepdims = 0}" in text and "+ top = ReduceMax(y) {keepdims = 1}" in text, text
    text = changed(lambda made: made.graph.initializer[2].CopyFrom(nh.from_array(np.float32(4), "two")))
    assert "+ two: float32[] with other elements" in text and "- branch = If(large)" in text, f"a body reads a weight: {text}"
    body = changed(lambda made: made.graph.node[6].attribute[0].g.node[0].__setattr__("op_type", "Div"))
    assert "- branch = If(large)" in body and "- 1 nodes read" not in body.split("looped")[0], body
    text = changed(lambda made: made.graph.node.add(op_type="Neg", name="added", input=["x"], output=["unused"]))
    assert "+ unused = Neg(x) `added`" in text and "\n  - " not in text, text


def check_misuse():
    path = saved(everything())
    assert "not an ONNX model" in command("diff", path, ROOT / "README.md", fails=4)
    assert "no.onnx" in command("diff", path, SCRATCH / "no.onnx", fails=3)
    command("diff", path, fails=2)


if __name__ == "__main__":
    main(globals())
