"""Runs programs of the backend in ONNX Runtime, for `transformers.exporters`."""

from __future__ import annotations

from typing import Any

from transformers.exporters.metadata import ExportMetadata
from transformers.exporters.runners import ModelRunner
from transformers.exporters.utils import onnx_inputs

from .. import _runtime
from .._errors import InputError, require
from .._program import ONNXProgram
from ._backend import SavedProgram


class Aten2OnnxRunner(ModelRunner):
    """Runs one program in a session of ONNX Runtime: takes and returns what the model does."""

    def __init__(self, metadata: ExportMetadata, session: Any, owner: Any = None) -> None:
        super().__init__(metadata)
        self.session = session
        self._owner = owner  # keeps the files of the session

    @property
    def device(self) -> Any:
        """Where the program runs."""
        import torch

        provider = self.session.get_providers()[0]
        return torch.device("cuda" if provider.startswith(("CUDA", "Tensorrt")) else "cpu")

    @classmethod
    def from_program(  # type: ignore[override]
        cls,
        program: ONNXProgram | SavedProgram,
        metadata: ExportMetadata,
        device: Any = None,
        providers: list[Any] | None = None,
        session_options: Any = None,
    ) -> Aten2OnnxRunner:
        """Opens a session for a program on a device, or with the given providers of ONNX Runtime."""
        runtime = require("onnxruntime", "running the model")
        if device is not None and providers is not None:
            raise InputError("both `device` and `providers` are given", help="pass only `providers`: they choose the device")
        providers = providers or _providers(runtime, device)
        if isinstance(program, ONNXProgram):
            options = {} if session_options is None else {"sess_options": session_options}
            program.initialize_inference_session(providers, **options)
            return cls(metadata, program._session, program)
        return cls(metadata, runtime.InferenceSession(str(program.path), session_options, providers=providers))

    def __call__(self, share_inputs: bool = True, share_outputs: bool = False, **kwargs: Any) -> Any:
        """Runs the program. The inputs are read in place; the outputs are always copies."""
        names = [value.name for value in self.session.get_inputs()]
        inputs = onnx_inputs(names, kwargs)
        missing = [name for name in names if name not in inputs]
        if missing:
            raise InputError(f"the program needs {', '.join(missing)}, found {', '.join(kwargs)}")
        return self.unflatten(_runtime.run(self.session, inputs, as_torch=True))


def _providers(runtime: Any, device: Any) -> list[Any]:
    import torch

    available = runtime.get_available_providers()
    if device is None:
        device = "cuda" if torch.cuda.is_available() and "CUDAExecutionProvider" in available else "cpu"
    device = torch.device(device)
    if device.type == "cpu":
        return ["CPUExecutionProvider"]
    if device.type == "cuda" and "CUDAExecutionProvider" in available:
        return [("CUDAExecutionProvider", {"device_id": device.index or 0}), "CPUExecutionProvider"]
    raise InputError(f"this build of ONNX Runtime does not run on `{device}`", help=f"its providers are {', '.join(available)}")
