"""Writes torchscript.txt: the schemas of operators in TorchScript code, those of one name in the order in which libtorch tries them.

    pip install torch==2.13.0 torchvision==0.28.0
    python tools/schemas/dump_torchscript.py            # write the file
    python tools/schemas/dump_torchscript.py --check    # fail if it differs from the installed torch

aten.txt has the same schemas of `aten` sorted by overload; the order matters where several fit a call.
"""

import torch
import torchvision  # registers torchvision

from snapshot import finish

NAMESPACES = {"aten", "prim", "profiler", "quantized", "torchvision"}


def main():
    schemas = torch._C._jit_get_all_schemas()
    names = sorted({schema.name for schema in schemas if schema.name.split("::")[0] in NAMESPACES})
    lines = [str(schema) for name in names for schema in torch._C._jit_get_schemas_for_operator(name)]
    source = f"torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}"
    head = f"# Overloads in the order in which libtorch tries them: {source}. Refresh: python tools/schemas/dump_torchscript.py\n"
    finish(__doc__, {"torchscript.txt": head + "".join(line + "\n" for line in lines)})


if __name__ == "__main__":
    main()
