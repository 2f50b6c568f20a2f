"""The page of runtimes and models."""
from harness import page


def record(verdict, reason="", milliseconds=None):
    return {"verdict": verdict, "reason": reason, "milliseconds": milliseconds}


def test_a_page():
    records = {
        "net": {
            "onnxruntime-web-1.30.0": record("right", milliseconds=2.0),
            "tract-0.23.9": record("refused", "no `Loop`"),
            "tract-0.23.9 --target": record("right", milliseconds=1.25),
            "tract-0.23.9 torch.onnx": record("refused", "no `Loop`"),
        },
        "other": {"tract-0.23.9": record("wrong", "shape"), "tract-0.23.9 --target": record("wrong", "shape")},
    }
    warned = {"warned": ["tract-0.23: the sum (2)"]}
    records["third"] = {"tract-0.23.9 --target": record("wrong", "1 of 2 values differ") | warned, "onnxruntime-web-1.30.0": record("right") | warned}
    text = page.text(records)
    assert "| tract 0.23.9 | default | 2 | 0 | 0 | 1 | 1 | 0 | 0 |" in text
    assert "| onnxruntime-web 1.30.0 | default | 2 | 2 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| net | right 2 ms | default: refused; `--target`: right 1.25 ms; torch.onnx: refused |" in text
    assert "| other |  | wrong |" in text
    assert "- net (default, torch.onnx): refused: `no 'Loop'`" in text
    assert "- other (default, `--target`): wrong: `shape`" in text
    assert "- third (`--target`): wrong: `1 of 2 values differ`; the export warned: `tract-0.23: the sum (2)`" in text
    assert "tract 0.23.9, `--target`: 1 of 3 right, 2 wrong" in page.summary(records)
