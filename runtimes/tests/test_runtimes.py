"""The harness tells what became of a model, and facts that are not true are found."""
import os
import subprocess
import time
import tomllib
from dataclasses import replace

import numpy as np
import onnx
import pytest
from harness import environments, example_cases, facts_file, form_cases, judge, limits, measure, printed, signature, value_info, verdict
from harness.worker import Stopped, Worker
from onnx import TensorProto, helper

import examples
import facts
import run

OPERATORS = {"Acos", "Neg"}


def save(path, nodes, elem=TensorProto.FLOAT, opset=18):
    values = [helper.make_tensor_value_info(name, elem, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "main", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def test_a_model_that_runs(onnxruntime, tmp_path):
    model = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])])
    x = np.array([1, -2], "float32")
    with Worker(onnxruntime) as worker:
        result = worker.run(model, {"x": x}, times=2)
    assert (result.verdict, len(result.seconds)) == ("ran", 2)
    assert verdict.compare(result.outputs, [-x]) == ("right", "")
    assert verdict.compare(result.outputs, [x])[0] == "wrong"


def test_dtypes_of_inputs_and_sizes_of_weights_are_measured(onnxruntime, tmp_path, monkeypatch):
    assert limits.lacks_io(onnxruntime) == []
    with Worker(onnxruntime) as worker:
        assert limits.multiplies_all(worker, tmp_path / "model.onnx", 100)
    tried = []
    monkeypatch.setattr(limits, "multiplies_all", lambda worker, path, megabytes: tried.append(megabytes) or megabytes <= 900)
    assert limits.most_weights(onnxruntime) == 900 and tried[0] == max(limits.LARGE)
    monkeypatch.setattr(limits, "multiplies_all", lambda *_: True)
    assert limits.most_weights(onnxruntime) is None


def test_shapes_that_contradict_each_other(tmp_path):
    model = onnx.load(save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["z"]), helper.make_node("Neg", ["z"], ["y"])]))
    model.graph.value_info.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n"]))
    onnx.save(model, tmp_path / "symbol.onnx")
    assert value_info.clashes(tmp_path / "neg.onnx") == []
    assert value_info.clashes(tmp_path / "symbol.onnx") == ["`z` is recorded as ['n'] and inferred as [2]"]


def test_a_model_that_is_refused_and_one_that_fails(onnxruntime, tmp_path):
    refused = save(tmp_path / "acos.onnx", [helper.make_node("Acos", ["x"], ["y"])], TensorProto.DOUBLE)
    fails = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])])
    with Worker(onnxruntime) as worker:
        result = worker.run(refused, {"x": np.zeros(2)})
        assert result.verdict == "refused" and "Acos" in result.reason
        result = worker.run(fails, {"x": np.zeros(3, "float32")})
        assert result.verdict == "failed" and "Got: 3 Expected: 2" in result.reason


def test_a_crash_costs_one_model(onnxruntime, tmp_path):
    model = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])])
    x = {"x": np.zeros(2, "float32")}
    with Worker(onnxruntime) as worker:
        assert worker.run(model, x).verdict == "ran"
        worker.process.kill()
        assert worker.run(model, x).reason.startswith("the process ended (SIGKILL)")
        assert worker.run(model, x).verdict == "ran"


def test_a_runtime_without_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ATEN2ONNX_RUNTIMES", str(tmp_path))
    with pytest.raises(Stopped, match=r"setup.py onnxruntime-"):
        Worker(environments.find("onnxruntime"))
    with pytest.raises(environments.UnknownRuntime, match="there are"):
        environments.find("toaster")


def test_rounding_and_narrowed_dtypes_are_right():
    want = np.array([1, 2], "int64")
    assert verdict.compare([want.astype("int32")], [want]) == ("right", "output 0: int32 instead of int64")
    assert verdict.compare([want.astype("float32")], [want])[0] == "wrong"
    assert verdict.compare([np.float32([1.0002])], [np.float32([1])])[0] == "right"
    assert verdict.compare([np.float32([np.nan])], [np.float32([1])])[0] == "wrong"
    assert verdict.compare([np.float32([0, 1])], [np.float32([np.nan, 1])])[0] == "nonfinite"


def test_detections_may_swap():
    boxes, scores = np.float32([[0, 0, 5, 5], [90, 90, 99, 99], [20, 0, 30, 9]]), np.float32([0.9, 0.80001, 0.8])
    want = [boxes, np.array([1, 2, 1]), scores]
    swapped = [array[[0, 2, 1]] for array in want]
    assert verdict.compare(swapped, want)[0] == "wrong"
    assert verdict.compare(verdict.in_order(swapped, want), want) == ("right", "")
    assert verdict.compare(verdict.in_order([array[[0, 1, 1]] for array in want], want), want)[0] == "wrong"
    assert verdict.in_order([scores], want) == [scores]


def test_a_runtime_that_computes_in_float16_may_round():
    want = np.float32([1, 100])
    assert verdict.compare([np.float32([1.004, 100.4])], [want])[0] == "wrong"
    assert verdict.compare([np.float32([1.004, 100.4])], [want], computes="float16") == ("right", "")
    assert verdict.compare([np.float32([1.1, 100])], [want], computes="float16")[0] == "wrong"


def test_what_a_model_declares(tmp_path):
    model = onnx.load(save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])], TensorProto.FLOAT16))
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "neg.onnx")
    declared = signature.of(tmp_path / "neg.onnx")
    assert declared.inputs == {"x": signature.Tensor(np.dtype("float16"), (2,))} and not declared.inputs["x"].is_symbolic
    assert declared.outputs["y"].is_symbolic and declared.outputs["y"].fits((3,)) and not declared.outputs["y"].fits((2, 3))
    halves = np.zeros(2, "float16")
    assert signature.converted(halves, np.dtype("float32"), {"float16": "float32"}).dtype == "float32"
    assert signature.converted(halves, np.dtype("int32"), {"float16": "float32"}).dtype == "float16"


def test_what_native_code_prints(tmp_path):
    with printed.output_in(tmp_path / "log"):
        os.write(1, b"\x1b[1;31mE\x1b[0m one\rtwo\n\n")
        os.write(2, b"three")
    assert printed.lines(tmp_path / "log") == ["E one", "two", "three"]


def test_the_processor_time_of_compilers_counts(onnxruntime):
    with Worker(onnxruntime) as worker:
        worker.process = subprocess.Popen(["sh", "-c", "(while :; do :; done) & wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        end = time.monotonic() + 60
        while worker.cpu_seconds() < 0.2 and time.monotonic() < end:
            time.sleep(0.05)
        assert worker.cpu_seconds() >= 0.2, "the shell waits, but its child computes"


def test_every_runtime_has_settings():
    for releases in environments.known().values():
        assert releases[0].settings["what"]


def test_cases_of_some_dtypes_and_versions():
    written = [form_cases.case("Neg", 18, name, f"({text}[2] x) => ({text}[2] y) {{y = Neg(x)}}", {}) for name, text in [("a", "float"), ("b", "int64"), ("c", "float")]]
    tested = [replace(case, form="constant") for case in written]

    def chosen(*arguments):
        return [case.name for case in measure.sample(*arguments)]

    assert chosen(tested, None, None, 18, ["float32"]) == ["a", "c"]
    assert chosen(tested, None, None, 9) == []
    assert chosen(tested, 1, ["constant"], None) == ["a", "b"]
    assert chosen(written, None, None, 9, ["float32"]) == ["a", "b", "c"], "the opset and dtypes choose among the node tests"
    assert chosen(written, 1, ["exported"], None) == ["a", "b"]
    assert chosen(written, None, ["constant"], None) == []


def test_a_runtime_that_ignores_axes_does_not_know_the_opset(onnxruntime, tmp_path):
    class Ignorant:
        """Computes the mean of nothing when the axes are an input."""

        def run(self, path, inputs):
            result = worker.run(path, inputs)
            result.outputs = [inputs["x"]] if len(onnx.load(path).graph.node[0].input) > 1 else result.outputs
            return result

    with Worker(onnxruntime) as worker:
        path = tmp_path / "mean.onnx"
        assert not any(limits.ignores_axes(worker, path, opset) for opset in (13, 17, 18))
        assert [limits.ignores_axes(Ignorant(), path, opset) for opset in (13, 17, 18)] == [False, False, True]


def test_a_planted_fact_is_found(onnxruntime, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(judge, "JUDGE", f"{onnxruntime.name}-{onnxruntime.version}")
    results = measure.measure(onnxruntime, judge.judged(OPERATORS), say=lambda _: None)
    assert len(results) > 20
    found = facts_file.derive(results)
    lacking = [entry for entry in found["dtypes"] if entry["op"] == "Acos"]
    assert lacking and all(entry["lacks"] == ["float64"] for entry in lacking)
    file = tmp_path / "onnxruntime.toml"

    def check(claimed=facts_file.Limits(1, 4, [])):
        file.write_text(facts_file.write("onnxruntime", "ONNX Runtime", "1.0", claimed, "a test", "", found))
        return facts.check(file, facts_file.derive(results), OPERATORS, facts_file.Limits(1, 4, []))

    assert check() == 0
    assert check(facts_file.Limits(1, 4, ["bfloat16"])) == 1
    assert "lacks_dtypes: the file claims ['bfloat16']" in capsys.readouterr().out
    assert check(facts_file.Limits(1, 4, [], lacks_constants=["int8"])) == 1
    assert "lacks_constants: the file claims ['int8']" in capsys.readouterr().out
    assert check(facts_file.Limits(1, 4, [], lacks_functions="it says so")) == 1
    assert "lacks_functions: the file claims it says so" in capsys.readouterr().out
    assert check(facts_file.Limits(1, 4, [], narrows_int64=True)) == 1
    assert "narrows_int64: the file claims True" in capsys.readouterr().out
    found["dtypes"].remove(lacking[0])
    assert check() == 1
    assert "measured {'op': 'Acos'" in capsys.readouterr().out
    found["dtypes"].append(lacking[0])
    found["lacks"]["Neg"] = "planted"
    assert check() == 1
    assert "the file claims Neg" in capsys.readouterr().out
    del found["lacks"]["Neg"]
    assert check() == 0
    for key, record in results.items():
        if key[0] == "Neg":
            record["verdict"] = "refused"
    assert check() == 1
    assert "lacks: measured Neg, but the file does not say so" in capsys.readouterr().out


def test_inputs_by_name_or_in_order(tmp_path):
    model = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])])
    np.savez(tmp_path / "named.npz", x=1, other=2)
    np.savez(tmp_path / "numbered.npz", i0=3)
    assert run.inputs_of(model, tmp_path / "named.npz") == {"x": 1}
    assert run.inputs_of(model, tmp_path / "numbered.npz") == {"x": 3}


def test_a_form_that_runs_is_not_lacking():
    def record(verdict):
        return {"verdict": verdict, "reason": ""}

    results = {
        ("STFT", 17, "float32", "constant", "stft"): record("refused"),
        ("STFT", 17, "float64", "constant", "stft"): record("refused"),
        ("STFT", 17, "float32", "exported", "static"): record("right"),
        ("Pow", 15, "float16", "constant", "pow"): record("refused"),
        ("Pow", 15, "float16", "exported", "square"): record("right"),
        ("Pow", 15, "float16", "exported", "other"): record("refused"),
        ("MaxPool", 12, "float32", "constant", "pads"): record("refused"),
        ("MaxPool", 12, "float32", "exported", "two_d"): record("right"),
        ("MaxPool", 12, "float32", "exported", "three_d"): record("refused"),
        ("Gather", 13, "float32", "constant", "gather"): record("wrong"),
        ("Gather", 13, "float32", "exported", "scalar"): record("right"),
        ("Gather", 13, "float32", "exported", "list"): record("wrong"),
        ("Loop", 16, "int64", "exported", "counted"): record("refused"),
        ("Bernoulli", 15, "float32", "example", "Bernoulli(f32[3])"): record("refused"),
    }
    found = facts_file.without_reasons(facts_file.derive(results))
    assert found["lacks"] == ["Loop"]
    assert {"op": "Bernoulli", "since": [15], "form": "example", "lacks": ["Bernoulli(f32[3])"]} in found["forms"]
    assert {"op": "Gather", "since": [13], "form": "exported", "wrong": ["list"]} in found["forms"]
    assert found["dtypes"] == [{"op": "Pow", "since": [15], "lacks": ["float16"]}, {"op": "STFT", "since": [17], "lacks": ["float64"]}]
    assert {"op": "STFT", "since": [17], "form": "constant", "lacks": ["stft"]} in found["forms"]


def test_a_new_measurement_of_forms_keeps_the_others(tmp_path):
    def entry(dtypes, since):
        return {"op": "Pow", "since": since, "lacks": dtypes, "reason": "no kernel"}

    kept = {"op": "Pow", "since": [15], "form": "symbolic", "lacks": ["*"], "reason": "no sizes"}
    old = {"op": "Pow", "since": [15], "form": "exported", "lacks": ["old"], "reason": "gone"}
    before = {"lacks": {"STFT": "shape", "Det": "none", "Loop": "old"}, "dtypes": [entry(["float16", "int64"], [13, 15])], "forms": [kept, old]}
    file = tmp_path / "a.toml"
    file.write_text(facts_file.write("a", "A", "1.0", facts_file.Limits(18, 9, [], "it has none"), "a test", "", before))
    verdicts = {("STFT", 17, "float32"): "right", ("Pow", 15, "float16"): "right", ("Loop", 16, "int64"): "right", ("Scan", 16, "float32"): "refused"}
    results = {(*key, "exported", "plain"): {"verdict": verdict, "reason": "no"} for key, verdict in verdicts.items()}
    found = facts_file.merge(file, results, {"Loop", "Scan"}, ["exported"])
    assert found["lacks"] == {"Det": "none", "Scan": "no"}
    assert found["dtypes"] == [entry(["float16", "int64"], [13]), entry(["int64"], [15])]
    assert found["forms"] == [kept]


def test_dtypes_are_added(tmp_path):
    before = {"lacks": {"Det": "none"}, "dtypes": [{"op": "Pow", "since": [13, 15], "lacks": ["int8", "int64"], "reason": "no kernel"}], "forms": []}
    file = tmp_path / "a.toml"
    file.write_text(facts_file.write("a", "A", "1.0", facts_file.Limits(18, 9, []), "a test", "", before))
    verdicts = {("Det", 11, "int8"): "refused", ("Pow", 15, "int8"): "right", ("Pow", 13, "uint8"): "wrong", ("Abs", 13, "int8"): "refused"}
    results = {(*key, "constant", "plain"): {"verdict": verdict, "reason": "no"} for key, verdict in verdicts.items()}
    found = facts_file.with_dtypes(file, results, ["int8", "uint8"])
    assert found["lacks"] == {"Det": "none"}
    assert found["dtypes"] == [
        {"op": "Abs", "since": [13], "lacks": ["int8"], "reason": "no"},
        {"op": "Pow", "since": [13], "lacks": ["int64"], "wrong": ["uint8"], "reason": "no kernel"},
        {"op": "Pow", "since": [15], "lacks": ["int64"], "reason": "no kernel"},
    ]


def test_what_people_wrote_stays():
    found = {"lacks": {"Det": "no"}, "dtypes": [{"op": "Gemm", "since": [13], "lacks": ["int64"], "reason": ""}], "forms": []}
    first = facts_file.write("a", "A", "1.0", facts_file.Limits(18, 9, [], "it has none"), "a test", "", found)
    by_hand = '''
# Why: it is wrong.
[[release.avoid]]
op = "Resize"
attributes = { antialias = 1 }

[[release]]
name = "0.9"
newest_opset = 13
'''
    edited = first.replace('\n]\n', '\n]\nstatic = [\n  "all", # needed\n]\n', 1) + by_hand
    again = facts_file.write("a", "A", "1.1", facts_file.Limits(19, 9, ["bfloat16"]), "a test", "", {**found, "lacks": {}, "dtypes": []}, edited)
    assert again.endswith(by_hand)
    parsed = tomllib.loads(again)["release"]
    assert [release["name"] for release in parsed] == ["1.1", "0.9"]
    assert parsed[0]["lacks_dtypes"] == ["bfloat16"]
    assert parsed[0]["static"] == ["all"] and "lacks" not in parsed[0] and "dtypes" not in parsed[0]
    assert facts_file.write("a", "A", "1.1", facts_file.Limits(19, 9, ["bfloat16"]), "a test", "", {**found, "lacks": {}, "dtypes": []}, again) == again


def test_an_example_counts_for_the_versions_with_its_form(tmp_path):
    def written(name, node, opset, specs):
        model = onnx.load(save(tmp_path / f"{name}.onnx", [node], opset=opset))
        del model.graph.input[len(specs) :]
        return {"text": f"example {name}", "op": node.op_type, "args": [], "inputs": specs, "models": [{"hex": model.SerializeToString().hex()}]}

    spec = {"dtype": "f32", "sizes": [2], "range": None}
    relu = written("Relu(f32[2])", helper.make_node("Relu", ["x"], ["y"]), 14, [spec])
    gelu = written("Gelu(f32[2])", helper.make_node("Gelu", ["x"], ["y"]), 20, [spec])
    text = written("Relu(str[2])", helper.make_node("Relu", ["x"], ["y"]), 14, [{**spec, "dtype": "str"}])
    found = [(case.op, case.since, case.form, case.name) for case in example_cases.all_cases([relu, gelu, text])]
    assert found == [("Relu", since, "example", "Relu(f32[2])") for since in (14, 13, 6)] + [("Gelu", 20, "example", "Gelu(f32[2])")]
    assert not list(example_cases.all_cases([relu, text], {"Gelu"}))


def test_examples_with_several_correct_results(onnxruntime, tmp_path):
    model = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])])

    def verdict_of(want, notes=()):
        record = {"text": "example aten::neg(f32[2])", "op": "aten::neg", "args": [], "inputs": [{"dtype": "f32", "sizes": [2], "range": None}]}
        x = np.array([1, -2], "float32")
        example = example_cases.Example(record["text"], record["op"], model.read_bytes(), None, list(notes), {"x": x}, [want], record)
        [result] = examples.run(onnxruntime, [example], 30)
        return result["verdict"]

    right = np.array([-1, 2], "float32")
    assert verdict_of(right) == "right"
    assert verdict_of(-right) == "wrong"
    assert verdict_of(-right, ["onnxruntime-1.31: it rounds"]) == "warned"
    refused = example_cases.Example("example f()", "f", None, "the runtime has no `f`", [], {}, [right], {})
    assert [result["verdict"] for result in examples.run(onnxruntime, [refused], 30)] == ["unexported"]


def test_all_forms_can_be_read():
    cases = list(form_cases.all_cases())
    keys = [measure.key(case) for case in cases]
    assert len(cases) > 300 and len(set(keys)) == len(keys)
