"""`no_fuse` of `export` and `convert`."""

import aten2onnx
import pytest
import torch
from torch import nn


class Block(nn.Module):
    """Attention written out, and a Gelu that is."""

    def forward(self, x):
        scores = torch.softmax(x @ x.transpose(-1, -2) / 4, -1) @ x
        return 0.5 * scores * (1 + torch.erf(scores * 0.7071067811865476))


def operators(**options):
    program = aten2onnx.export(Block().eval(), (torch.randn(1, 2, 6, 16),), opset_version=23, verify=True, **options)
    return {node.op_type for node in program.model_proto.graph.node}


def test_fusions_are_left_out_by_name(tmp_path):
    assert {"Attention", "Gelu"} <= operators()
    assert "Gelu" not in operators(no_fuse=("gelu*",)) and "Attention" in operators(no_fuse=("gelu*",))
    assert "Attention" not in operators(no_fuse=("attention",)) and "Gelu" in operators(no_fuse=("attention",))
    path = tmp_path / "plain.onnx"
    aten2onnx.export(Block().eval(), (torch.randn(1, 2, 6, 16),), path, opset_version=23, optimize=False)
    both = [aten2onnx.convert(str(path), opset_version=23, optimize=True, no_fuse=names) for names in ((), ("gelu",))]
    assert (b"Gelu" in both[0], b"Gelu" in both[1]) == (True, False)


def test_an_unknown_fusion_is_an_error():
    with pytest.raises(aten2onnx.UnsupportedError, match="no fusion is named `gelo`") as error:
        operators(no_fuse=("gelo",))
    assert "attention" in error.value.help and "gelu_by_tanh" in error.value.help
