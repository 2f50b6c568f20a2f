"""Arguments of both `torch.onnx.export` exporters that aten2onnx ignores or rejects, with the reasons."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ._arguments import unknown
from ._errors import UnsupportedError

_TRAINING = "the module is exported in its current mode: call `model.eval()` or `model.train()` first"

#: For each argument the values that need no warning, and the reason in the warning for others.
IGNORED: dict[str, tuple[tuple[Any, ...], str]] = {
    "dynamo": ((True, None), "there is one exporter; `capture` chooses how a module is captured"),
    "verbose": ((None, False, True), ""),
    "profile": ((False, None), "`.report` has the time of each step"),
    "training": ((None, "TrainingMode.EVAL"), _TRAINING),
    "operator_export_type": ((None, "OperatorExportTypes.ONNX"), "use `mappings` for operators that ONNX lacks"),
    "do_constant_folding": ((True, None), "use `optimize=False` to skip the optimization passes"),
    "keep_initializers_as_inputs": ((False, None), "weights are constants; from IR version 4 on they need not be inputs"),
    "custom_opsets": ((None,), "a mapping file states the version of a domain: `import_domain \"mydomain\" 1`"),
    "export_modules_as_functions": ((False, None), "use `functions=\"modules\"`, or `functions=\"repeated\"` for those that occur more than once"),
    "autograd_inlining": ((True, None), "autograd.Function is always captured as the calls that it makes"),
}

#: Arguments whose values would need another model. They are errors.
REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "custom_translation_table": ((None, "{}"), "write a rule for the operator in a mapping file: `mappings=\"my_ops.opmap\"`"),
    "export_params": ((True, None), "models without weights are not supported; `external_data=\"always\"` writes them to a separate file"),
}


def check(arguments: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Warns about ignored arguments.

    Raises:
        ArgumentError: For an argument that torch.onnx.export does not have either.
        UnsupportedError: For an argument that cannot be ignored.
    """
    for name, value in arguments.items():
        if name in REFUSED:
            harmless, reason = REFUSED[name]
            if not _is_one_of(value, harmless):
                raise UnsupportedError(f"`{name}` is not supported", help=reason)
        elif name in IGNORED:
            harmless, reason = IGNORED[name]
            if not _is_one_of(value, harmless):
                warnings.warn(f"`{name}` is ignored: {reason}", stacklevel=5)
        else:
            known = inspect.signature(function).parameters
            raise unknown(function.__name__, name, [known for known in known if known != "others"])


def fallback(choice: str | bool | None) -> str | None:
    """Returns the fallback for operators without a rule. torch.onnx uses True and False to fall back to its older exporter."""
    if choice is True:
        warnings.warn("`fallback=True` is ignored: there is no other exporter to fall back to; the only fallback is \"aten\"", stacklevel=4)
    return None if isinstance(choice, bool) else choice


def _is_one_of(value: Any, harmless: tuple[Any, ...]) -> bool:
    # Enums of torch are compared as text, because torch may not be installed.
    return any(value is known or str(value) == known for known in harmless)
