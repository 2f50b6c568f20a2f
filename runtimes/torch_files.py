"""Exports programs with torch.onnx, to compare: `python runtimes/torch_files.py PROGRAMS --into FOLDER`.

PROGRAMS is a folder as for `zoo.py`. Writes NAME.onnx, or NAME.txt with the error. What is there stays.
"""
import argparse
import fnmatch
import warnings
from pathlib import Path

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--only", default="*", help="names of programs, with wildcards")
    parser.add_argument("--opset", type=int, default=18)
    args = parser.parse_args()
    args.into.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for folder in sorted(args.programs.iterdir()):
        file, error = args.into / f"{folder.name}.onnx", args.into / f"{folder.name}.txt"
        if not (folder / "model.pt2").exists() or file.exists() or error.exists() or not any(fnmatch.fnmatch(folder.name, glob) for glob in args.only.split(",")):
            continue
        try:
            program = torch.export.load(folder / "model.pt2")
            torch.onnx.export(program, dynamo=True, opset_version=args.opset, verbose=False).save(file, external_data=False)
        except Exception as failure:
            error.write_text(f"{type(failure).__name__}: {str(failure)[:400]}\n")
        print(f"{folder.name}: {'exported' if file.exists() else 'failed'}", flush=True)


if __name__ == "__main__":
    main()
