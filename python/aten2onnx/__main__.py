"""The command `aten2onnx`, also available as `python -m aten2onnx`."""

import sys

from . import _native


def main() -> int:
    """Runs the command line of this process and returns the exit code."""
    if sys.argv[1:2] == ["hf"]:
        return _hugging_face(sys.argv[2:])
    if sys.argv[1:2] == ["diff"] and any(argument.split("=")[0] in ("--inputs", "--random") for argument in sys.argv[2:]):
        from ._diff_command import main as diff

        return diff(sys.argv[2:])
    options = [argument.split("=")[0] for argument in sys.argv[2:]]
    if sys.argv[1:2] == ["calibrate"] or sys.argv[1:2] == ["convert"] and "--calibrate" in options:
        from . import _calibrate_command

        return _calibrate_command.convert(sys.argv[2:]) if sys.argv[1] == "convert" else _calibrate_command.main(sys.argv[2:])
    return _native.main(["aten2onnx", *sys.argv[1:]])


def _hugging_face(arguments: list[str]) -> int:
    """`aten2onnx hf MODEL DIR`, which needs transformers."""
    from ._errors import MissingPackageError, exit_code_of

    try:
        from .transformers._command import main as run
    except MissingPackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
