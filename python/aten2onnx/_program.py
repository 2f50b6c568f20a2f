"""The result of an export."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _arguments, _progress
from ._errors import ArgumentError, InputError, UnsupportedError, require
from ._report import Report
from ._types import Args, Exported, ExternalData, Precision, Proto, Results, Tensor, Writable

if TYPE_CHECKING:
    from ._calls import Call
    from ._live import LiveProgram
    from ._native import Model


class ONNXProgram:
    """An exported model.

    The weights of a module are read from its memory when the model is saved or run.

    Attributes:
        report: The report of the export.
        exported_program: The ExportedProgram that was translated; None for a `.pt2` file, and for a module that was recorded.
    """

    def __init__(self, model: Model, report: Report, live: LiveProgram | None = None, call: Call | None = None) -> None:
        self._model = model
        self._live = live
        self._call = call
        self._session: Any = None
        self._folder: TemporaryDirectory[str] | None = None
        self._progress: bool | None = None
        self._precision: Precision | None = None
        self._quantized: str | None = None
        self._source: TemporaryDirectory[str] | None = None
        self.report = report

    @property
    def exported_program(self) -> Exported:
        """The ExportedProgram that was translated; None for a `.pt2` file, and for a module that was recorded."""
        return None if self._live is None or self._live.is_recorded else self._live.exported

    @property
    def model_bytes(self) -> bytes:
        """The model as bytes, up to protobuf's limit of 2 GiB."""
        self._check()
        with _progress.shown(self._progress) as progress:
            progress.step("writing")
            return self._model.serialized(progress)

    @property
    def model_proto(self) -> Proto:
        """The model as an `onnx.ModelProto`."""
        return require("onnx", "`.model_proto`").load_from_string(self.model_bytes)

    @_arguments.checked
    def save(self, destination: str | os.PathLike[str] | Writable, *, external_data: ExternalData | None = None) -> None:
        """Writes the model.

        Args:
            destination: A path, or an object with `write`.
            external_data: Where the weights go, as in `export` (default: the choice made there).
        """
        if isinstance(destination, Writable):
            destination.write(self.model_bytes)
            return
        self._check()
        with self.report.timed("write"), _progress.shown(self._progress) as progress:
            progress.step("writing")
            choice = None if external_data is None else external_data_choice(external_data)
            sizes = self._model.save(os.fspath(destination), choice, progress)
        self.report.of_files(sizes)

    @_arguments.checked
    def save_adapter(self, path: str | os.PathLike[str], weights: str | os.PathLike[str] | Mapping[str, Tensor] | None = None) -> None:
        """Writes a file `.onnx_adapter` for ONNX Runtime, with values for the weights that `adapters` kept as inputs.

        Args:
            path: The file.
            weights: The values: a safetensors file, such as that of peft, or tensors by name (default: those of the model). The name that
                peft gives an adapter in a module (`lora_A.default.weight`) may be left out.
        """
        self._check()
        if weights is None or isinstance(weights, (str, os.PathLike)):
            self._model.save_adapter(os.fspath(path), None if weights is None else os.fspath(weights))
            return
        from ._live import facts
        from ._weights import tensors

        self._model.save_adapter(os.fspath(path), None, {name: facts(name, value) for name, value in tensors("weights", weights).items()})

    @_arguments.checked
    def initialize_inference_session(self, providers: Sequence[str | tuple[str, Mapping[str, object]]] = ("CPUExecutionProvider",), **options: object) -> None:
        """Creates the ONNX Runtime session that calling this object uses, with the given providers and options."""
        runtime = require("onnxruntime", "running the model")
        _check_providers(runtime, providers)
        self.release()
        self._folder = TemporaryDirectory(prefix="aten2onnx-")
        path = os.path.join(self._folder.name, "model.onnx")
        self._check()
        self._model.save(path, "auto", None)
        if "sess_options" not in options:
            quiet = runtime.SessionOptions()
            quiet.log_severity_level = 3
            options["sess_options"] = quiet
        try:
            self._session = runtime.InferenceSession(path, providers=list(providers), **options)
        except TypeError as error:
            raise ArgumentError(f"ONNX Runtime {runtime.__version__} does not take these options: {str(error).splitlines()[0]}") from error
        except Exception as error:  # the errors of ONNX Runtime have no common base class
            raise UnsupportedError(
                f"ONNX Runtime {runtime.__version__} cannot run this model: {str(error).splitlines()[0]}",
                help="the model is valid, but this runtime does not support all of it: try `target=\"onnxruntime\"`, another `opset_version` or another dtype",
            ) from error

    def release(self) -> None:
        """Closes the session and deletes its files."""
        self._session = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __call__(self, *args: object, **kwargs: object) -> Results:
        """Runs the model in ONNX Runtime.

        Takes the arguments of the module. Buffers that are inputs (`keep_mutations`) have their values in the module. For a `.pt2` file it
        takes arrays, in the order of the inputs or by name.

        Returns:
            The outputs in order, as arrays for a `.pt2` file, else as tensors.
        """
        return self._run(*self._arranged(args, kwargs))

    def _arranged(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Returns the arguments of the program for arguments of the module."""
        if self._call is None:
            return args, kwargs or {}
        return (), self._call.arranged(args, kwargs or {})

    def _run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        from . import _runtime

        if self._session is None:
            self.initialize_inference_session()
        inputs = self._session.get_inputs()
        names = [value.name for value in inputs]
        values = self._values(names, args, kwargs)
        if self._precision is not None:
            values = [_runtime.of_type(value, given.type) for value, given in zip(values, inputs)]
        return _runtime.run(self._session, dict(zip(names, values)), as_torch=self._live is not None)

    def _values(self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of the inputs of the file for arguments of the program."""
        from . import _runtime

        if self._live is not None:
            values = _runtime.flat_inputs(self._live.exported, args, kwargs)
            values += _runtime.state(self._live.exported, names[len(values) :])
        else:
            values = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        if len(values) != len(names):
            raise InputError(f"the model has the inputs {', '.join(names)}, found {len(values)} arguments")
        return values

    def _feeds_of(self, run: Any) -> dict[str, Any]:
        """The inputs of the file by name, for a call of the module: a tensor, a sequence of arguments, or those by name."""
        names = [name for name, _ in self.report.inputs]
        if isinstance(run, Mapping):
            args, kwargs = self._arranged((), run)
        elif isinstance(run, Sequence) or hasattr(run, "detach"):
            args, kwargs = self._arranged((run,) if hasattr(run, "detach") else tuple(run), {})
        else:
            raise ArgumentError(f"calibrate: found a run of the class `{type(run).__name__}`", help="a run is a tuple of arguments, or a mapping with their names")
        return dict(zip(names, self._values(names, args, kwargs)))

    def _results(self, result: Any) -> dict[str, Any]:
        """Returns the tensors in a result of the module, by their names in the model."""
        from ._calls import outputs

        return outputs(result) if self._call is None else self._call.results(result)

    @_arguments.checked
    def verify(
        self,
        args: Args = None,
        kwargs: Mapping[str, object] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Report:
        """Compares the results with PyTorch's, in ONNX Runtime.

        Args:
            args: Inputs (default: the example inputs of the export).
            kwargs: Inputs by name.
            rtol: The allowed relative difference (default: depends on the dtype).
            atol: The allowed absolute difference (default: depends on the dtype).

        Raises:
            VerificationError: The results differ. The error names the first node whose results differ.
        """
        from ._verify import verify

        given = None if args is None else _arguments.arguments("args", args)
        verify(self, given, kwargs, rtol=rtol, atol=atol)
        return self.report

    def _check(self) -> None:
        if self._live is not None:
            self._live.check()

    def __repr__(self) -> str:
        report = self.report
        inputs = ", ".join(f"{name}: {kind}" for name, kind in report.inputs)
        outputs = ", ".join(f"{name}: {kind}" for name, kind in report.outputs)
        return f"ONNXProgram({report.model}, opset {report.opset}, {report.nodes} nodes: ({inputs}) -> ({outputs}))"


def external_data_choice(choice: ExternalData) -> str:
    """Translates the True and False of `torch.onnx.export`."""
    if isinstance(choice, bool):
        return "always" if choice else "never"
    return choice


def _check_providers(runtime: Any, providers: Sequence[str | tuple[str, Mapping[str, object]]]) -> None:
    """Raises an error for a provider that ONNX Runtime does not have here."""
    known = runtime.get_available_providers()
    for provider in providers:
        name = provider if isinstance(provider, str) else provider[0] if provider else None
        if name not in known:
            raise ArgumentError(f"providers: ONNX Runtime {runtime.__version__} has no {name!r} here", help=f"it has {', '.join(known)}")
