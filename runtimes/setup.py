"""Makes the environments of runtimes: `python runtimes/setup.py openvino tract`. Without a name it lists them.

An environment that is up to date stays as it is. With uv on the PATH it is made faster.
"""
import argparse
import os
import subprocess
import sys

from harness import environments


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtimes", nargs="*", help="`openvino` (the newest release), `onnxruntime-1.23.2`, or `all`")
    parser.add_argument("--into", help="the folder for environments (default: $ATEN2ONNX_RUNTIMES, else ~/.cache/aten2onnx/runtimes)")
    args = parser.parse_args()
    if args.into:
        os.environ["ATEN2ONNX_RUNTIMES"] = os.path.abspath(args.into)
    everything = [release for releases in environments.known().values() for release in releases]
    try:
        chosen = everything if args.runtimes == ["all"] else [environments.find(name) for name in args.runtimes]
    except environments.UnknownRuntime as error:
        sys.exit(f"error: {error}")
    if not chosen:
        for release in everything:
            print(f"{release.name}-{release.version}: {'ready' if release.is_ready else 'not installed'}")
    failed = [release for release in chosen if not prepare(release)]
    sys.exit(1 if failed else 0)


def prepare(release):
    """Makes an environment if it is not there. Returns whether it is there now."""
    name = f"{release.name}-{release.version}"
    if release.is_ready:
        print(f"{name} is ready")
        return True
    print(f"{name}: installing into {release.environment}", flush=True)
    try:
        environments.make(release)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"error: {name} could not be installed: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main()
