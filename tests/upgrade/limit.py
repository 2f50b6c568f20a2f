"""Writes the mappings as they would be if an opset were the newest one, for the test that repeats history.

    python tests/upgrade/limit.py MAPPINGS OUT 24
    python tests/upgrade/limit.py MAPPINGS OUT 25 --written 24 --with "lower Attention before 25"

It leaves out what a newer opset brought: versions in the snapshot, entries in opsets.toml and operators.toml, lowerings and their examples, and
what targets say of newer versions. Rules that use something newer have their text from older.toml. With `--written`, what is written by hand ends
at an older opset, but for the items of `--with`, which have the names that the report of `import-onnx` asks for them by. The files of targets
follow `--measured`.
"""

import argparse
import re
import shutil
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def snapshot_text(text, opset):
    """Returns the snapshot of the schemas up to an opset."""
    blocks = [block.rstrip("\n") for block in text.split("\n\n")]
    heads = [re.match(r"(\w+) (\d+)\b", block) for block in blocks]
    kept = [block for block, head in zip(blocks, heads) if head is None or int(head[2]) <= opset]
    newest = max(int(head[2]) for head in heads if head and int(head[2]) <= opset)
    return re.sub(r"up to opset \d+", f"up to opset {newest}", "\n\n".join(kept) + "\n")


class Newer:
    """What operators have that is newer than an opset."""

    def __init__(self, text, opset):
        blocks = text.split("\n\n")
        heads = [re.match(r"(\w+) (\d+)\b", block) for block in blocks]
        self.params, newest_params = {}, {}
        for block, head in zip(blocks, heads):
            if head:
                newest_params[head[1]] = set(re.findall(r"^  (?:in|attr) (\w+):", block, flags=re.M))
            if head and int(head[2]) <= opset:
                self.params[head[1]] = newest_params[head[1]]
        # The operators that are newer, and the inputs and attributes of others.
        self.newer = set(newest_params) - set(self.params)
        self.newer_params = {op: newest_params[op] - known for op, known in self.params.items()}


def opsets(text, opset, written, kept):
    text = re.sub(r"^max = \d+$", f"max = {opset}", text, flags=re.M)
    text = re.sub(r"^(\d+) = \{ onnx.*\n", lambda m: m[0] if int(m[1]) <= opset else "", text, flags=re.M)
    change = r'\[\[change\]\]\nop = "(\w+)"\nsince = (\d+)\n.*\n.*\n\n'
    is_kept = lambda m: int(m[2]) <= written or f"[[change]] of {m[1]} since {m[2]}" in kept
    return re.sub(change, lambda m: m[0] if is_kept(m) else "", text)


def operators(text, snapshot, kept):
    def row(match):
        return "" if match[1] in snapshot.newer and f"entry {match[1]}" not in kept else match[0]

    def values(match):
        lines = re.findall(r"^\w+ = (?:\[\n(?:    .*\n)*\]|.*)\n", match[2], flags=re.M)
        is_known = lambda line: line.split(" =")[0] in snapshot.params.get(match[1], ())
        if f"[values.{match[1]}]" not in kept:
            lines = [line for line in lines if is_known(line)]
        return f"[values.{match[1]}]\n{''.join(lines)}\n" if lines else ""

    text = re.sub(r"^([A-Z]\w*) = \{.*\n", row, text, flags=re.M)
    return re.sub(r"^\[values\.(\w+)\]\n((?:.+\n)*)\n?", values, text, flags=re.M).rstrip("\n") + "\n"


def target(text, snapshot, limit):
    text = re.sub(r"^((?:newest|fastest)_opset = )(\d+)", lambda m: m[1] + str(min(int(m[2]), limit)), text, flags=re.M)
    for op in snapshot.newer:
        text = re.sub(rf'^    "{op}",.*\n', "", text, flags=re.M)
    return "".join(entry(block, snapshot, limit) for block in re.split(r"(?<=\n)(?=\[\[)", text))


def entry(block, snapshot, limit):
    """Returns an entry of a target without newer versions; nothing if it has no others."""
    op = re.search(r'^op = "(\w+)"', block, flags=re.M)
    since = re.search(r"^since = \[?([\d, ]+)\]?$", block, flags=re.M)
    if op and op[1] in snapshot.newer:
        return ""
    if since is None:
        return block
    older = [version for version in since[1].split(", ") if int(version) <= limit]
    text = f"since = [{', '.join(older)}]" if "[" in since[0] else f"since = {older[0] if older else ''}"
    return block.replace(since[0], text) if older else ""


def name(head):
    """Returns the name of a rule that an opset brings, and the opset; None if it is no such rule."""
    found = re.match(r"(?:lower|raise) (\w+) (?:before|from) (\d+)", head)
    if found:
        return found[0], int(found[2])
    found = re.match(r"same (\w+) (\d+) as (\d+)", head)
    return (found[0], int(found[3])) if found else None


def is_newer(text, head, snapshot, limit, kept):
    rule = name(head)
    if rule:
        return rule[1] > limit and rule[0] not in kept
    found = re.match(r"example (\w+)(?: from \d+ )?\(", head)
    if found and found[1] in snapshot.newer:
        return f"entry {found[1]}" not in kept
    if found:
        newer = any(given in snapshot.newer_params[found[1]] for given in re.findall(r"\b(\w+)_[fisg] = ", text))
        return newer and not any(re.search(rf"\b{found[1]}\b", item) for item in kept)
    return False


def rules(text, snapshot, limit, kept):
    """Returns a file of rules without the items that are newer."""
    lines = text.split("\n")
    starts = []
    for at, line in enumerate(lines):
        if re.match(r"[a-z]", line):
            while at > 0 and lines[at - 1].startswith("///"):
                at -= 1
            starts.append(at)
    items = ["\n".join(lines[start:end]) for start, end in zip(starts, starts[1:] + [len(lines)])]
    items = called([item for item in items if not is_newer(item, head(item), snapshot, limit, kept)])
    return "\n".join(lines[: starts[0] if starts else len(lines)] + items).rstrip("\n") + "\n"


def head(item):
    return next(line for line in item.split("\n") if not line.startswith("///"))


def called(items):
    """Returns the items without helpers that no other one calls any more."""
    while True:
        helpers = [re.match(r"fn (\w+)\(", head(item)) for item in items]
        words = [set(re.findall(r"\w+", item)) for item in items]
        is_called = lambda at: any(helpers[at][1] in other for n, other in enumerate(words) if n != at)
        kept = [item for at, item in enumerate(items) if helpers[at] is None or is_called(at)]
        if len(kept) == len(items):
            return items
        items = kept


def older(folder, limit, kept):
    """Puts in what rules were before an opset, unless the item that replaced it is kept."""
    for change in tomllib.loads((HERE / "older.toml").read_text(encoding="utf-8"))["change"]:
        if change["opset"] <= limit or change["with"] in kept:
            continue
        path = folder / change["file"]
        text = path.read_text(encoding="utf-8")
        if change["now"] not in text:
            raise SystemExit(f"tests/upgrade/older.toml: {change['file']} has no longer the text\n{change['now']}")
        path.write_text(text.replace(change["now"], change["before"]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mappings", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("opset", type=int)
    parser.add_argument("--written", type=int)
    parser.add_argument("--measured", type=int)
    parser.add_argument("--with", dest="kept", action="append", default=[])
    args = parser.parse_args()
    written = args.written or args.opset
    measured = args.measured or written
    shutil.copytree(args.mappings, args.out)
    older(args.out, written, args.kept)
    text = (args.out / "schemas/onnx.txt").read_text(encoding="utf-8")
    newer, unmeasured = Newer(text, written), Newer(text, measured)
    changes = [(args.out / "schemas/onnx.txt", lambda text: snapshot_text(text, args.opset))]
    changes.append((args.out / "opsets.toml", lambda text: opsets(text, args.opset, written, args.kept)))
    changes.append((args.out / "operators.toml", lambda text: operators(text, newer, args.kept)))
    changes += [(path, lambda text: target(text, unmeasured, measured)) for path in (args.out / "targets").glob("*.toml")]
    changes += [(path, lambda text: rules(text, newer, written, args.kept)) for path in args.out.rglob("*.opmap")]
    for path, change in changes:
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
