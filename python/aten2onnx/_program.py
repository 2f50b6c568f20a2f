"""The result of an export."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from . import _progress
from ._errors import Error, UnsupportedError, require
from ._report import Report


class ONNXProgram:
    """An exported model.

    The weights are those of the module, and are only read when the model is saved or run.

    Attributes:
        report: what the export did.
        exported_program: the ExportedProgram that was translated; None for a `.pt2` file.
    """

    def __init__(self, model: Any, report: Report, live: Any = None) -> None:
        self._model = model
        self._live = live
        self._session: Any = None
        self._folder: TemporaryDirectory[str] | None = None
        self._progress: bool | None = None
        self.report = report

    @property
    def exported_program(self) -> Any:
        """The ExportedProgram that was translated; None for a `.pt2` file."""
        return self._live.exported if self._live is not None else None

    @property
    def model_bytes(self) -> bytes:
        """The model in one piece, up to protobuf's limit of 2 GiB."""
        self._check()
        with _progress.shown(self._progress) as progress:
            progress.step("writing")
            return self._model.serialized(progress)

    @property
    def model_proto(self) -> Any:
        """The model as an `onnx.ModelProto`."""
        return require("onnx", "`.model_proto`").load_from_string(self.model_bytes)

    def save(self, destination: str | os.PathLike[str] | BinaryIO, *, external_data: bool | str | None = None) -> None:
        """Writes the model.

        Args:
            destination: a path, or something with `write`, which gets the model in one piece.
            external_data: where the weights go, as in `export`; as chosen there if it is left out.
        """
        if hasattr(destination, "write"):
            destination.write(self.model_bytes)
            return
        self._check()
        with self.report.timed("write"), _progress.shown(self._progress) as progress:
            progress.step("writing")
            choice = None if external_data is None else external_data_choice(external_data)
            sizes = self._model.save(os.fspath(destination), choice, progress)
        files = [{"path": str(sizes["path"]), "bytes": sizes["bytes"]}]
        if sizes["data_path"] is not None:
            files.append({"path": str(sizes["data_path"]), "bytes": sizes["data_bytes"]})
        self.report.files += files

    def initialize_inference_session(self, providers: Sequence[Any] = ("CPUExecutionProvider",), **options: Any) -> None:
        """Makes the session of ONNX Runtime that calling this object uses, with other providers or options than by itself."""
        runtime = require("onnxruntime", "running the model")
        self.release()
        self._folder = TemporaryDirectory(prefix="aten2onnx-")
        path = os.path.join(self._folder.name, "model.onnx")
        self._check()
        self._model.save(path, "auto", None)
        if "sess_options" not in options:
            options["sess_options"] = runtime.SessionOptions()
            options["sess_options"].log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(path, providers=list(providers), **options)
        except Exception as error:  # its errors have no class in common
            raise UnsupportedError(
                f"ONNX Runtime {runtime.__version__} cannot run this model: {str(error).splitlines()[0]}",
                help="the model is valid ONNX, but this runtime has not all of it: try `target=\"onnxruntime\"`, another `opset_version` or another dtype",
            ) from error

    def release(self) -> None:
        """Lets go of the session and its files."""
        self._session = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Runs the model in ONNX Runtime: the outputs in order, tensors if this was exported from PyTorch, else arrays.

        The arguments are those of the module, and buffers that are inputs (`keep_mutations`) hold what they hold there; for a `.pt2` file arrays in the order of the inputs, or by the inputs' names.
        """
        from . import _runtime

        if self._session is None:
            self.initialize_inference_session()
        names = [value.name for value in self._session.get_inputs()]
        if self._live is not None:
            values = _runtime.flat_inputs(self._live.exported, args, kwargs)
            values += _runtime.state(self._live.exported, names[len(values) :])
        else:
            values = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        if len(values) != len(names):
            raise Error(f"the model has the inputs {', '.join(names)}, but {len(values)} are given")
        return _runtime.run(self._session, dict(zip(names, values)), as_torch=self._live is not None)

    def verify(
        self,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Report:
        """Compares the results with PyTorch's, in ONNX Runtime.

        Args:
            args: inputs; without any, those that the module was exported with.
            kwargs: the same by name.
            rtol: the relative difference that is allowed; by itself what fits the dtype.
            atol: the absolute difference that is allowed.

        Raises:
            VerificationError: with the first node where the two part.
        """
        from ._verify import verify

        verify(self, args, kwargs, rtol=rtol, atol=atol)
        return self.report

    def _check(self) -> None:
        if self._live is not None:
            self._live.check()

    def __repr__(self) -> str:
        report = self.report
        inputs = ", ".join(f"{name}: {kind}" for name, kind in report.inputs)
        outputs = ", ".join(f"{name}: {kind}" for name, kind in report.outputs)
        return f"ONNXProgram({report.model}, opset {report.opset}, {report.nodes} nodes: ({inputs}) -> ({outputs}))"


def external_data_choice(choice: bool | str) -> str:
    """`torch.onnx.export` has True and False."""
    if isinstance(choice, bool):
        return "always" if choice else "never"
    return choice
