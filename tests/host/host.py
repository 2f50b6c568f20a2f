"""Runs Python programs for tests, each in a fork of one process that has imported PyTorch: importing it again takes seconds for each.

    host.py SOCKET

A connection sends a program as JSON: the path of a "script" or a "code", "arguments", a "folder", and the files "stdout" and "stderr" for what
it prints; without files, that goes where the host prints errors. The answer is the exit code. The process ends with the end of its standard input.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import socket
import sys
import threading
import traceback
import types
import warnings

# What most programs import. They find them imported; torch.export.export imports the others when it runs first.
MODULES = """
numpy onnx onnx.checker onnx.reference onnxruntime torch torch.export torch.export._trace torch._dynamo torch._export torch._higher_order_ops
torch._inductor.config torch.fx.experimental.symbolic_shapes torch.testing
""".split()


def preload():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            try:
                importlib.import_module(name)
            except ImportError:
                pass  # the program that needs it says so
    gc.collect()
    gc.freeze()


def redirect(path, number):
    """What the process prints goes to a file or, if there is none, where errors of the host go."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if path else os.dup(2)
    os.dup2(file, number)
    os.close(file)


def execute(program):
    """Runs a program as Python itself would, and returns its exit code."""
    try:
        if program["script"]:
            sys.argv = [program["script"], *program["arguments"]]
            sys.path[0] = os.path.dirname(program["script"])
            runpy.run_path(program["script"], run_name="__main__")
        else:
            sys.argv = ["-c", *program["arguments"]]
            sys.path[0] = ""
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(program["code"], "<string>", "exec"), main.__dict__)
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


def serve(connection):
    """In a fork: one program."""
    program = json.loads(connection.makefile("rb").read())
    redirect(program["stdout"], 1)
    redirect(program["stderr"], 2)
    os.chdir(program["folder"])
    code = execute(program)
    # What Python does at its end; nothing of the host runs after it.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(str(code & 0xFF).encode())


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def main(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    preload()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [], 5)
        reap()
        if sys.stdin in ready:
            return
        if listener not in ready:
            continue
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        # Nothing of the host, such as its exit, happens in the fork.
        try:
            listener.close()
            sys.stdin = open(os.devnull)
            serve(connection)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
