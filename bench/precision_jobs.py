"""Does what precision.py asks for in a process of its own, because other converters and runtimes may end it, and need their own packages.

    python bench/precision_jobs.py JOBS.json    # a list of jobs; a line of JSON for each is appended to JOBS.json.done

A job converts a file of float32 (`way`, `source`, `target`, `dtype`, `data`: inputs of the example) or runs one (`runtime`, `model`, `feeds`, `results`). Its line has
the seconds of the processor, or an error. Jobs that have a line already are not done again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import onnx  # noqa: E402

Job = dict[str, Any]
#: A job may take so many seconds of the processor.
LIMIT = 120
#: The time of a conversion is the least of so many, if they are short.
TURNS, SHORT = 3, 2.0


def ours(job: Job) -> Callable[[], None]:
    import aten2onnx

    opset = next(one.version for one in onnx.load(job["source"], load_external_data=False).opset_import if not one.domain)
    return lambda: aten2onnx.convert(job["source"], job["target"], opset_version=opset, precision=job["dtype"]) and None


def common(job: Job) -> Callable[[], None]:
    from onnxconverter_common import float16

    return lambda: onnx.save(float16.convert_float_to_float16(onnx.load(job["source"]), keep_io_types=True), job["target"])


def of_onnxruntime(job: Job) -> Callable[[], None]:
    from onnxruntime.transformers import float16

    return lambda: onnx.save(float16.convert_float_to_float16(onnx.load(job["source"]), keep_io_types=True), job["target"])


def autocast(job: Job) -> Callable[[], None]:
    """With inputs of the example: without, it runs a model whose sizes are dynamic at sizes of 1."""
    from modelopt.onnx.autocast import convert_to_mixed_precision

    logging.disable(logging.CRITICAL)
    kind = {"float16": "fp16", "bfloat16": "bf16"}[job["dtype"]]

    def run() -> None:
        onnx.save(convert_to_mixed_precision(job["source"], kind, keep_io_types=True, calibration_data=job["data"]), job["target"])

    return run


#: Converters, by name.
WAYS = {"ours, converted": ours, "ours, mixed": ours, "onnxconverter-common": common, "ONNX Runtime": of_onnxruntime, "AutoCast": autocast}


def converted(job: Job) -> float:
    run = WAYS[job["way"]](job)
    least = spent(run)
    for _ in range(TURNS - 1):
        if least < SHORT:
            least = min(least, spent(run))
    return least


def spent(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def feeds_of(model: onnx.ModelProto, path: str) -> dict[str, np.ndarray]:
    """Inputs by their names: the arrays of the file, in order."""
    stored = {tensor.name for tensor in model.graph.initializer}
    names = [put.name for put in model.graph.input if put.name not in stored]
    with np.load(path) as arrays:
        return dict(zip(names, arrays.values(), strict=True))


def in_onnxruntime(model: onnx.ModelProto, job: Job) -> Callable[[dict[str, np.ndarray]], list[Any]]:
    """It loads as users load it. What it computes is what the file says: with its own rewrites it leaves out casts, and is more exact than the file."""
    import onnxruntime

    sessions = []
    for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level, options.graph_optimization_level = 1, 4, level
        sessions.append(onnxruntime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"]))
    return lambda feeds: [session.run(None, feeds) for session in sessions][-1]


def in_openvino(model: onnx.ModelProto, job: Job) -> Callable[[dict[str, np.ndarray]], list[Any]]:
    import openvino

    compiled = openvino.Core().compile_model(job["model"], "CPU", {"INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"})

    def run(feeds: dict[str, np.ndarray]) -> list[Any]:
        found = compiled(list(feeds.values()))
        return [found[port] for port in compiled.outputs]

    return run


def in_rounding(model: onnx.ModelProto, job: Job) -> Callable[[dict[str, np.ndarray]], list[Any]]:
    """onnx's reference evaluator, in which each node computes in float32 and rounds its results, as kernels of GPUs do. Runtimes on a CPU leave out what is cast to
    float32 and back, so that nothing overflows there."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    if not hasattr(OpRun, "run_as_it_is"):
        OpRun.run_as_it_is, OpRun.run = OpRun.run, run_rounded
    nodes = in_order(list(model.graph.node))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    class GatherElements(OpRun):  # type: ignore[misc]
        """That of the evaluator takes 64 elements at most."""

        op_domain = ""

        def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
            return (np.take_along_axis(data, np.where(indices < 0, indices + data.shape[axis], indices), axis),)

    evaluator = ReferenceEvaluator(model, new_ops=[GatherElements])
    return lambda feeds: evaluator.run(None, feeds)


def in_order(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Nodes after those whose results they read: ONNX Runtime's converter writes them in another order, and ONNX Runtime alone reads that."""
    makers = {name: number for number, node in enumerate(nodes) for name in node.output}
    placed: list[onnx.NodeProto] = []
    seen: set[int] = set()

    def place(number: int) -> None:
        if number in seen:
            return
        seen.add(number)
        for name in read_by(nodes[number]):
            if name in makers:
                place(makers[name])
        placed.append(nodes[number])

    for number in range(len(nodes)):
        place(number)
    return placed


def read_by(node: onnx.NodeProto) -> Iterator[str]:
    """What a node reads, and what its bodies do."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from read_by(inner)


#: Operators of the reference evaluator that are no arithmetic: bodies, and casts.
AS_THEY_ARE = ("If", "Loop", "Scan", "Cast", "CastLike", "SequenceMap")


def run_rounded(node: Any, *given: Any, **others: Any) -> Any:
    """A node of the reference evaluator: what it makes of half precision, in the dtype of its first input in half precision."""
    narrow = [x.dtype for x in given if isinstance(x, np.ndarray) and x.dtype.name in ("float16", "bfloat16")]
    if not narrow or node.onnx_node.op_type in AS_THEY_ARE:
        return node.run_as_it_is(*given, **others)
    widened = [x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype in narrow else x for x in given]
    return tuple(x.astype(narrow[0]) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x for x in node.run_as_it_is(*widened, **others))


#: Runtimes, by name.
RUNTIMES = {"ONNX Runtime": in_onnxruntime, "OpenVINO": in_openvino, "rounding": in_rounding}


def ran(job: Job) -> float:
    """Runs a file at some inputs. An error says whether it is one of loading."""
    model = onnx.load(job["model"])
    try:
        session = RUNTIMES[job["runtime"]](model, job)
    except TimeoutError:
        raise
    except Exception as error:
        raise RuntimeError(f"does not load: {reason(error)}") from error
    start = time.process_time()
    for path, target in zip(job["feeds"], job["results"], strict=True):
        results = session(feeds_of(model, path))
        np.savez(target, **{str(number): storable(result) for number, result in enumerate(results)})
    return time.process_time() - start


def storable(result: Any) -> np.ndarray:
    """An array that NumPy has a name for: bfloat16 as float32."""
    array = np.asarray(result)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def reason(error: BaseException) -> str:
    """An error in a line, without colours and paths."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    text = re.sub(r"(/[\w.+-]+)+/", "", text)
    return re.sub(r"\s+", " ", text)[:300] or type(error).__name__


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """An error after so many seconds of the processor."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"it takes longer than {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def done(job: Job) -> Job:
    try:
        with limited(LIMIT), contextlib.redirect_stdout(sys.stderr):
            return {"seconds": converted(job) if "way" in job else ran(job)}
    except BaseException as error:  # noqa: BLE001: what a converter raises may be anything.
        return {"error": reason(error)}


def main() -> None:
    jobs, target = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[1] + ".done")
    before = len(target.read_text().splitlines()) if target.exists() else 0
    for job in jobs[before:]:
        line = json.dumps(done(job))
        with target.open("a") as file:
            file.write(line + os.linesep)


if __name__ == "__main__":
    main()
