"""The command `aten2onnx`, also available as `python -m aten2onnx`."""

import sys

from . import _native


def main() -> int:
    """Runs the command line of this process and returns the exit code."""
    return _native.main(["aten2onnx", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
