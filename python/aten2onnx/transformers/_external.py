"""The files of weights beside a model, without reading the weights into memory: what protobuf cannot hold, no model holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .._errors import require

#: What Hugging Face's tools call the file of `model.onnx`: `model.onnx_data`.
SUFFIX = "_data"
#: Bytes that are read at once.
CHUNK = 2**24
#: Tensors start at multiples of this, so that runtimes can map them.
ALIGNMENT = 4096


@dataclass(frozen=True)
class Content:
    """Where the bytes of a tensor are: in a file, or in the tensor itself."""

    tensor: Any
    path: Path | None
    offset: int
    length: int

    def chunks(self) -> Iterator[bytes]:
        """The bytes, piece by piece."""
        if self.path is None:
            yield raw(self.tensor)
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = self.length
            while left > 0:
                piece = file.read(min(left, CHUNK))
                if not piece:
                    raise OSError(f"{self.path} ends before the weight `{self.tensor.name}` does")
                left -= len(piece)
                yield piece

    def key(self) -> tuple[Any, ...]:
        """Equal for tensors of equal type, shape and content."""
        digest = hashlib.sha256()
        for piece in self.chunks():
            digest.update(piece)
        return self.tensor.data_type, tuple(self.tensor.dims), digest.digest()


def content(tensor: Any, folder: Path) -> Content:
    """Where the bytes of a tensor of a model in a folder are."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if not entries:
        return Content(tensor, None, 0, len(raw(tensor)))
    path, offset = folder / entries["location"], int(entries.get("offset", 0))
    return Content(tensor, path, offset, int(entries.get("length", path.stat().st_size - offset)))


def raw(tensor: Any) -> bytes:
    """The bytes of a tensor that is in the model."""
    if tensor.raw_data:
        return bytes(tensor.raw_data)
    onnx = require("onnx", "reading weights")
    if tensor.data_type == onnx.TensorProto.STRING:
        return bytes(tensor.SerializeToString(deterministic=True))
    return bytes(onnx.numpy_helper.to_array(tensor).tobytes())


def point(tensor: Any, location: str, offset: int, length: int) -> None:
    """Makes a tensor refer to a file."""
    onnx = require("onnx", "writing weights")
    tensor.ClearField("raw_data")
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = onnx.TensorProto.EXTERNAL


def append(file: BinaryIO, found: Content) -> int:
    """Writes the bytes of a tensor to a file, and returns where they start."""
    file.write(bytes(-file.tell() % ALIGNMENT))
    start = file.tell()
    for piece in found.chunks():
        file.write(piece)
    return start


def tensors(graph: Any) -> Iterator[Any]:
    """All tensors of a graph and of the graphs in it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from tensors(inner)


def rename(path: Path) -> Path | None:
    """Gives the file of weights that aten2onnx wrote beside a model the name that Hugging Face's tools expect."""
    written = path.with_name(f"{path.name}.data")
    if not written.exists():
        return None
    onnx = require("onnx", "naming the weights")
    model = onnx.load(path, load_external_data=False)
    named = path.with_name(path.name + SUFFIX)
    for tensor in tensors(model.graph):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = named.name
    written.replace(named)
    onnx.save(model, path)
    return named
