"""Hugging Face models: `pip install aten2onnx[transformers]`.

    import aten2onnx.transformers

    aten2onnx.transformers.export("meta-llama/Llama-3.2-1B", "folder", task="text-generation")

Importing this package registers the backend "aten2onnx" of `transformers.exporters`:

    from transformers.exporters import AutoHfExporter
    from aten2onnx.transformers import Aten2OnnxConfig

    config = Aten2OnnxConfig(dynamic=True, opset_version=17)
    exported = AutoHfExporter.from_config(config).export(model, inputs, config)
    exported.save_pretrained("folder")
"""

from .._errors import require

require("transformers", "exporting Hugging Face models")

from transformers.exporters import register_backend  # noqa: E402
from transformers.exporters.auto import EXPORT_BACKENDS  # noqa: E402

from ._backend import FORMAT, Aten2OnnxConfig, Aten2OnnxExporter, SavedProgram  # noqa: E402
from ._directory import Exported, export  # noqa: E402
from ._runner import Aten2OnnxRunner  # noqa: E402

if FORMAT not in EXPORT_BACKENDS:
    register_backend(Aten2OnnxExporter, Aten2OnnxRunner)

__all__ = ["Aten2OnnxConfig", "Aten2OnnxExporter", "Aten2OnnxRunner", "Exported", "SavedProgram", "export"]
