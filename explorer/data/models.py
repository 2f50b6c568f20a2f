"""Writes models.json: the operators of models, and how often each calls them.

Each folder below ROOT that holds a `model.pt2` is a model. The names of folders become those of models by PREFIXES; folders with other
names are left out, because they are small programs for tests.

    python explorer/data/models.py ROOT --exporter target/release/aten2onnx
"""

import argparse
import json
import pathlib
import subprocess

PREFIXES = {
    "diff_": "diffusers",
    "hf_": "transformers",
    "timm_": "timm",
    "tv_": "torchvision",
}


def name_of(folder: str) -> str | None:
    for prefix, library in PREFIXES.items():
        if folder.startswith(prefix):
            return f"{library}/{folder.removeprefix(prefix)}"
    return None


def operators(exporter: str, model: pathlib.Path) -> dict[str, int]:
    done = subprocess.run([exporter, "inspect", str(model), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 5):
        raise SystemExit(f"{model}: {done.stderr}")
    return {row["operator"]: row["count"] for row in json.loads(done.stdout)["operators"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--exporter", default="target/release/aten2onnx")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).with_name("models.json"))
    args = parser.parse_args()
    models = {}
    for model in sorted(args.root.glob("*/model.pt2")):
        if (name := name_of(model.parent.name)) is not None:
            models[name] = dict(sorted(operators(args.exporter, model).items()))
    lines = [f"{json.dumps(name)}: {json.dumps(ops)}" for name, ops in sorted(models.items())]
    args.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
