"""`aten2onnx lsp` in the package: the language server for mapping files of users."""

import json
import subprocess
import sys


def message(method: str, params: object, number: int | None = None) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    text = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def test_the_package_has_the_language_server(tmp_path):
    file = tmp_path / "my_ops.opmap"
    file.write_text("//! Mine.\n\nmap mylib::half(Tensor x) -> Tensor = aten::relu(x) * 0.5\n")
    place = {"textDocument": {"uri": file.as_uri()}, "position": {"line": 2, "character": 45}}
    sent = [
        message("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}, 1),
        message("initialized", {}),
        message("textDocument/hover", place, 2),
        message("shutdown", None, 3),
        message("exit", None),
    ]
    command = [sys.executable, "-m", "aten2onnx", "lsp"]
    done = subprocess.run(command, input=b"".join(sent), capture_output=True, timeout=300, check=True)
    assert b"hoverProvider" in done.stdout
    # The built-in rules are known.
    assert b"aten::relu(Tensor self) -> Tensor" in done.stdout, done.stdout
