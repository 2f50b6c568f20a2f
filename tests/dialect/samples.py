"""The archives of `tests/data/pt2`, written by several versions of torch."""
from pathlib import Path

from cases import Case

FOLDER = Path(__file__).parent.parent / "data" / "pt2"
REFUSED = {
    "pickled_weight": "it was saved as a Python object (a tensor subclass)",
    "multi_model": "the archive has several models; choose one of",
}


BFLOAT16 = ["bf16_net", "no_grad_autocast"]


def cases():
    for path in sorted(FOLDER.glob("*.pt2")):
        others = {"tolerance": 2e-2, "opset": 16} if path.stem in BFLOAT16 else {}
        yield path.stem, lambda p=path, o=others: Case(None, path=p, refused=REFUSED.get(p.stem), **o)
