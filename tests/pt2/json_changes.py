"""Changes the JSON of archives of torch.export, and judges what was exported from them by what PyTorch makes of the same archives.

    json_changes.py originals FOLDER                        writes small models of several kinds
    json_changes.py change ORIGINALS FOLDER FIRST COUNT     writes changed archives, one for each seed
    json_changes.py judge ORIGINALS FOLDER                  beside each archive is `.onnx`, or `.txt` with the error

If PyTorch loads an archive and runs it, the exported model gives the same numbers. If PyTorch refuses to, the exported model has the bytes of
that of the original, or its numbers, or none. A model with the bytes of the original where PyTorch gives other numbers (`original`) is counted
and must be rare: parts of the JSON that are read by PyTorch only. A refusal is right in any case, but not a panic and not an internal error.
"""
import collections
import copy
import json
import logging
import multiprocessing
import os
import random
import signal
import sys
import warnings
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = """bf16_net buffer_mutation complex_net cond_symclosure constant_outputs derived_dim dynamic_shapes effects inplace lists lstm
    nested_inputs no_grad_autocast scans static_conv strided_weights symint_input tied_weights unbacked v26_gru v27_static_conv v28_lstm
    v210_rnn v28_static_conv while_loop""".split()
# A process of PyTorch that takes longer for one archive is ended, and the archive counts as refused.
SECONDS = 30
TOLERANCE = 1e-4
# Samples that compute in half precision.
ROUGH = {"bf16_net": 2e-2}


# The originals.

def modules():
    """Small models whose nodes have arguments of many kinds, with their examples and dynamic dimensions."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Values(nn.Module):
        def forward(self, x, y):
            a = F.gelu(x, approximate="tanh") + F.layer_norm(x, (4,), eps=0.1)
            b = torch.clamp(F.leaky_relu(y, 0.3), -0.5, 2.0).sum(1, keepdim=True)
            return {"a": torch.add(a, b, alpha=3), "b": F.softmax(x, -1, dtype=torch.float64), "c": x.argmax(-1)}

    class Shapes(nn.Module):
        def forward(self, x):
            y = x.transpose(1, 2).reshape(x.shape[0], -1)[:, 1:7:2]
            z = F.pad(x, (1, 2), value=0.5).roll(1, 2).flip(1)
            return torch.cat([y, y + 1], 1), z.unfold(2, 2, 1), torch.stack(x.split([1, 2], 1)[1].unbind(1))

    class Image(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1, groups=2), nn.BatchNorm2d(4), nn.Hardtanh(-1, 3), nn.MaxPool2d(2, 1, 1, ceil_mode=True))

        def forward(self, x):
            x = self.body(x)
            return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False), F.avg_pool2d(x, 2, 1, 1, False, False)

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(7, 8)
            self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, ids):
            x = self.embed(ids)
            mask = torch.ones(ids.shape[1], ids.shape[1]).triu(1).bool()
            x = x + self.attend(x, x, x, attn_mask=mask, need_weights=False)[0]
            return x.masked_fill(ids.eq(0)[..., None], 2.5), x.topk(2, -1).indices, F.one_hot(ids, 7)

    class Kinds(nn.Module):
        def forward(self, x, n):
            i = (x * 4).to(torch.int32)
            return i // 3, torch.div(i, n, rounding_mode="floor"), torch.arange(0, 3, 2) + n, torch.full((2, 2), 1.5, dtype=torch.float64), (x > 0) & (i < 5)

    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=2)
    yield "values", Values(), (torch.randn(3, 4), torch.randn(3, 4)), None
    yield "shapes", Shapes(), (torch.randn(2, 3, 4),), ({0: batch},)
    yield "image", Image(), (torch.randn(1, 2, 6, 6),), None
    yield "words", Words(), (torch.tensor([[1, 2, 0], [3, 4, 5]]),), ({0: batch},)
    yield "kinds", Kinds(), (torch.randn(2, 3), torch.tensor(2)), None


def write_originals(folder):
    import torch
    folder.mkdir()
    for name in SAMPLES:
        (folder / f"{name}.pt2").write_bytes((ROOT / f"tests/data/pt2/{name}.pt2").read_bytes())
    with torch.no_grad():
        for name, module, inputs, shapes in modules():
            torch.export.save(torch.export.export(module.eval(), inputs, dynamic_shapes=shapes), str(folder / f"{name}.pt2"))


# The changes.

NAMES = ["as_tensor", "as_tensors", "as_int", "as_ints", "as_float", "as_string", "as_bool", "as_none", "as_sym_int", "as_sym_ints", "as_name",
         "as_expr", "name", "arg", "user_input", "user_output", "parameter", "buffer", "self", "input", "dim", "eps", "alpha", "persistent"]
VALUES = [None, True, False, 0, 1, -1, 2, 3, 7, 64, -2**63, 2**63 - 1, 2**63, 2**64, 2**70, 1.5, -0.5, 1e300, 0.0, 1.0, "Infinity", "NaN", "", "x", "1", [], {}, [1], [[]],
          {"as_int": 1}, {"as_none": True}, {"as_int": 2}, {"as_float": 0.5}]
# Half of the text is metadata of nodes and the signatures of modules: both are rarely chosen.
RARE = ("metadata", "module_call_graph")
TWICE = "\0twice\0"


def places(tree):
    """Every place of a tree, grouped by what it is: the keys on the way to it, and the target of the node."""
    groups = collections.defaultdict(list)

    def go(node, kind, rare):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            named = key if isinstance(key, str) else "[]"
            part = kind[-3:] + (named,)
            inner = rare or key in RARE
            groups[(inner, part)].append((node, key))
            go(value, part, inner)

    go(tree, (), False)
    return groups


def choose(tree, rng):
    """A place: every kind of place has the same chance, so that what is rare is found."""
    groups = places(tree)
    rare = rng.random() < 0.05
    if rng.random() < 0.5:
        every = [place for (is_rare, _), group in groups.items() if is_rare == rare for place in group]
        return rng.choice(every)
    kinds = [kind for kind in groups if kind[0] == rare] or list(groups)
    return rng.choice(groups[rng.choice(kinds)])


def misspelled(text, rng):
    at = rng.randrange(len(text) + 1)
    return rng.choice([text[:at] + text[at + 1:], text[:at] + rng.choice("abs_1.") + text[at:], text + "_1", text.upper(), text[::-1]])


def siblings(tree, key):
    """The values that the same key has elsewhere."""
    found = []

    def go(node):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            if name == key:
                found.append(value)
            go(value)

    go(tree)
    return found


def renamed(node, key, new):
    items = [(new if name == key else name, value) for name, value in node.items()]
    node.clear()
    node.update(items)


def other_value(value, rng):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 2, 0, 1, 2**31, 2**40, 10**6, value + 2**32])
    if isinstance(value, float):
        return rng.choice([value * 2, -value, 0.0, value + 0.25, "NaN", "Infinity", 1e-30, int(min(max(value, -9), 9))])
    if isinstance(value, str):
        return misspelled(value, rng)
    if isinstance(value, list):
        changed = list(value)
        rng.choice([changed.reverse, lambda: rng.shuffle(changed), lambda: changed.extend(copy.deepcopy(value[:1])), lambda: changed.__delitem__(slice(0, 1)), changed.clear])()
        return changed
    return rng.choice(VALUES)


def change(tree, rng):
    """Makes one change, and says which."""
    node, key = choose(tree, rng)
    value = node[key]
    what = rng.choice(["rename", "drop", "add", "retype", "value", "value", "elsewhere", "elsewhere", "swap", "twice"])
    if what == "rename" and isinstance(node, dict):
        new = rng.choice([misspelled(key, rng), misspelled(key, rng), rng.choice(NAMES)])
        renamed(node, key, new)
        return f"{key!r} renamed to {new!r}"
    if what == "drop":
        del node[key]
        return f"{key!r} dropped: {str(value)[:80]}"
    if what == "add" and isinstance(node, dict):
        new = rng.choice(NAMES)
        node[new] = copy.deepcopy(rng.choice(VALUES + [value]))
        return f"{new!r} added: {node[new]}"
    if what == "add":
        node.insert(key, copy.deepcopy(rng.choice(VALUES + [value, value, value])))
        return f"[{key}] added: {str(node[key])[:80]}"
    if what == "retype":
        node[key] = copy.deepcopy(rng.choice(VALUES + [str(value), [value], [copy.deepcopy(value)] * 2]))
    elif what in ("elsewhere", "rename"):
        node[key] = copy.deepcopy(rng.choice(siblings(tree, key)))
    elif what == "swap" and isinstance(node, list) and len(node) > 1:
        other = rng.randrange(len(node))
        node[key], node[other] = node[other], node[key]
        return f"[{key}] and [{other}] swapped"
    elif what == "twice" and isinstance(node, dict) and not key.startswith(TWICE):
        node[TWICE + key] = copy.deepcopy(rng.choice([other_value(value, rng), *siblings(tree, key)[:5]]))
        return f"{key!r} twice: {str(value)[:80]} -> {str(node[TWICE + key])[:80]}"
    else:
        node[key] = other_value(value, rng)
    return f"{key!r}: {str(value)[:80]} -> {str(node[key])[:80]}"


def write_changed(originals, folder, first, count):
    folder.mkdir()
    files = sorted(originals.glob("*.pt2"))
    for seed in range(first, first + count):
        rng = random.Random(seed)
        original = rng.choice(files)
        with zipfile.ZipFile(original) as archive:
            entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
        at = next(i for i, (entry, _) in enumerate(entries) if entry.filename.endswith(("models/model.json", "serialized_exported_program.json")))
        before = json.loads(entries[at][1])
        done = []
        tree = copy.deepcopy(before)
        while tree == before or rng.random() < 0.1:
            done.append(change(tree, rng))
        text = json.dumps(tree).replace(json.dumps(TWICE)[1:-1], "")
        with zipfile.ZipFile(folder / f"{seed:07}.pt2", "w", zipfile.ZIP_STORED) as archive:
            for i, (entry, content) in enumerate(entries):
                archive.writestr(entry.filename, text.encode() if i == at else content)
        (folder / f"{seed:07}.json").write_text(json.dumps({"original": original.stem, "changes": done}))


# The verdicts.

def array(value):
    import torch
    tensor = (value if torch.is_tensor(value) else torch.tensor(value)).detach().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def leaves(tree):
    import torch
    return [leaf for leaf in torch.utils._pytree.tree_leaves(tree) if leaf is not None and not isinstance(leaf, str)]


def declared(program):
    """Returns the example of a program, its tensors in the dtypes that the program declares: PyTorch does not compare them."""
    import torch
    metas = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    kinds = [metas.get(name) for name in program.graph_signature.user_inputs if isinstance(name, str)]
    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(program.example_inputs) if torch.is_tensor(leaf)]
    kinds = [kind.dtype for kind in kinds if torch.is_tensor(kind)]
    kinds = iter(kinds if len(kinds) == len(tensors) else [tensor.dtype for tensor in tensors])
    return torch.utils._pytree.tree_map(lambda leaf: leaf.to(next(kinds)) if torch.is_tensor(leaf) else leaf, copy.deepcopy(program.example_inputs))


def results_of_pytorch(path):
    """Returns the example of the archive's program and the results for it, or raises what PyTorch raises."""
    import torch
    program = torch.export.load(str(path))
    example = declared(program)
    inputs, kwargs = copy.deepcopy(example)
    torch.manual_seed(0)
    with torch.no_grad():
        return example, [array(leaf) for leaf in leaves(program.module()(*inputs, **kwargs))]


def results_of_model(path, example):
    """Returns the results of the exported model in ONNX Runtime, or in ONNX's reference evaluator for types that it lacks."""
    import numpy as np
    import onnx.reference
    import onnxruntime
    import torch
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    inputs, kwargs = copy.deepcopy(example)
    given = leaves((inputs, kwargs))
    try:
        model = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        model = onnx.reference.ReferenceEvaluator(str(path))
        kinds = {i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.proto_.graph.input}
        tensors = [leaf for leaf in given if torch.is_tensor(leaf)] if len(given) > len(kinds) else given
        found = model.run(None, {name: array(leaf).astype(kind) for (name, kind), leaf in zip(kinds.items(), tensors)})
        return [value.astype(np.float32) if value.dtype.name == "bfloat16" else value for value in found]
    names = [value.name for value in model.get_inputs()]
    if len(given) > len(names):
        given = [leaf for leaf in given if torch.is_tensor(leaf)]
    return model.run(None, {name: array(leaf) for name, leaf in zip(names, given)})


def difference(found, wanted, original):
    import numpy as np
    tolerance = ROUGH.get(original, TOLERANCE)
    if len(found) != len(wanted):
        return f"{len(found)} results, expected {len(wanted)}"
    for index, (f, w) in enumerate(zip(found, wanted)):
        f = np.asarray(f)
        if f.dtype != w.dtype or f.shape != w.shape or not np.allclose(f, w, tolerance, tolerance / 10, equal_nan=True):
            return f"result {index} is {f.dtype}{list(f.shape)} {f.ravel()[:6]}, expected {w.dtype}{list(w.shape)} {w.ravel()[:6]}"
    return None


def short(error):
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]


def verdict(originals, path, examples):
    """What became of an archive: a word, and more about it."""
    text = path.with_suffix(".txt")
    if text.exists():
        said = text.read_text()
        wrong = said == "a panic" or said.startswith("Internal")
        return ("FAULT", said) if wrong else ("refused", said)
    original = json.loads(path.with_suffix(".json").read_text())["original"]
    model = path.with_suffix(".onnx")
    same = model.read_bytes() == (originals / f"{original}.onnx").read_bytes()
    try:
        example, wanted = results_of_pytorch(path)
    except Exception as error:
        return unlike_pytorch(model, originals / f"{original}.pt2", examples[original], same, short(error))
    try:
        found = results_of_model(model, example)
    except Exception as error:
        return "FAULT", f"the model does not run: {short(error)}"
    wrong = difference(found, wanted, original)
    if wrong and same:
        return "original", wrong
    if wrong:
        return "FAULT", wrong
    return ("same bytes" if same else "same numbers"), ""


def unlike_pytorch(model, original, example, same, error):
    """The verdict on a model of an archive that PyTorch refuses."""
    if same:
        return "same bytes, refused by PyTorch", error
    try:
        found = results_of_model(model, example)
    except Exception:
        return "no numbers, refused by PyTorch", error
    wrong = difference(found, results_of_pytorch(original)[1], original.stem)
    return ("FAULT", f"{wrong}: PyTorch refuses it with {error}") if wrong else ("same numbers, refused by PyTorch", error)


def worker(originals, paths, examples, queue):
    """Judges archives in a process of its own, which PyTorch may end."""
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for path in paths:
        signal.alarm(SECONDS)
        queue.put((path, *verdict(originals, path, examples)))
    signal.alarm(0)


def verdicts(originals, paths, examples):
    """Yields the verdict on each archive. One that ends the process of PyTorch has none of PyTorch's numbers."""
    context = multiprocessing.get_context("fork")
    left = list(paths)
    while left:
        reader, writer = context.Pipe(False)
        pipe = type("Sender", (), {"put": staticmethod(writer.send)})
        process = context.Process(target=worker, args=(originals, left, examples, pipe))
        process.start()
        writer.close()
        try:
            while left:
                yield reader.recv()
                left.pop(0)
        except EOFError:
            yield left.pop(0), "PyTorch ended", f"exit code {process.exitcode}"
        process.join()


def judge(originals, folder):
    import torch
    torch.set_num_threads(1)
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    examples = {}
    for path in sorted(originals.glob("*.pt2")):
        examples[path.stem] = torch.export.load(str(path)).example_inputs
        wrong = difference(results_of_model(path.with_suffix(".onnx"), examples[path.stem]), results_of_pytorch(path)[1], path.stem)
        if wrong:
            sys.exit(f"the original {path.stem} is wrong: {wrong}")
    counts = collections.Counter()
    for path, word, more in verdicts(originals, sorted(folder.glob("*.pt2")), examples):
        counts[word] += 1
        if word in ("FAULT", "original") or os.environ.get("PT2_JSON_ALL"):
            about = json.loads(path.with_suffix(".json").read_text())
            print(f"{word}: PT2_JSON_SEED={int(path.stem)} {about['original']}: {'; '.join(about['changes'])}\n    {more}")
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())), flush=True)
    few = counts["same bytes"] + counts["same numbers"] < counts.total() // 20 or counts["refused"] < counts.total() // 20
    if few and counts.total() >= 100:
        sys.exit("too few archives are exported, or refused, to say anything")
    if counts["original"] > 2 + counts.total() // 200:
        sys.exit("too many changes are not seen")
    return 1 if counts["FAULT"] else 0


def main():
    command, *rest = sys.argv[1:]
    if command == "originals":
        return write_originals(Path(rest[0]))
    if command == "change":
        return write_changed(Path(rest[0]), Path(rest[1]), int(rest[2]), int(rest[3]))
    return judge(Path(rest[0]), Path(rest[1]))


if __name__ == "__main__":
    sys.exit(main())
