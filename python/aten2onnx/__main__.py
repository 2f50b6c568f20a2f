"""The command `aten2onnx`, also as `python -m aten2onnx`."""

import sys

from . import _native


def main() -> int:
    """Runs the command line of this process; the exit code."""
    return _native.main(["aten2onnx", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
