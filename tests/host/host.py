"""Runs Python programs for tests, each in a fork of one process that has imported PyTorch: importing it again takes seconds for each.

    host.py SOCKET

Each connection is a program (client.py): its standard streams, and a line of JSON with "arguments", "folder" and "environment". The answer is its
exit code. A fork ends with its connection, and this process with the end of its standard input.
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


def execute(first, arguments):
    """Runs a program as Python itself would, and returns its exit code."""
    try:
        if first == "-c":
            sys.argv = ["-c", *arguments[1:]]
            sys.path[0] = ""
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(arguments[0], "<string>", "exec"), main.__dict__)
        else:
            sys.argv = [first, *arguments]
            sys.path[0] = os.path.dirname(os.path.abspath(first))
            runpy.run_path(first, run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


def end_with(connection):
    """Ends this process when its client ends, which sends nothing more."""
    connection.recv(1)
    os._exit(1)


def serve(connection):
    """In a fork: one program."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    program = json.loads(connection.makefile("rb").readline())
    threading.Thread(target=end_with, args=(connection,), daemon=True).start()
    os.environ.clear()
    os.environ.update(program["environment"])
    os.chdir(program["folder"])
    code = execute(program["arguments"][0], program["arguments"][1:])
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
            serve(connection)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
