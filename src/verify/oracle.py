"""Answers questions about calls of PyTorch's operators, for `aten2onnx-codegen verify`.

    oracle.py [MODULE ...]

Reads a line of JSON with a list of questions, writes a line with a list of answers, until the input ends.
`{"types": RECORD}` is answered by `{"types": [["float32", [2, 3]], ..], "random": false}`, or by `{"refused": "why"}` where PyTorch refuses the call.
`{"judge": RECORD}` is answered by the verdict of judge.py. Records are those of judge.py, which lies in the same folder.
"""
import contextlib
import faulthandler
import json
import os
import resource
import sys
import warnings
import zlib

import judge
import numpy as np

# Results with more elements are not compared.
MOST_ELEMENTS = 1_000_000
# Bytes of memory beyond those after the imports.
MOST_MEMORY = 4 << 30
# Seconds for one question. Whoever needs more counts as crashed.
MOST_SECONDS = 60


def types(record):
    rng = np.random.default_rng(zlib.crc32(record["text"].encode()))
    try:
        inputs = [judge.make_input(spec, rng) for spec in record["inputs"]]
        results, random = judge.run_torch(record, inputs)
        if sum(result.size for result in results) > MOST_ELEMENTS:
            return {"refused": "the results are too large to be compared"}
        return {"types": [[result.dtype.name, list(result.shape)] for result in results], "random": random}
    except Exception as error:
        return {"refused": judge.first_line(error)}


def answer(question):
    (kind, record), = question.items()
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=open(os.devnull, "w"))
    return types(record) if kind == "types" else json.loads(judge.judge(json.dumps(record)))


def limit_memory():
    with open("/proc/self/statm") as f:
        used = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, resource.RLIM_INFINITY))


def main(*modules):
    warnings.simplefilter("ignore")
    judge.warm_up(modules)
    with contextlib.suppress(OSError, ValueError):
        limit_memory()
    # What libraries print must not get between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps([answer(question) for question in json.loads(line)]), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
