"""The page of runtimes and models."""
from harness import page

import zoo


def record(verdict, reason="", milliseconds=None, **others):
    return {"verdict": verdict, "reason": reason, "milliseconds": milliseconds} | others


def test_a_page():
    records = {
        "net": {
            "onnxruntime-web-1.30.0": record("right", milliseconds=2.0),
            "tract-0.23.9": record("refused", "no `Loop`"),
            "tract-0.23.9 --target": record("right", milliseconds=1.25, digest="3fa91c02"),
            "tract-0.23.9 torch.onnx": record("refused", "no `Loop`"),
        },
        "other": {"tract-0.23.9": record("wrong", "shape"), "tract-0.23.9 --target": record("wrong", "shape")},
    }
    warned = {"warned": ["tract-0.23: the sum (2)"]}
    records["third"] = {"tract-0.23.9 --target": record("wrong", "1 of 2 values differ") | warned, "onnxruntime-web-1.30.0": record("right") | warned}
    text = page.text(records)
    assert "| tract 0.23.9 | default | 2 | 0 | 0 | 1 | 1 | 0 | 0 |" in text
    assert "| onnxruntime-web 1.30.0 | default | 2 | 2 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| net | refused | right, 1.25 ms, 3fa91c02 | refused |" in text
    assert "| other | wrong | wrong |  |" in text
    assert "- net (default, torch.onnx): refused: `no 'Loop'`" in text
    assert "- other (default, `--target`): wrong: `shape`" in text
    assert "- third (`--target`): wrong: `1 of 2 values differ`; the export warned: `tract-0.23: the sum (2)`" in text
    assert "tract 0.23.9, `--target`: 1 of 3 right, 2 wrong" in page.summary(records)


def test_a_page_keeps_the_results_of_other_runs(tmp_path):
    path = tmp_path / "page.md"
    right = record("right", milliseconds=1.25, digest="3fa91c02")
    first = {"net": {"tract-0.23.9": record("refused", "no `Loop`", digest="00000000"), "tract-0.23.9 --target": right}}
    second = {"net": {"tract-0.23.9": record("wrong", "shape") | {"warned": ["tract-0.23: the sum (2)"]}}, "other": {"mnn-3.6.1": record("right")}}
    zoo.write_page(path, first)
    zoo.write_page(path, second)
    assert path.read_text() == page.text({"net": {**first["net"], **second["net"]}, "other": second["other"]})
    assert page.text(page.read(path.read_text())) == path.read_text()


def test_a_model_is_measured_again_if_its_file_is_another_one(tmp_path, monkeypatch):
    text = ["first"]
    monkeypatch.setattr(zoo, "run", lambda worker, model, folder, sizes: record("right"))

    def write(model):
        model.write_text(text[0])
        return None, []

    measured = zoo.one(None, write, tmp_path)
    assert measured == record("right", digest="9271ee57")
    assert zoo.one(None, write, tmp_path, known=measured) is measured
    text[0] = "second"
    assert zoo.one(None, write, tmp_path, known=measured) is not measured
