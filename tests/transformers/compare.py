"""Exports tiny models of transformers' model types with dynamic shapes, and compares ONNX Runtime with PyTorch at two sizes.

    python tests/transformers/compare.py --json results.jsonl                    # all types
    python tests/transformers/compare.py --types bert llama --heads              # base models and heads of some
    python tests/transformers/compare.py --types bert --other                    # transformers' own ONNX exporter beside it
    python tests/transformers/compare.py --json results.jsonl --page docs/transformers.md   # only the table of the page

Each type runs in a worker process, which is replaced when it crashes or takes too long. Types in the file of results are not run again.
"""

from __future__ import annotations

import argparse
import copy
import json
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

#: Seconds for one model.
LIMIT = 240

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


def compare(model_type: str, kind: str, other: bool) -> dict[str, Any]:
    """The row of one model."""
    import tiny
    import torch

    import aten2onnx
    from aten2onnx.transformers._inputs import EXAMPLE, SECOND, Maker

    row: dict[str, Any] = {"type": model_type, "kind": kind}
    try:
        model = tiny.build(model_type, auto_class(kind), lambda model: (model(**Maker(model, EXAMPLE).inputs()), model(**Maker(model, SECOND).inputs())))
    except (Exception, TooLong) as error:
        return row | {"status": "not built", "reason": _short(error)}
    row |= {"class": type(model).__name__, "parameters": sum(parameter.numel() for parameter in model.parameters())}
    inputs, seconds = Maker(model, EXAMPLE).inputs(), Maker(model, SECOND, seed=1).inputs()
    start = time.perf_counter()
    try:
        program = aten2onnx.export(model, kwargs=inputs, dynamic_shapes="auto")
    except aten2onnx.CaptureError as error:
        row |= {"status": "not captured", "reason": _short(error), "seconds": time.perf_counter() - start}
        program = None
    except aten2onnx.UnsupportedError as error:
        return row | {"status": "refused", "reason": _short(error)}
    except (Exception, TooLong) as error:
        return row | {"status": "error", "reason": f"{type(error).__name__}: {_short(error)}"}
    if program is not None:
        took = program.report.seconds
        row |= {"capture": took["torch.export"], "export": took["decompose"] + took["translate"], "nodes": program.report.nodes}
        frozen = _frozen(program, seconds)
        try:
            with torch.no_grad():
                worst = [_differences(model, program, example) for example in (inputs, *([] if frozen else [seconds]))]
        except (Exception, TooLong) as error:
            return row | {"status": "error", "reason": f"{type(error).__name__}: {_short(error)}"}
        wrong = [text for found in worst for text in found]
        row |= {"status": "wrong", "reason": "; ".join(wrong)[:300]} if wrong else {"status": "frozen", "reason": frozen} if frozen else {"status": "right"}
    return row | ({"other": _other(model, inputs, seconds)} if other else {})


def _frozen(program: Any, inputs: dict[str, Any]) -> str:
    """The dimensions that torch.export made constant although they vary."""
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


def work(pairs: list[tuple[str, str]], other: bool) -> None:
    """Writes a row for each pair to the standard output."""
    import transformers

    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()

    def too_long(*_: Any) -> None:
        raise TooLong(f"more than {LIMIT} s")

    signal.signal(signal.SIGALRM, too_long)
    for model_type, kind in pairs:
        signal.alarm(LIMIT)
        try:
            row = compare(model_type, kind, other)
        except (Exception, TooLong) as error:
            row = {"type": model_type, "kind": kind, "status": "error", "reason": _short(error)}
        signal.alarm(0)
        print("ROW " + json.dumps(row), flush=True)


def supervise(pairs: list[tuple[str, str]], other: bool, path: Path) -> None:
    """Runs workers until there is a row for each pair."""
    done = {(row["type"], row["kind"]) for row in rows(path)}
    left = [pair for pair in pairs if pair not in done]
    while left:
        command = [sys.executable, __file__, "--work", json.dumps(left), *(["--other"] if other else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker, path.open("a") as file:
            assert worker.stdout is not None
            for line in worker.stdout:
                if not line.startswith("ROW "):
                    continue
                file.write(line.removeprefix("ROW "))
                file.flush()
                row = json.loads(line.removeprefix("ROW "))
                print(f"{row['type']:30} {row['status']:13} {row.get('reason', '')[:90]}", flush=True)
                left.remove((row["type"], row["kind"]))
        if left and worker.returncode:
            model_type, kind = left.pop(0)
            crashed = {"type": model_type, "kind": kind, "status": "error", "reason": f"the process ended with {worker.returncode}"}
            with path.open("a") as file:
                file.write(json.dumps(crashed) + "\n")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows in a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(found: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    built = [row for row in found if row["status"] != "not built"]
    lines = ["| type | class | result | capture | export | nodes | transformers' own exporter |", "|---|---|---|---|---|---|---|"]
    for row in sorted(built, key=lambda row: (row["type"], row["kind"])):
        status = row["status"] + (f": {_reason(row)}" if row["status"] != "right" else "")
        other = row.get("other")
        cells = [
            row["type"],
            row.get("class", row["kind"]),
            status,
            *(f"{row[key]:.1f} s" if key in row else "" for key in ("capture", "export")),
            str(row.get("nodes", "")),
            f"{other['status']}, {other['seconds']:.1f} s" if other else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).replace("|  |", "| |").replace("|  |", "| |") + "\n"


def _reason(row: dict[str, Any]) -> str:
    """The reason in one cell."""
    text = row["reason"].removeprefix("torch.export cannot capture this model: ").split(" --> ")[0]
    return text[:110].replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def summary(found: list[dict[str, Any]]) -> str:
    """How many models are right, and how the time is spent."""
    count = Counter(row["status"] for row in found)
    captured = [row for row in found if "capture" in row]
    parts = [f"{count[status]} {status}" for status in ("right", "frozen", "wrong", "refused", "error", "not captured", "not built")]
    text = f"{len(found)} models: {', '.join(parts)}."
    if captured:
        text += f" Capture {sum(row['capture'] for row in captured):.0f} s, export {sum(row['export'] for row in captured):.0f} s in total."
    others = [row["other"] for row in found if "other" in row]
    if others:
        text += f" transformers' own ONNX exporter: {sum(row['status'] == 'right' for row in others)} of {len(others)} right, {sum(row['seconds'] for row in others):.0f} s."
    return text


def write(page: Path, found: list[dict[str, Any]]) -> None:
    """Replaces the table of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- table -->\n")
    _, _, after = rest.partition("<!-- /table -->")
    page.write_text(f"{before}<!-- table -->\n\n{summary(found)}\n\n{table(found)}\n<!-- /table -->{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", nargs="*", default=[])
    parser.add_argument("--heads", action="store_true", help="also heads")
    parser.add_argument("--other", action="store_true", help="also transformers' own ONNX exporter")
    parser.add_argument("--json", type=Path, default=Path("transformers.jsonl"))
    parser.add_argument("--page", type=Path, help="write the table into this page, and run nothing")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work([tuple(pair) for pair in json.loads(chosen.work)], chosen.other)
        return
    if chosen.page is None:
        supervise(models(chosen.types, chosen.heads), chosen.other, chosen.json)
    else:
        write(chosen.page, rows(chosen.json))
    print(summary(rows(chosen.json)))


if __name__ == "__main__":
    main()
