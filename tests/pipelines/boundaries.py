"""Cuts models at every module boundary: the parts in a row give what the whole gives, bit by bit without the optimizations of ONNX Runtime and within rounding
with them, and joined again they are the whole.

    boundaries.py PATH-OF-aten2onnx [check_NAME ..]

The models are those of tests/models/zoo.py, which aten2onnx exports, files of torch.onnx.export, and those that the package onnx ships. CI takes
some of them; `BOUNDARIES="vgg resnet_torch"` chooses others, and `BOUNDARIES=all` takes all.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "models")]

import numpy as np
import onnx

from harness import BINARY, ROOT, SCRATCH, checked, command, identical, main, names, session

SOME = "vit llama gpt2_torch squeezenet_caffe2"
#: Files of others: the TorchScript exporter of PyTorch, and Caffe2 and other tools, whose models the package onnx ships.
TORCH = {f"{name}_torch": ROOT / f"tests/data/convert/{name}.onnx" for name in ("resnet", "vit", "gpt2")}
LIGHT = {f"{name}_caffe2": pathlib.Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx" for name in ("squeezenet", "shufflenet", "inception_v1", "densenet121", "resnet50")}


def zoo():
    """The models of tests/models/zoo.py, by name."""
    import zoo as models

    made = {"image", "text", "randomise"}
    return {name: build for name, build in vars(models).items() if callable(build) and getattr(build, "__module__", "") == "zoo" and not isinstance(build, type) and name not in made}


def exported(name, build):
    """A file of a model of the zoo, and its inputs."""
    import torch
    import zoo as models

    torch.manual_seed(0)
    module, inputs, _, shapes = build()
    module.eval()
    models.randomise(module)
    path = SCRATCH / f"{name}.onnx"
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False), SCRATCH / f"{name}.pt2")
    command("export", SCRATCH / f"{name}.pt2", "-o", path, "--quiet")
    opened = session(path)
    return path, dict(zip([node.name for node in opened.get_inputs()], [value.numpy() for value in inputs]))


def shipped(path):
    """A file of others, and random inputs."""
    stored = path.with_suffix(".npz")
    random = np.random.default_rng(0)
    feeds = {}
    for node in session(path).get_inputs():
        shape = [2 if not isinstance(size, int) else size for size in node.shape]
        feeds[node.name] = np.load(stored)["x"] if stored.exists() else random.standard_normal(shape).astype(np.float32)
    return path, feeds


def boundaries(path):
    """The places where modules begin, in order; for a file without modules, some of its nodes."""
    found, known = [], set()
    nodes = onnx.load(path, load_external_data=False).graph.node
    paths = [re.sub("/", ".", node.name.rsplit("/", 1)[0].strip("/")) if "/" in node.name else "" for node in nodes]
    if not any(paths):
        # The package's models have no names of nodes.
        return [f"value:{node.output[0]}" for node in nodes if node.op_type != "Constant"][1 :: max(1, len(nodes) // 24)]
    for module in paths:
        parts = module.split(".")
        new = [".".join(parts[: end + 1]) for end in range(len(parts)) if module and ".".join(parts[: end + 1]) not in known]
        known.update(new)
        found += [f"module:{name}" for name in new[:1]]
    return found


def split(path, places, folder):
    """Splits a model at places, without those that begin nothing of their own."""
    places = [place.replace(",", "\\,") for place in places]
    while True:
        run = subprocess.run([BINARY, "split", path, *[f"--at={place}" for place in places], "-o", folder, "--quiet"], capture_output=True, text=True)
        if run.returncode == 0:
            return json.loads((folder / f"{path.stem}.json").read_text())
        same = re.search(r"`([^`]*)` and `([^`]*)` begin with the same node", run.stderr)
        unused = re.search(r"no output of the model depends on `([^`]*)`|has no value, node or module `([^`]*)`", run.stderr)
        assert run.returncode == 5 and (same or unused), run.stderr
        gone = same[2] if same else next(filter(None, unused.groups()))
        left = [place for place in places if place != gone and place != f"module:{gone}"]
        assert len(left) < len(places), run.stderr
        places = left


def in_a_row(folder, wiring, feeds, optimized):
    values = dict(feeds)
    for part in wiring["parts"]:
        opened = session(folder / part["file"], optimized)
        values.update(zip(part["outputs"], opened.run(part["outputs"], {name: values[name] for name in part["inputs"]})))
    return [values[name] for name in wiring["outputs"]]


def joined(folder, wiring):
    """The parts as one model again."""
    path = folder / "joined.onnx"
    wires = [f"--wire={wire['from'][:-5]}:{wire['value']}={to[:-5]}:{wire['value']}" for wire in wiring["wires"] for to in wire["to"]]
    wired = {wire["value"] for wire in wiring["wires"]}
    shared = [name for name in wiring["inputs"] if sum(name in part["inputs"] for part in wiring["parts"]) > 1]
    files = [folder / part["file"] for part in wiring["parts"]]
    command("join", *files, *wires, *[f"--share={name}" for name in shared], *[f"--keep={name}" for name in wiring["outputs"] if name in wired], "-o", path)
    return path


def in_order(path, whole):
    """Puts the inputs of a file in the order of another: the weights of old files are inputs, too, and those of each part follow one another."""
    order = {name: number for number, name in enumerate(names(onnx.load(path, load_external_data=False).graph.input))}
    loaded = onnx.load(whole)
    inputs = sorted(loaded.graph.input, key=lambda value: order.get(value.name, -1))
    del loaded.graph.input[:]
    loaded.graph.input.extend(inputs)
    onnx.save(loaded, whole)
    return whole


def without_unread(path, folder):
    """A model without the inputs and weights that no node reads: no part has them. An old file of the package has such a weight."""
    model = onnx.load(path)
    read = {value.name for value in model.graph.output} | set(read_in(model.graph))
    for values in (model.graph.input, model.graph.initializer):
        kept = [value for value in values if value.name in read]
        del values[:]
        values.extend(kept)
    onnx.save(model, folder / "read.onnx")
    return folder / "read.onnx"


def read_in(graph):
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from read_in(inner)


def judged(name, path, feeds):
    folder = SCRATCH / f"parts of {name}"
    places = boundaries(path)
    wiring = split(path, places, folder)
    count = len(wiring["parts"])
    assert count > 4, (name, count)
    for part in wiring["parts"]:
        loaded = checked(folder / part["file"])
        assert names(loaded.graph.output) == part["outputs"], part
    for optimized in (False, True):
        wanted = session(path, optimized).run(wiring["outputs"], feeds)
        for output, one, other in zip(wiring["outputs"], wanted, in_a_row(folder, wiring, feeds, optimized)):
            if optimized:
                scale = max(1.0, float(np.abs(one).max()))
                assert one.dtype == other.dtype and np.allclose(one, other, rtol=1e-4, atol=1e-5 * scale), (name, output, np.abs(one - other).max())
            else:
                identical(output, one, other)
    whole = in_order(path, joined(folder, wiring))
    run = subprocess.run([BINARY, "diff", without_unread(path, folder), whole], capture_output=True, text=True)
    assert run.stdout == "the models are equal\n", (name, run.stdout)
    print(f"    {name}: {count} parts of {len(places)} places")


def check_every_boundary():
    wanted = os.environ.get("BOUNDARIES", SOME)
    made, done = zoo(), 0
    every = [*made, *TORCH, *LIGHT]
    for name in every if wanted == "all" else wanted.split():
        path, feeds = exported(name, made[name]) if name in made else shipped({**TORCH, **LIGHT}[name])
        judged(name, path, feeds)
        done += 1
    assert done >= (20 if wanted == "all" else 1), done


if __name__ == "__main__":
    main(globals())
