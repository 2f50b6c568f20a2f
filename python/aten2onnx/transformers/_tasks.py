"""The tasks: which class of transformers has the head, and which graphs a directory for the task contains."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .._errors import ArgumentError, InputError, require


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        auto: The auto classes that may have the head, the most likely first.
        graphs: What is exported: "model" (one graph without a cache), "decoder" (one graph with a cache), "encoder-decoder" (the encoder,
            and the decoder without and with a cache) or "image-text" (the vision encoder, the embedding and the decoder).
    """

    auto: tuple[str, ...]
    graphs: str = "model"


TASKS: dict[str, Task] = {
    "feature-extraction": Task(("AutoModel",)),
    "fill-mask": Task(("AutoModelForMaskedLM",)),
    "text-classification": Task(("AutoModelForSequenceClassification",)),
    "zero-shot-classification": Task(("AutoModelForSequenceClassification",)),
    "token-classification": Task(("AutoModelForTokenClassification",)),
    "question-answering": Task(("AutoModelForQuestionAnswering",)),
    "next-sentence-prediction": Task(("AutoModelForNextSentencePrediction",)),
    "text-generation": Task(("AutoModelForCausalLM",), "decoder"),
    "text2text-generation": Task(("AutoModelForSeq2SeqLM",), "encoder-decoder"),
    "automatic-speech-recognition": Task(("AutoModelForSpeechSeq2Seq", "AutoModelForCTC"), "encoder-decoder"),
    "audio-classification": Task(("AutoModelForAudioClassification",)),
    "audio-frame-classification": Task(("AutoModelForAudioFrameClassification",)),
    "audio-xvector": Task(("AutoModelForAudioXVector",)),
    "image-classification": Task(("AutoModelForImageClassification",)),
    "image-segmentation": Task(("AutoModelForImageSegmentation", "AutoModelForUniversalSegmentation", "AutoModelForSemanticSegmentation")),
    "semantic-segmentation": Task(("AutoModelForSemanticSegmentation",)),
    "instance-segmentation": Task(("AutoModelForInstanceSegmentation", "AutoModelForUniversalSegmentation")),
    "object-detection": Task(("AutoModelForObjectDetection",)),
    "zero-shot-object-detection": Task(("AutoModelForZeroShotObjectDetection",)),
    "depth-estimation": Task(("AutoModelForDepthEstimation",)),
    "keypoint-detection": Task(("AutoModelForKeypointDetection",)),
    "masked-im": Task(("AutoModelForMaskedImageModeling",)),
    "image-to-image": Task(("AutoModelForImageToImage",)),
    "video-classification": Task(("AutoModelForVideoClassification",)),
    "zero-shot-image-classification": Task(("AutoModelForZeroShotImageClassification",)),
    "image-text-to-text": Task(("AutoModelForImageTextToText",), "image-text"),
}
_OTHER_NAMES = {
    "causal-lm": "text-generation",
    "text-generation-with-past": "text-generation",
    "seq2seq-lm": "text2text-generation",
    "text2text-generation-with-past": "text2text-generation",
    "automatic-speech-recognition-with-past": "automatic-speech-recognition",
    "sequence-classification": "text-classification",
    "sentence-similarity": "feature-extraction",
    "masked-lm": "fill-mask",
}


def task(name: str) -> Task:
    """The task with a name."""
    found = TASKS.get(_OTHER_NAMES.get(name, name))
    if found is None:
        raise InputError(f"no task `{name}`", help=f"the tasks are {', '.join(sorted(TASKS))}")
    return found


def load(source: Any, name: str | None, trust_remote_code: bool = False) -> tuple[Any, Task]:
    """Returns the model and its task. A path is loaded with the class that has the head of the task."""
    transformers = require("transformers", "loading a Hugging Face model")
    if not isinstance(source, (str, os.PathLike)):
        if not isinstance(source, transformers.PreTrainedModel):
            raise ArgumentError(
                f"model: expected a model of transformers or what `from_pretrained` takes, found an object of the class `{type(source).__name__}`",
                help="`aten2onnx.export` takes any module of PyTorch",
            )
        wanted = task(name or infer(source.config, type(source).__name__))
        return source.eval(), _without_cache(source, wanted)
    config = _loaded(transformers.AutoConfig, source, trust_remote_code)
    wanted = task(name or infer(config, next(iter(getattr(config, "architectures", None) or ()), "")))
    for auto in wanted.auto:
        kind = getattr(transformers, auto)
        if type(config) in kind._model_mapping:
            model = _loaded(kind, source, trust_remote_code)
            return model.eval(), _without_cache(model, wanted)
    raise InputError(f"{type(config).__name__} has no model for the task `{name}`", help="pass another task, or the model itself instead of its path")


def _loaded(kind: Any, source: Any, trust_remote_code: bool) -> Any:
    """What `from_pretrained` of an auto class returns."""
    try:
        return kind.from_pretrained(source, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as error:  # what it raises for all that is wrong with a name, a folder or the network
        raise InputError(f"cannot load `{os.fspath(source)}`: {error}", help="pass the folder of a model, the name of a repository, or the model itself") from error


def infer(config: Any, architecture: str) -> str:
    """The task of a class of models, from its name."""
    from transformers.models.auto import modeling_auto

    # A class that generates may also fill masks.
    for name, known in sorted(TASKS.items(), key=lambda item: item[1].graphs == "model"):
        for auto in known.auto:
            mapping = getattr(getattr(modeling_auto, auto), "_model_mapping", None)
            if mapping is not None and auto != "AutoModel" and type(config) in mapping and _is(mapping[type(config)], architecture):
                return name
    return "feature-extraction"


def _is(found: Any, architecture: str) -> bool:
    kinds = found if isinstance(found, (list, tuple)) else [found]
    return any(getattr(kind, "__name__", None) == architecture for kind in kinds)


def _without_cache(model: Any, wanted: Task) -> Task:
    """A task whose model has no decoder, such as speech recognition with CTC, is one graph."""
    if wanted.graphs == "encoder-decoder" and not getattr(model.config, "is_encoder_decoder", False):
        return Task(wanted.auto)
    return wanted
