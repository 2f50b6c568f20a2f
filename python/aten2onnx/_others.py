"""Arguments of `torch.onnx.export`, of both its exporters, that have no meaning of their own here: what each gets instead."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ._errors import UnsupportedError

_TRAINING = "the module is exported in the mode that it is in: call `model.eval()` or `model.train()` before"

#: Name, the values that ask for nothing else than what happens anyhow, and what to know where another one is given.
IGNORED: dict[str, tuple[tuple[Any, ...], str]] = {
    "dynamo": ((True, None), "there is one exporter, which captures with torch.export"),
    "verbose": ((None, False, True), ""),
    "profile": ((False, None), "the seconds of each step are in `.report`"),
    "training": ((None, "TrainingMode.EVAL"), _TRAINING),
    "operator_export_type": ((None, "OperatorExportTypes.ONNX"), "operators become ONNX operators, or what `mappings` says"),
    "do_constant_folding": ((True, None), "`optimize=False` leaves the graph as the rules write it"),
    "keep_initializers_as_inputs": ((False, None), "weights are constants of the model: at the IR versions written here (4 and later) they need not be inputs"),
    "custom_opsets": ((None,), "a mapping file states the version of a domain: `import_domain \"mydomain\" 1`"),
    "export_modules_as_functions": ((False, None), "modules are not made ONNX functions; the names of nodes tell the module's path"),
    "autograd_inlining": ((True, None), "torch.export looks into autograd.Function by itself"),
}

#: Those that ask for another model than would be made: refused.
REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "custom_translation_table": ((None, "{}"), "write a rule for the operator in a mapping file: `mappings=\"my_ops.opmap\"`"),
    "export_params": ((True, None), "a model without its weights is not written; `external_data=\"always\"` puts them into a file of their own"),
}


def check(arguments: Mapping[str, Any]) -> None:
    """Warns of arguments that are ignored.

    Raises:
        TypeError: for one that torch.onnx.export does not know either.
        UnsupportedError: for one that cannot be ignored.
    """
    for name, value in arguments.items():
        if name in REFUSED:
            harmless, reason = REFUSED[name]
            if not _is_one_of(value, harmless):
                raise UnsupportedError(f"`{name}` is not supported", help=reason)
        elif name in IGNORED:
            harmless, reason = IGNORED[name]
            if not _is_one_of(value, harmless):
                warnings.warn(f"`{name}` is ignored: {reason}", stacklevel=4)
        else:
            raise TypeError(f"export() got an unexpected keyword argument '{name}'")


def fallback(choice: str | bool | None) -> str | None:
    """What is to become of operators without a rule; torch.onnx has True and False, for its own older exporter."""
    if choice is True:
        warnings.warn("`fallback=True` is ignored: there is no other exporter to fall back to, only \"aten\"", stacklevel=3)
    return None if isinstance(choice, bool) else choice


def _is_one_of(value: Any, harmless: tuple[Any, ...]) -> bool:
    # The enums of torch are told by their text: torch need not be there.
    return any(value is known or str(value) == known for known in harmless)
