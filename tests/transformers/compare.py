"""Exports tiny models of transformers' model types with dynamic shapes, and compares ONNX Runtime with PyTorch at two sizes.

    python tests/transformers/compare.py --json results.jsonl                    # all types
    python tests/transformers/compare.py --types bert llama --heads              # base models and heads of some
    python tests/transformers/compare.py --types bert --static --other           # also without dynamic shapes, and transformers' own exporter
    python tests/transformers/compare.py --types llama --generation              # also 50 tokens of greedy generation
    python tests/transformers/compare.py --json results.jsonl --page docs/transformers.md   # only the table of the page

Each type runs in a worker process, which is replaced when it crashes, takes too long, or has run twenty. What is in the file of results is not run again.
"""

from __future__ import annotations

import argparse
import copy
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page

#: Seconds for one part of one model.
LIMIT = 240

#: Models of one worker process: their modules and the libraries' caches stay in its memory.
WORKER_MODELS = 20

#: What is found out about a model. "dynamic" is the row itself, the others are fields of it.
PARTS = ("dynamic", "static", "generation", "other")

#: The heads that are compared with `--heads`.
HEADS = [
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES",
    "MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES",
    "MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_CTC_MAPPING_NAMES",
    "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES",
]


class TooLong(BaseException):
    """A step took longer than its limit."""


def models(types: list[str], heads: bool) -> list[tuple[str, str]]:
    """Pairs of a model type and an auto class."""
    from transformers.models.auto import modeling_auto

    known = types or list(modeling_auto.MODEL_MAPPING_NAMES)
    pairs = [(name, "AutoModel") for name in known]
    if heads:
        for mapping in HEADS:
            table = getattr(modeling_auto, mapping)
            pairs += [(name, mapping) for name in known if name in table]
    return pairs


def auto_class(kind: str) -> Any:
    """The auto class of transformers, by its name or that of its table."""
    from transformers.models.auto import auto_factory, modeling_auto

    if hasattr(modeling_auto, kind) and not kind.startswith("MODEL_"):
        return getattr(modeling_auto, kind)
    table = getattr(modeling_auto, kind.removesuffix("_NAMES"))
    for value in vars(modeling_auto).values():
        if isinstance(value, type) and issubclass(value, auto_factory._BaseAutoModelClass) and getattr(value, "_model_mapping", None) is table:
            return value
    raise ValueError(f"no auto class has the table {kind}")


def compare(model_type: str, kind: str, parts: tuple[str, ...] = ("dynamic",), limit: int = LIMIT) -> dict[str, Any]:
    """The row of one model, with some of its parts."""
    import tiny
    from aten2onnx.transformers._inputs import EXAMPLE, SECOND, Maker

    row: dict[str, Any] = {"type": model_type, "kind": kind}
    try:
        model = tiny.build(
            model_type, auto_class(kind), lambda model: (model(**Maker(model, EXAMPLE).inputs()), model(**Maker(model, SECOND).inputs())), _changes(kind)
        )
    except (Exception, TooLong) as error:
        return row | {"status": "not built", "reason": _short(error)}
    tiny.calm(model)
    row |= {"class": type(model).__name__, "parameters": sum(parameter.numel() for parameter in model.parameters())}
    inputs = [Maker(model, EXAMPLE).inputs(), Maker(model, SECOND, seed=1).inputs()]
    for example in inputs:
        example.update(tiny.noise(model, example))
    for part in parts:
        found = _within(limit, lambda part=part: _part(part, model, inputs, row))  # type: ignore[misc]
        row |= found if part == "dynamic" else {part: found}
    return row


def _changes(kind: str) -> dict[str, Any]:
    """What a head needs in the configuration: decoders classify the last token that is no padding."""
    return {"pad_token_id": 0} if kind == "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES" else {}


def _part(part: str, model: Any, inputs: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    if part == "generation":
        return _generation(row)
    return _other(model, *inputs) if part == "other" else _exported(model, inputs, part == "dynamic")


def _within(seconds: int, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a function returns, or why it does not."""

    def too_long(*_: Any) -> None:
        raise TooLong(f"more than {seconds} s")

    before, start = signal.signal(signal.SIGALRM, too_long), time.perf_counter()
    signal.alarm(seconds)
    try:
        return run()
    except (Exception, TooLong) as error:
        return {"status": "error", "reason": f"{type(error).__name__}: {_short(error)}", "seconds": time.perf_counter() - start}
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _exported(model: Any, inputs: list[dict[str, Any]], dynamic: bool) -> dict[str, Any]:
    """Whether the export is right, at two sizes if it is dynamic, and what it takes."""
    import aten2onnx

    start = time.perf_counter()
    try:
        program = aten2onnx.export(model, kwargs=inputs[0], dynamic_shapes="auto" if dynamic else None)
    except aten2onnx.CaptureError as error:
        return {"status": "not captured", "reason": _short(error), "seconds": time.perf_counter() - start}
    except aten2onnx.UnsupportedError as error:
        return {"status": "refused", "reason": _short(error)}
    took = program.report.seconds
    with tempfile.TemporaryDirectory() as folder:
        program.save(Path(folder) / "model.onnx")
        size = sum(entry.stat().st_size for entry in Path(folder).iterdir())
    found = {"capture": took.get("record", 0.0) + took.get("torch.export", 0.0), "way": "torch.export" if "torch.export" in took else "record", "export": took.get("decompose", 0.0) + took["translate"], "nodes": program.report.nodes, "bytes": size}
    frozen = _frozen(program, inputs[1]) if dynamic else ""
    status, reason = _judged(model, program, inputs if dynamic and not frozen else inputs[:1])
    if status == "right" and frozen:
        status, reason = "frozen", frozen
    return found | {"status": status} | ({"reason": reason} if reason else {})


def _judged(model: Any, program: Any, examples: list[dict[str, Any]]) -> tuple[str, str]:
    """Whether ONNX Runtime gives PyTorch's results, and a reason or a note."""
    import torch

    def wrong() -> str:
        with torch.no_grad():
            return "; ".join(text for example in examples for text in _differences(model, program, example))[:300]

    found = wrong()
    if not found:
        return "right", ""
    if getattr(model.config, "_attn_implementation", None) == "sdpa":
        # With a mask of ones, transformers calls sdpa without a mask, but not while torch.export captures it.
        model.set_attn_implementation("eager")
        try:
            if not wrong():
                return "right", "as with eager attention; sdpa without a mask gives other results"
        finally:
            model.set_attn_implementation("sdpa")
    return "wrong", found


def _frozen(program: Any, inputs: dict[str, Any]) -> str:
    """The dimensions that are constant in the file although they vary."""
    kinds = dict(program.report.inputs)
    found = []
    for name, value in inputs.items():
        sizes = kinds[name].partition("[")[2].rstrip("]").split(", ") if name in kinds else []
        found += [f"{name}.{axis} is always {size}" for axis, size in enumerate(sizes) if size.isdigit() and int(size) != value.shape[axis]]
    return ", ".join(found)


def _differences(model: Any, program: Any, inputs: dict[str, Any]) -> list[str]:
    """What differs between PyTorch and ONNX Runtime."""
    from aten2onnx._verify import compare as compare_tensors

    expected = program._results(model(**copy.deepcopy(inputs)))
    found = dict(zip([name for name, _ in program.report.outputs], program(**inputs)))
    wrong = [f"no output {name}" for name in expected if name not in found]
    for name, wanted in expected.items():
        if name in found and not (row := compare_tensors(wanted, found[name], None, None))["ok"]:
            wrong.append(row.get("problem", f"{name} differs by {row['largest_difference']:.2g} of {row['largest_value']:.2g}"))
    return wrong


def _generation(row: dict[str, Any]) -> dict[str, Any]:
    """Whether greedy generation in ONNX Runtime gives the tokens of transformers."""
    import aten2onnx
    import generate

    if generate.family(row["type"]) is None:
        return {"status": "none"}
    start = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            verdict = generate.check(row["type"], Path(folder))
    except aten2onnx.InputError as error:
        if "returns no cache" in error.message:
            return {"status": "none"}  # an encoder
        raise
    found = {"status": "equal"} if verdict == "equal" else {"status": "other tokens", "reason": verdict}
    return found | {"seconds": time.perf_counter() - start}


def _other(model: Any, inputs: dict[str, Any], seconds: dict[str, Any]) -> dict[str, Any]:
    """The same with transformers' own ONNX exporter."""
    import torch
    from transformers.exporters import AutoHfExporter, OnnxConfig
    from transformers.exporters.utils import get_leaf_tensors

    from aten2onnx._verify import compare as compare_tensors

    config = OnnxConfig(dynamic=True)
    start = time.perf_counter()
    try:
        exported = AutoHfExporter.from_config(config).export(model, copy.deepcopy(inputs), config)
        took = time.perf_counter() - start
        for example in (inputs, seconds):
            with torch.no_grad():
                expected, found = get_leaf_tensors(model(**copy.deepcopy(example))), get_leaf_tensors(exported(**copy.deepcopy(example)))
            wrong = [name for name, wanted in expected.items() if name not in found or not compare_tensors(wanted, found[name], None, None)["ok"]]
            if wrong:
                return {"status": "wrong", "reason": ", ".join(wrong)[:200], "seconds": took}
        return {"status": "right", "seconds": took}
    except (Exception, TooLong) as error:
        return {"status": "error", "reason": _short(error), "seconds": time.perf_counter() - start}


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def work(wanted: list[tuple[str, str, list[str]]], limit: int) -> None:
    """Writes a row for each pair to the standard output."""
    import transformers

    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    for model_type, kind, parts in wanted:
        try:
            row = compare(model_type, kind, tuple(parts), limit)
        except Exception as error:  # noqa: BLE001  # the table goes on
            row = failed(model_type, kind, parts, _short(error))
        print("ROW " + json.dumps(row), flush=True)


def failed(model_type: str, kind: str, parts: list[str], reason: str) -> dict[str, Any]:
    """The row of a model whose parts could not be found out."""
    problem = {"status": "error", "reason": reason}
    row = {"type": model_type, "kind": kind} | {part: dict(problem) for part in parts if part != "dynamic"}
    return row | problem if "dynamic" in parts else row


def supervise(pairs: list[tuple[str, str]], parts: tuple[str, ...], path: Path, limit: int) -> None:
    """Runs workers until there is a row for each pair."""
    known = {(row["type"], row["kind"]): row for row in rows(path)}
    left = [(*pair, missing) for pair in pairs if (missing := _missing(known.get(pair, {}), pair, parts))]
    while left:
        command = [sys.executable, __file__, "--limit", str(limit), "--work", json.dumps(left[:WORKER_MODELS])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker, path.open("a") as file:
            assert worker.stdout is not None
            for line in worker.stdout:
                if line.startswith("ROW "):
                    file.write(line.removeprefix("ROW "))
                    file.flush()
                    show(json.loads(line.removeprefix("ROW ")))
                    left.pop(0)
        if left and worker.returncode:
            row = failed(*left.pop(0), f"the process ended with {worker.returncode}")
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def _missing(row: dict[str, Any], pair: tuple[str, str], parts: tuple[str, ...]) -> list[str]:
    """The parts that are not known yet. Heads have no generation of their own."""
    if row.get("status") == "not built":
        return []
    wanted = [part for part in parts if part != "generation" or pair[1] == "AutoModel"]
    return [part for part in wanted if ("status" if part == "dynamic" else part) not in row]


def show(row: dict[str, Any]) -> None:
    """Prints a line about a row."""
    extra = [f"{part}: {row[part]['status']}" for part in PARTS if isinstance(row.get(part), dict)]
    print(f"{row['type']:30} {row.get('class', row['kind']):40} {row.get('status', ''):13} {', '.join([row.get('reason', '')[:90], *extra])}", flush=True)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows in a file of results. A later line completes an earlier one, or replaces its fields."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        before = found.setdefault((row["type"], row["kind"]), {})
        if "status" in row:
            before.pop("reason", None)
        before.update(row)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", nargs="*", default=[])
    parser.add_argument("--heads", action="store_true", help="also heads")
    parser.add_argument("--static", action="store_true", help="also without dynamic shapes")
    parser.add_argument("--generation", action="store_true", help="also greedy generation, where a model generates")
    parser.add_argument("--other", action="store_true", help="also transformers' own ONNX exporter")
    parser.add_argument("--json", type=Path, default=Path("transformers.jsonl"))
    parser.add_argument("--page", type=Path, help="write the table into this page, and run nothing")
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"seconds for one part of one model (default: {LIMIT})")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work(json.loads(chosen.work), chosen.limit)
        return
    if chosen.page is None:
        parts = ("dynamic", *(part for part in PARTS[1:] if getattr(chosen, part)))
        supervise(models(chosen.types, chosen.heads), parts, chosen.json, chosen.limit)
    else:
        page.write(chosen.page, rows(chosen.json))
    print(page.summary(rows(chosen.json)))


if __name__ == "__main__":
    main()
