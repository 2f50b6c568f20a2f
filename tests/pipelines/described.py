"""Tests what models say of themselves: metadata, documentation and the producer, as `export`, `convert`, `pack` and `inspect` have them.

    described.py PATH-OF-aten2onnx [check_NAME ..]
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import onnx
from onnx import TensorProto as T
from onnx import helper as h

from harness import ROOT, SCRATCH, checked, command, main, model, saved, value

MODEL = ROOT / "tests/data/models/mobilenet_like.pt2"
NAMES = "{0: 'cat', 1: 'dog'}"


def of(path):
    loaded = checked(path)
    docs = {v.name: v.doc_string for v in [*loaded.graph.input, *loaded.graph.output] if v.doc_string}
    own = {p.key: p.value for p in loaded.metadata_props if not p.key.startswith("aten2onnx.")}
    return own, loaded.doc_string, docs, (loaded.producer_name, loaded.producer_version)


def check_an_export_and_what_follows_it():
    (SCRATCH / "names.txt").write_text(NAMES)
    exported = SCRATCH / "e.onnx"
    command("export", MODEL, "-o", exported, "--metadata", f"names=@{SCRATCH}/names.txt", "--metadata", "stride=32", "--metadata", "mail=@@me", "--metadata", "empty=",
            "--doc-string", "Classes\nof pictures", "--value-doc", "x=RGB, 0 to 1", "--producer-name", "shop", "--producer-version", "7", "--external-data", "always")
    said = ({"names": NAMES, "stride": "32", "mail": "@me", "empty": ""}, "Classes\nof pictures", {"x": "RGB, 0 to 1"}, ("shop", "7"))
    assert of(exported) == said, of(exported)
    command("convert", exported, "-o", SCRATCH / "c.onnx", "--opset", 13)
    assert of(SCRATCH / "c.onnx") == said
    command("pack", exported, "-o", SCRATCH / "p.onnx")
    assert of(SCRATCH / "p.onnx") == said
    command("convert", exported, "-o", SCRATCH / "d.onnx", "--opset", 13, "--metadata", "stride=16", "--metadata", "new=1", "--producer-name", "other")
    metadata = {"names": NAMES, "stride": "16", "mail": "@me", "empty": "", "new": "1"}
    assert of(SCRATCH / "d.onnx") == (metadata, *said[1:3], ("other", "")), "the version is not that of another producer"
    # Nothing is written that was not asked for.
    command("export", MODEL, "-o", SCRATCH / "plain.onnx")
    assert of(SCRATCH / "plain.onnx")[:2] == ({}, "")


def check_it_is_shown():
    source = model([h.make_node("Relu", ["x"], ["y"])], [value("x")], [value("y")], producer_name="pytorch", producer_version="2.9")
    h.set_model_props(source, {"names": "n" * 300, "aten2onnx.conditions": "n >= 2"})
    source.doc_string = "A model\nof lines"
    source.graph.output[0].doc_string = "at least <0>"
    path = saved(source, "shown.onnx")
    text = command("inspect", path)
    for line in ("shown.onnx, written by pytorch 2.9", "the model  A model of lines", "y          at least <0>", f"names  {'n' * 100}.. (300 characters)"):
        assert line in text, text
    assert "aten2onnx.conditions" not in text and "n >= 2" in text, text
    described = json.loads(command("inspect", path, "--json"))["described"]
    assert described == {"producer_name": "pytorch", "producer_version": "2.9", "doc_string": "A model\nof lines", "value_docs": {"y": "at least <0>"}, "metadata": {"names": "n" * 300}}
    command("inspect", path, "--html", SCRATCH / "page.html")
    page = (SCRATCH / "page.html").read_text()
    assert "n" * 300 in page and "at least &lt;0&gt;" in page and "pytorch 2.9" in page
    assert "described" not in json.loads(command("inspect", MODEL, "--json"))


def check_an_output_without_a_type_keeps_its_text():
    source = model([h.make_node("Relu", ["x"], ["y"])], [value("x")], [value("y", shape=None)])
    source.graph.output[0].doc_string = "scores"
    command("convert", saved(source), "-o", SCRATCH / "out.onnx", "--opset", 11)
    assert of(SCRATCH / "out.onnx")[2] == {"y": "scores"}


def check_misuse():
    (SCRATCH / "binary").write_bytes(b"\xff\xfe")
    out = SCRATCH / "never.onnx"

    def fails(*arguments, code=5):
        message = command("export", MODEL, "-o", out, *arguments, fails=code)
        assert not out.exists()
        return message

    assert "NAME=TEXT" in fails("--metadata", "names", code=2)
    assert "a name is missing" in fails("--metadata", "=1", code=2)
    assert "`names` is given twice" in fails("--metadata", "names=1", "--metadata", "names=2")
    assert "not UTF-8" in (message := fails("--metadata", f"names=@{SCRATCH}/binary", code=4)) and "metadata `names`" in message, message
    assert "missing.txt" in fails("--metadata", f"names=@{SCRATCH}/missing.txt", code=3)
    assert "no input or output `image`" in (message := fails("--value-doc", "image=a")) and "`x`" in message, message


if __name__ == "__main__":
    main(globals())
