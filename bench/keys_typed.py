"""Types into the language server, and says how long it takes to answer.

    cargo build --release -p aten2onnx-codegen
    python bench/keys_typed.py [--keys 200] [--pause 0.4] [--check] [--into docs/editors.md]

Each key is one change of a file: words are typed letter by letter at places of several files, and deleted again. Measured are

- the time from a key to the errors of the file (syntax, names and types), and to those of all files, which the proof of all rules is part of;
- the time of completion and hover, which are asked for right after a key, while the files are checked;
- the largest memory of the server, and its processor time for a key with all that follows, which other programs on the machine change little.

The prelude is apart, because what is typed there reaches nearly all rules. `--check` exits with 1 if a limit below is exceeded. `--into` writes the table into a page.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "target/release/aten2onnx-codegen"

#: Milliseconds and megabytes that are not to be exceeded.
LIMITS = {
    "errors of the file, median": 100,
    "errors of all files, 95 of 100": 250,
    "errors of all files after a key in the prelude, 95 of 100": 1000,
    "completion, 95 of 100": 30,
    "hover, 95 of 100": 30,
    "memory (MB)": 300,
}

#: A file, a text in it after which is typed, and what is typed.
PLACES = [
    ("aten/activation.opmap", "let below = (Exp(self * input_scale) - 1) * alpha;", "\n        let more = times(below, alpha);"),
    ("aten/activation.opmap", "example aten::selu(f32[2, 3])", "\n\nmap aten::hardtanh.out(Tensor self) -> Tensor = Clip(self, 0, 6)"),
    ("onnx/activation.opmap", "", "\nfn half_of(Tensor x) -> Tensor = x * 0.5"),
    ("lib/prelude.opmap", "pub fn numel(Tensor x) -> SymInt = product(shape_of(x))", " + 0"),
]


class Server:
    def __init__(self, mappings: Path):
        self.process = subprocess.Popen(
            [SERVER, "--mappings", mappings, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.messages: queue.Queue = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0

    def read(self):
        while header := self.process.stdout.readline():
            length = int(header.split(b":")[1])
            self.process.stdout.readline()
            self.messages.put((time.perf_counter(), json.loads(self.process.stdout.read(length))))

    def send(self, message: dict):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: dict):
        self.send({"method": method, "params": params})

    def request(self, method: str, params) -> int:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def processor_time(self) -> float:
        """Milliseconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1000

    def memory(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


class Typist:
    def __init__(self, mappings: Path, pause: float):
        self.server, self.mappings, self.pause = Server(mappings), mappings, pause
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.times: dict[str, list[float]] = {name: [] for name in ("file", "all", "prelude", "completion", "hover")}
        #: Processor time of all keys, and of those in the prelude.
        self.processor = {"all": [], "prelude": []}
        capabilities = {"experimental": {"serverStatusNotification": True}}
        first = self.server.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.wait(lambda message: message.get("id") == first)
        self.server.notify("initialized", {})
        self.wait(is_quiescent)

    def wait(self, wanted) -> float:
        while True:
            moment, message = self.server.messages.get(timeout=60)
            if wanted(message):
                return moment

    def uri(self, path: str) -> str:
        return (self.mappings / path).as_uri()

    def open(self, path: str):
        if path in self.texts:
            return
        self.texts[path] = (self.mappings / path).read_text()
        self.versions[path] = 1
        document = {"uri": self.uri(path), "languageId": "opmap", "version": 1, "text": self.texts[path]}
        self.server.notify("textDocument/didOpen", {"textDocument": document})

    def key(self, path: str, start: int, end: int, new: str):
        """One change; then completion and hover are asked for, and all answers are awaited."""
        text = self.texts[path]
        change = {"range": {"start": position(text, start), "end": position(text, end)}, "text": new}
        self.texts[path] = text[:start] + new + text[end:]
        self.versions[path] += 1
        version, uri = self.versions[path], self.uri(path)
        used = self.server.processor_time()
        begun = time.perf_counter()
        document = {"uri": uri, "version": version}
        self.server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        place = {"textDocument": {"uri": uri}, "position": position(self.texts[path], start + len(new))}
        asked = {}
        for name in ("completion", "hover"):
            asked[self.server.request(f"textDocument/{name}", place)] = (name, time.perf_counter())
        file, whole = None, None
        while file is None or whole is None or asked:
            moment, message = self.server.messages.get(timeout=60)
            params = message.get("params") or {}
            if message.get("id") in asked:
                name, since = asked.pop(message["id"])
                self.times[name].append(moment - since)
            elif params.get("uri") == uri and params.get("version") == version and file is None:
                file = moment - begun
            elif is_quiescent(message):
                whole = moment - begun
        self.times["file"].append(file)
        where = "prelude" if path.endswith("prelude.opmap") else "all"
        self.times[where].append(whole)
        self.processor[where].append((self.server.processor_time() - used) / 1000)
        time.sleep(max(0, self.pause - (time.perf_counter() - begun)))

    def type(self, path: str, after: str, new: str, keys: int):
        self.open(path)
        at = self.texts[path].index(after) + len(after) if after else len(self.texts[path])
        typed = 0
        for letter in new[:keys]:
            self.key(path, at + typed, at + typed, letter)
            typed += 1
        self.key(path, at, at + typed, "")


def is_quiescent(message: dict) -> bool:
    return message.get("method") == "experimental/serverStatus" and message["params"]["quiescent"]


def position(text: str, at: int) -> dict:
    line = text.rfind("\n", 0, at) + 1
    return {"line": text.count("\n", 0, at), "character": len(text[line:at].encode("utf-16-le")) // 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=200, help="how many keys are typed, about")
    parser.add_argument("--pause", type=float, default=0.4, help="seconds from one key to the next, at least")
    parser.add_argument("--mappings", type=Path, default=ROOT / "mappings")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--into", type=Path, help="a page with a line `<!-- bench/keys_typed.py -->` before the table and `<!-- bench/keys_typed.py ends -->` after it")
    args = parser.parse_args()
    typist = Typist(args.mappings.resolve(), args.pause)
    for path, after, new in PLACES:
        typist.type(path, after, new, max(1, args.keys // len(PLACES)))
    found = {
        "errors of the file, median": statistics.median(typist.times["file"]) * 1000,
        "errors of the file, 95 of 100": part(typist.times["file"], 0.95),
        "errors of all files, median": statistics.median(typist.times["all"]) * 1000,
        "errors of all files, 95 of 100": part(typist.times["all"], 0.95),
        "errors of all files after a key in the prelude, 95 of 100": part(typist.times["prelude"], 0.95),
        "completion, 95 of 100": part(typist.times["completion"], 0.95),
        "hover, 95 of 100": part(typist.times["hover"], 0.95),
        "processor time for a key, median": statistics.median(typist.processor["all"]) * 1000,
        "processor time for a key in the prelude, median": statistics.median(typist.processor["prelude"]) * 1000,
        "memory (MB)": typist.server.memory(),
    }
    print(f"{len(typist.times['file'])} keys")
    wrong = False
    for name, value in found.items():
        limit = LIMITS.get(name)
        wrong |= limit is not None and value > limit
        print(f"{name:60} {value:7.1f}" + (f"  (at most {limit})" if limit else ""))
    typist.server.process.kill()
    if args.into:
        write_into(args.into, found, len(typist.times["file"]))
    sys.exit(1 if wrong and args.check else 0)


def write_into(page: Path, found: dict[str, float], keys: int):
    """Writes the table between the two marks of a page."""
    begin, end = "<!-- bench/keys_typed.py -->", "<!-- bench/keys_typed.py ends -->"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
    rows = [f"| {name} | {value:.0f} | {LIMITS.get(name, '')} |" for name, value in found.items()]
    text = f"{keys} keys at commit {commit.stdout.strip()}, on {os.cpu_count()} cores of {processor}; milliseconds, unless another unit is named:\n\n"
    table = text + "| | measured | at most |\n|---|---|---|\n" + "\n".join(rows)
    before, rest = page.read_text().split(begin, 1)
    page.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}")


def part(times: list[float], share: float) -> float:
    """The time, in milliseconds, that this share of all times does not exceed."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000


if __name__ == "__main__":
    main()
