"""Runs what `aten2onnx.transformers.export` writes with optimum-onnx and with transformers.js, and compares with PyTorch.

    python tests/transformers/ecosystem.py --optimum /path/to/venv/bin/python     # a Python with optimum-onnx
    python tests/transformers/ecosystem.py --js /path/to/folder                   # a folder with node_modules/@huggingface/transformers
    python tests/transformers/ecosystem.py --optimum .. --js .. bert t5           # some cases

What must be installed:

    uv venv optimum && uv pip install --python optimum/bin/python optimum-onnx==0.1.0 onnxruntime==1.31.1   # with its own transformers
    npm install --prefix js @huggingface/transformers@4.3.1

The models are tiny and have random weights. Each directory also gets `expected.json`: inputs, and what PyTorch makes of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import generate
import tiny
import torch

#: The cases: the type, the task, the class of optimum-onnx, and whether transformers.js runs it too.
CASES: dict[str, tuple[str, str, str, bool]] = {
    "llama": ("llama", "text-generation", "ORTModelForCausalLM", True),
    "qwen3": ("qwen3", "text-generation", "ORTModelForCausalLM", True),
    "gpt2": ("gpt2", "text-generation", "ORTModelForCausalLM", True),
    "mistral": ("mistral", "text-generation", "ORTModelForCausalLM", True),
    "gemma3_text": ("gemma3_text", "text-generation", "ORTModelForCausalLM", True),
    "t5": ("t5", "text2text-generation", "ORTModelForSeq2SeqLM", True),
    "bart": ("bart", "text2text-generation", "ORTModelForSeq2SeqLM", True),
    "whisper": ("whisper", "automatic-speech-recognition", "ORTModelForSpeechSeq2Seq", True),
    "bert": ("bert", "feature-extraction", "ORTModelForFeatureExtraction", True),
    "bert-classes": ("bert", "text-classification", "ORTModelForSequenceClassification", True),
    "distilbert-classes": ("distilbert", "token-classification", "ORTModelForTokenClassification", True),
    "roberta-answers": ("roberta", "question-answering", "ORTModelForQuestionAnswering", True),
    "albert-mask": ("albert", "fill-mask", "ORTModelForMaskedLM", True),
    "vit": ("vit", "image-classification", "ORTModelForImageClassification", True),
    "segformer": ("segformer", "semantic-segmentation", "ORTModelForSemanticSegmentation", True),
    "wav2vec2": ("wav2vec2", "audio-classification", "ORTModelForAudioClassification", True),
}
GENERATE = ("text-generation", "text2text-generation", "automatic-speech-recognition")
#: The number of generated tokens.
TOKENS = 20


def write(name: str, folder: Path) -> None:
    """Exports the model of a case, with a tokenizer, and notes what PyTorch makes of an input."""
    import aten2onnx.transformers as hugging_face
    import transformers
    from aten2onnx.transformers._inputs import EXAMPLE, Maker
    from aten2onnx.transformers._tasks import TASKS

    model_type, task, kind, _ = CASES[name]
    changes = (generate.family(model_type) or (None, {}))[1]
    auto = getattr(transformers, TASKS[task].auto[0])
    model = tiny.build(model_type, auto, lambda model: model(**Maker(model, EXAMPLE).inputs()), changes)
    inputs = {key: value for key, value in Maker(model, EXAMPLE, seed=5).inputs().items() if not key.startswith("decoder_")}
    note: dict[str, Any] = {"task": task, "class": kind}
    if task == "automatic-speech-recognition":
        inputs = {key: value[:1] for key, value in inputs.items()}  # transformers.js takes one at a time
    if task in GENERATE:
        note["tokens"] = generated(model, inputs).tolist()
        note["new_tokens"] = TOKENS
    else:
        with torch.no_grad():
            found = model(**inputs)
        note["results"] = {key: _described(found[key]) for key in found if isinstance(found[key], torch.Tensor)}
    note["inputs"] = {key: _described(value) for key, value in inputs.items()}
    source = folder.with_name(f"{folder.name}-source")
    model.save_pretrained(source)
    if "input_ids" in inputs:
        words = tokenizer(model.config.vocab_size)
        words.save_pretrained(source)
        note["special"] = words.all_special_ids
        note["words"] = words.convert_ids_to_tokens(range(model.config.vocab_size))
    hugging_face.export(str(source), folder, task)
    (folder / "expected.json").write_text(json.dumps(note), encoding="utf-8")


def generated(model: Any, inputs: dict[str, Any]) -> Any:
    """The tokens that `generate` writes."""
    import transformers

    config = model.generation_config
    config.pad_token_id = config.pad_token_id or 0
    if model.config.is_encoder_decoder and config.decoder_start_token_id is None:
        config.decoder_start_token_id = model.config.decoder_start_token_id = 0
    with torch.no_grad():
        # Whisper's own `generate` leaves out the prompt.
        found = transformers.GenerationMixin.generate(model, **inputs, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False)
    return found


def tokenizer(size: int) -> Any:
    """A tokenizer with a word for each token."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    special = {0: "<pad>", 3: "<unk>"}
    words = Tokenizer(models.WordLevel({special.get(token, f"w{token}"): token for token in range(size)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>")


def _described(value: Any) -> dict[str, Any]:
    return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch."), "data": value.flatten().tolist()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--optimum", type=Path, help="a Python that has optimum-onnx")
    parser.add_argument("--js", type=Path, help="a folder with node_modules/@huggingface/transformers")
    parser.add_argument("--keep", type=Path, help="write the directories here, and keep them")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.cases if name not in CASES]:
        parser.error(f"no case {', '.join(unknown)}: the cases are {', '.join(CASES)}")
    if chosen.optimum is None and chosen.js is None:
        parser.error("pass `--optimum` or `--js`")
    import transformers

    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity(50)
    here = Path(__file__).parent
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        base = (chosen.keep or Path(temporary)).absolute()
        names = chosen.cases or list(CASES)
        for name in names:
            if not (base / name / "expected.json").exists():
                write(name, base / name)
        if chosen.optimum is not None:
            print("optimum-onnx", flush=True)
            failed += subprocess.run([chosen.optimum, here / "ecosystem_optimum.py", *(base / name for name in names)], check=False).returncode
        if chosen.js is not None:
            print("transformers.js", flush=True)
            folders = [base / name for name in names if CASES[name][3]]
            failed += subprocess.run(["node", here / "ecosystem.mjs", chosen.js.absolute(), *folders], check=False).returncode
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
