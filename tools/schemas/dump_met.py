"""Writes mappings/schemas/met.txt: how often each operator of PyTorch is met, by which `aten2onnx ops --missing` ranks what has no rule.

    .venv/bin/python tools/schemas/dump_met.py
    .venv/bin/python tools/schemas/dump_met.py --reports FILE..    # texts with reports of users; without, the counts that are there stay
    pip download --no-deps torch-mlir pnnx && .venv/bin/python tools/schemas/dump_met.py --peers torch_mlir-*.whl pnnx-*.whl    # so do these

A line for each operator (without overload) that is met at all, sorted by name: the name, then
    opinfo=N        samples families of PyTorch's own tests of operators (OpInfo) that are about it
    code=N          calls of a function or method of this name in the sources of transformers and torchvision
    reports=N       mentions, as aten::NAME, torch.NAME or in backquotes, in reports of users and maintainers about exports
    peers=A,B       other compilers that translate it: torch-mlir has an operation for it in its dialect, pnnx a pattern in its passes. Their
                    test programs are in no package; what they translate is what these programs call
    decomposed      PyTorch composes it of other operators: `run_decompositions()` replaces it
"""

import argparse
import collections
import pathlib
import re
import sys
import zipfile

import torch
import torchvision
import transformers
from torch.testing._internal.common_methods_invocations import op_db

OUT = pathlib.Path(__file__).resolve().parents[2] / "mappings/schemas/met.txt"
CALL = re.compile(r"\b(?:torch|F|functional|linalg|fft|special|ops|nested)\.([a-z][a-z0-9_]*)\(|\b[\w\])]+\.([a-z][a-z0-9_]*)\(")
NAMED = re.compile(r"(?:\b(?:aten::|aten\.|torch\.|F\.|torchvision::|torchvision\.ops\.)|`)([a-z_][a-z0-9_]*)\b(?!\.)")
# The operations of torch-mlir's dialect: a file of its wheel, and what names one. The patterns in pnnx's program: operator, name, numbers of inputs and outputs.
PEERS = {
    "torch-mlir": ("torch_mlir/dialects/_torch_ops_gen.py", re.compile(rb'OPERATION_NAME = "torch\.((?:aten|prims|torchvision)\.\w+)')),
    "pnnx": ("pnnx/pnnx", re.compile(rb"\n((?:aten|prims|torchvision)::\w+) +\S+ +\d+ +\d+ ")),
}
# Methods of Python's own types and of modules: a name alone does not tell whose method it is.
OF_OTHERS = {"copy", "count", "format", "index", "insert", "item", "join", "keys", "pop", "remove", "replace", "search", "set", "sort", "split", "values"}


def operators():
    """The names of all operators: `aten::relu`."""
    return {schema.name for schema in torch._C._jit_get_all_schemas() if schema.name.split("::")[0] in ("aten", "torchvision", "prims")}


def calls():
    """How often each name is called in the sources of libraries of models."""
    found = collections.Counter()
    for package in (transformers, torchvision):
        for path in pathlib.Path(package.__file__).parent.rglob("*.py"):
            for function, method in CALL.findall(path.read_text(errors="replace")):
                found[function or method] += 1
    return found


def tested():
    """How many families of samples are about each operator."""
    found = collections.Counter()
    for info in op_db:
        for name in {info.aten_name, info.name.replace(".", "_"), info.name.split(".")[-1]}:
            found[name] += 1
    return found


def is_composed(name):
    """Whether PyTorch composes one of its overloads of other operators."""
    packet = getattr(getattr(torch.ops, name.split("::")[0]), name.split("::")[1], None)
    for overload in packet.overloads() if packet is not None else []:
        try:
            if getattr(packet, overload)._can_decompose():
                return True
        except (AttributeError, RuntimeError):
            # Operators of TorchScript alone have no kernels.
            continue
    return False


def reported(paths):
    """How often each operator is named in texts: aten::name, torch.name, or in backquotes. Without texts, what was counted before."""
    if not paths:
        lines = OUT.read_text().splitlines() if OUT.exists() else []
        return collections.Counter({line.split()[0].split("::")[-1]: int(count) for line in lines for count in re.findall(r" reports=(\d+)", line)})
    return collections.Counter(name for path in paths for name in NAMED.findall(pathlib.Path(path).read_text(errors="replace")))


def translated(paths):
    """The other compilers that translate each operator, by the operator's name with its namespace. Without wheels, those that were noted before."""
    found = collections.defaultdict(set)
    if not paths:
        for line in OUT.read_text().splitlines() if OUT.exists() else []:
            for names in re.findall(r" peers=(\S+)", line):
                found[line.split()[0]].update(names.split(","))
        return found
    for path in paths:
        peer = pathlib.Path(path).name.split("-")[0].replace("_", "-")
        if peer not in PEERS:
            sys.exit(f"error: {path}: give wheels of {' and '.join(PEERS)}")
        name, named = PEERS[peer]
        for operator in named.findall(zipfile.ZipFile(path).read(name)):
            found[operator.decode().replace(".", "::")].add(peer)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", nargs="*", default=[], metavar="FILE", help="texts with reports of users")
    parser.add_argument("--peers", nargs="*", default=[], metavar="WHEEL", help="wheels of torch-mlir and pnnx")
    given = parser.parse_args()
    called, families, reports, peers = calls(), tested(), reported(given.reports), translated(given.peers)
    lines = []
    for name in sorted(operators()):
        plain = name.split("::")[1]
        words = []
        if families[plain] and not name.startswith("prims::"):
            words.append(f"opinfo={families[plain]}")
        if called[plain] and plain not in OF_OTHERS and not name.startswith("prims::"):
            words.append(f"code={called[plain]}")
        if reports[plain] and not name.startswith("prims::"):
            words.append(f"reports={reports[plain]}")
        if peers[name]:
            words.append(f"peers={','.join(sorted(peers[name]))}")
        if is_composed(name):
            words.append("decomposed")
        if words:
            lines.append(" ".join([name, *words]))
    lines += sorted(f"higher_order::{name}" for name in torch._ops._higher_order_ops)
    head = f"# torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}, transformers {transformers.__version__}\n"
    OUT.write_text(head + "\n".join(lines) + "\n")
    print(f"{OUT}: {len(lines)} operators", file=sys.stderr)


if __name__ == "__main__":
    main()
