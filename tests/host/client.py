"""Is called as Python is, and runs a program in a fork of host.py, which has imported PyTorch.

    client.py SOCKET PYTHON [ARGUMENT ..]

The fork has the standard streams, folder and environment of this process, and ends with it. Python itself runs what would not be the same in a
fork: another start than a script or `-c`, or another path for modules.
"""

import json
import os
import socket
import sys


def main(path, python, arguments):
    has_program = bool(arguments) and (arguments[0] == "-c" or not arguments[0].startswith("-"))
    if not has_program or "PYTHONPATH" in os.environ:
        os.execv(python, [python, *arguments])
    program = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    # The first byte carries the streams.
    socket.send_fds(connection, [b"\n"], [0, 1, 2])
    connection.sendall(json.dumps(program).encode() + b"\n")
    # A fork that dies gives no answer.
    answer = connection.makefile("rb").read()
    return int(answer) if answer else "the Python program died"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
