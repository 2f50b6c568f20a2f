"""Lines, build times and sizes of exporters for one opset, beside those of the whole project.

    python bench/exporter.py --operators       writes bench/exporter_operators.txt: what five models call, as `aten2onnx ops --of` says
    python bench/exporter.py --into docs/maintainers.md     measures, and writes the table

A build begins in an empty target folder, without the network; its seconds are those of processors, of all programs that Cargo runs.
"""

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATORS = ROOT / "bench/exporter_operators.txt"
OPSET = 17
BEGIN, END = "<!-- bench/exporter.py -->", "<!-- bench/exporter.py ends -->"


def models():
    """Small models with the operators of ResNet, BERT, Llama, Whisper and a detector (YOLOS), each with example inputs."""
    import torch
    import torchvision
    import transformers as t

    yield torchvision.models.resnet18(weights=None), (torch.rand(1, 3, 64, 64),)
    tiny = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    tokens = torch.ones(1, 8, dtype=torch.int64)
    yield t.BertModel(t.BertConfig(vocab_size=99, **tiny)), (tokens,)
    llama = t.LlamaConfig(vocab_size=99, num_key_value_heads=2, use_cache=False, **tiny)
    yield t.LlamaForCausalLM(llama), (tokens,)
    layers = dict(encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2)
    sizes = dict(d_model=32, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=99, num_mel_bins=8, max_source_positions=16)
    special = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    whisper = t.WhisperConfig(use_cache=False, **layers, **sizes, **special)
    yield t.WhisperForConditionalGeneration(whisper), (torch.rand(1, 8, 32), None, tokens[:, :4])
    yolos = t.YolosConfig(image_size=[32, 32], patch_size=16, num_detection_tokens=4, **tiny)
    yield t.YolosForObjectDetection(yolos), (torch.rand(1, 3, 32, 32),)


def write_operators():
    import torch

    found = set()
    for model, args in models():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.pt2"
            torch.export.save(torch.export.export(model.eval(), args), path)
            done = subprocess.run([ROOT / "target/debug/aten2onnx", "ops", "--of", path], capture_output=True, text=True, check=True)
            names = done.stdout.split()
            print(f"{type(model).__name__}: {len(names)} operators {done.stderr}")
            found.update(names)
    head = f"# What ResNet, BERT, Llama, Whisper and YOLOS call: `python bench/{pathlib.Path(__file__).name} --operators`\n"
    OPERATORS.write_text(head + "".join(f"{name}\n" for name in sorted(found)))


def lines(folder):
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*") if path.suffix in (".rs", ".tsv", ".txt", ".json"))


def built(folder, target, *arguments):
    """The processor seconds of a cold release build."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_PROFILE")}
    environment.update(CARGO_TARGET_DIR=str(target), CARGO_INCREMENTAL="0")
    subprocess.run(["cargo", "build", "--release", "--offline", "--quiet", *arguments], cwd=folder, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def stripped(library):
    copy = library.with_suffix(".stripped")
    shutil.copy(library, copy)
    subprocess.run(["strip", copy], check=True)
    return copy.stat().st_size


def measure(scratch):
    """Rows: what, generated lines, processor seconds, bytes of the stripped library."""
    target = scratch / "target"
    rows = []
    for what, arguments in (("five models", ["--ops", OPERATORS]), ("all operators", [])):
        folder = scratch / "acme-onnx"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(
            [ROOT / "target/debug/aten2onnx-codegen", "exporter", "--opset", str(OPSET), "--name", "acme-onnx", "--out", folder, *arguments],
            cwd=ROOT,
            check=True,
        )
        seconds = built(folder, target)
        rows.append((f"opset {OPSET}, {what}", lines(folder / "rules"), seconds, stripped(target / "release/libacme_onnx_c.so")))
        print(rows[-1], flush=True)
    shutil.rmtree(target, ignore_errors=True)
    seconds = built(ROOT, target, "-p", "aten2onnx-cli")
    # The library of the whole is the Python module's: it is the one that is shipped.
    outs = [max(target.glob(f"release/build/{name}-*/out"), key=lines) for name in ("aten2onnx", "aten2onnx-rules", "aten2onnx-onnx")]
    generated = sum(map(lines, outs))
    built(ROOT, target, "-p", "aten2onnx-python")
    rows.append(("the whole", generated, seconds, stripped(target / "release/lib_native.so")))
    print(rows[-1], flush=True)
    return rows


def table(rows):
    _, whole_lines, whole_seconds, whole_bytes = rows[-1]
    text = "| exporter | generated lines | of the whole | release build, processor seconds | of the whole | library, MB | of the whole |\n"
    text += "|---|---|---|---|---|---|---|\n"
    for what, count, seconds, size in rows:
        text += f"| {what} | {count:,} | {count / whole_lines:.0%} | {seconds:.0f} | {seconds / whole_seconds:.0%} | {size / 1e6:.1f} | {size / whole_bytes:.0%} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", action="store_true", help="write the list of operators")
    parser.add_argument("--into", type=pathlib.Path, help="the page that gets the table")
    options = parser.parse_args()
    if options.operators:
        return write_operators()
    with tempfile.TemporaryDirectory() as scratch:
        text = table(measure(pathlib.Path(scratch)))
    print(text)
    if options.into:
        page = options.into.read_text()
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        options.into.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


if __name__ == "__main__":
    main()
