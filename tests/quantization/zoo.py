"""Quantized models: a small Llama as torchao quantizes it, linear layers as the libraries GPTQ, AWQ, HQQ and bitsandbytes unpack them, and
networks for images whose activations PyTorch 2 export quantization rounds too.

Each is a function that returns a module, its inputs, and the bits of each element of its quantized weights.
"""
import importlib
import sys
import types
from pathlib import Path

import torch

ROWS, COLUMNS, GROUP = 256, 384, 64
TABLE = [
    -1.0, -0.6961928, -0.5250731, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0,
    0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0,
]


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


def llama(hidden=256, inner=512, layers=2, vocabulary=512):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=False,
        max_position_embeddings=128,
    )
    return LlamaForCausalLM(config).eval(), (torch.randint(0, vocabulary, (1, 8)),)


def is_embedding(module, _):
    return isinstance(module, torch.nn.Embedding)


def quantized(config, embedding=None, **sizes):
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass

    model, inputs = llama(**sizes)
    if embedding is not None:
        quantize_(model, embedding, filter_fn=is_embedding)
    if config is not None:
        quantize_(model, config)
        model = unwrap_tensor_subclass(model)
    return Logits(model).eval(), inputs


def configs():
    """By name: the configuration, the bits of an element, and the lowest opset that has them."""
    import torchao.quantization as ao

    def groups(dtype, size):
        return ao.IntxWeightOnlyConfig(weight_dtype=dtype, granularity=ao.PerGroup(size))

    asymmetric = ao.Int8DynamicActivationInt8WeightConfig(act_mapping_type=ao.MappingType.ASYMMETRIC)
    dynamic = ao.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=ao.PerGroup(32))
    return {
        "int8": (ao.Int8WeightOnlyConfig(), 8, 13),
        "int4_32": (groups(torch.int4, 32), 4, 21),
        "int4_128": (groups(torch.int4, 128), 4, 21),
        "int2_32": (groups(torch.int2, 32), 2, 25),
        "float8": (ao.Float8WeightOnlyConfig(), 8, 19),
        "dynamic_int4": (dynamic, 4, 21),
        "dynamic_int8": (ao.Int8DynamicActivationInt8WeightConfig(), 8, 13),
        "dynamic_int8_asymmetric": (asymmetric, 8, 13),
        "embedding_int4": (groups(torch.int4, 32), 4, 21),
        "embedding_int8": (ao.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=ao.PerAxis(0)), 8, 13),
    }


def signed(words):
    """64-bit numbers below 2**32 as int32 of the same bits."""
    return torch.where(words < 2**31, words, words - 2**32).to(torch.int32)


def packed(codes, dim, order=range(8)):
    """Eight numbers of 4 bits in each int32, along a dimension."""
    parts = [codes.narrow(dim, 0, codes.shape[dim]).index_select(dim, torch.arange(o, codes.shape[dim], 8)) for o in order]
    return signed(sum(part.long() << (4 * i) for i, part in enumerate(parts)))


class Layer(torch.nn.Module):
    """A linear layer whose weight has 4 bits, in groups of rows."""

    def __init__(self):
        super().__init__()
        self.codes = torch.randint(0, 16, (ROWS, COLUMNS))
        self.zeros = torch.randint(1, 16, (ROWS // GROUP, COLUMNS))
        self.register_buffer("scales", torch.rand(ROWS // GROUP, COLUMNS) * 0.1 + 0.01)

    def keep(self, **buffers):
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)
        del self.codes, self.zeros
        return self


class Gptq(Layer):
    def __init__(self):
        super().__init__()
        groups = torch.arange(ROWS, dtype=torch.int32) // GROUP
        shifts = torch.arange(0, 32, 4, dtype=torch.int32).unsqueeze(0)
        self.keep(qweight=packed(self.codes, 0), qzeros=packed(self.zeros - 1, 1), g_idx=groups, shifts=shifts)

    def forward(self, x):
        zeros = torch.bitwise_right_shift(self.qzeros.unsqueeze(2).expand(-1, -1, 8), self.shifts.unsqueeze(0))
        zeros = (torch.bitwise_and(zeros.to(torch.int16), 15) + 1).reshape(self.scales.shape)
        codes = torch.bitwise_right_shift(self.qweight.unsqueeze(1).expand(-1, 8, -1), self.shifts.unsqueeze(-1))
        codes = torch.bitwise_and(codes.to(torch.int16), 15).reshape(-1, COLUMNS)
        groups = self.g_idx.long()
        return torch.matmul(x, self.scales[groups] * (codes - zeros[groups]))


class Awq(Layer):
    def __init__(self):
        super().__init__()
        order = [0, 2, 4, 6, 1, 3, 5, 7]
        self.keep(qweight=packed(self.codes, 1, order), qzeros=packed(self.zeros, 1, order))

    def forward(self, x):
        shifts = torch.arange(0, 32, 4)
        codes = torch.bitwise_right_shift(self.qweight[:, :, None], shifts[None, None, :]).to(torch.int8).view(ROWS, -1)
        zeros = torch.bitwise_right_shift(self.qzeros[:, :, None], shifts[None, None, :]).to(torch.int8).view(ROWS // GROUP, -1)
        order = torch.arange(COLUMNS, dtype=torch.int32).view(-1, 8)[:, [0, 4, 1, 5, 2, 6, 3, 7]].view(-1)
        codes, zeros = torch.bitwise_and(codes[:, order], 15), torch.bitwise_and(zeros[:, order], 15)
        scales = self.scales.repeat_interleave(GROUP, dim=0)
        return torch.matmul(x, (codes - zeros.repeat_interleave(GROUP, dim=0)) * scales)


class Hqq(Layer):
    def __init__(self):
        super().__init__()
        columns = self.codes.t().reshape(-1, GROUP).t()
        high, low = columns.chunk(2)
        zero = self.zeros.t().reshape(1, -1).float() + 0.25
        scale = self.scales.t().reshape(1, -1).clone()
        self.keep(packed=((high << 4) | low).to(torch.uint8), zero=zero, scale=scale)
        del self.scales

    def forward(self, x):
        rows = self.packed.shape[0]
        codes = torch.empty([2 * rows, self.packed.shape[1]])
        codes[:rows] = (self.packed & 0b11110000) >> 4
        codes[rows:] = self.packed & 0b00001111
        return torch.matmul(x, ((codes - self.zero) * self.scale).t().reshape(COLUMNS, ROWS).t())


class Nf4(Layer):
    def __init__(self):
        super().__init__()
        codes = self.codes.t().reshape(-1)
        high, low = codes[::2], codes[1::2]
        self.keep(packed=((high << 4) | low).to(torch.uint8).unsqueeze(1), table=torch.tensor(TABLE), largest=torch.rand(codes.numel() // GROUP))
        del self.scales

    def forward(self, x):
        codes = torch.cat([self.packed >> 4, self.packed & 15], dim=1).reshape(-1).to(torch.int64)
        weight = (self.table[codes].view(-1, GROUP) * self.largest.unsqueeze(1)).view(COLUMNS, ROWS)
        return torch.nn.functional.linear(x, weight)


class Plain(Layer):
    """Two signed numbers in each byte, with one scale for each block of a row, as torchao packs them."""

    def __init__(self):
        super().__init__()
        codes = self.codes.t()
        self.keep(packed=(codes[:, ::2] | (codes[:, 1::2] << 4)).to(torch.uint8), scale=self.scales.t().contiguous())
        del self.scales

    def forward(self, x):
        codes = torch.stack([self.packed & 15, self.packed >> 4], -1).view(COLUMNS, ROWS).to(torch.int8) - 8
        weight = codes.view(COLUMNS, ROWS // GROUP, GROUP) * self.scale[:, :, None]
        return torch.nn.functional.linear(x, weight.view(COLUMNS, ROWS))


class Unordered(Gptq):
    """The groups of GPTQ's `desc_act`: rows belong to groups in any order, which no block says."""

    def __init__(self):
        super().__init__()
        self.g_idx = self.g_idx[torch.randperm(ROWS)]


class Float8(torch.nn.Module):
    """Activations and weights in float8, as torch._scaled_mm multiplies them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(COLUMNS, ROWS).to(torch.float8_e4m3fn))
        self.register_buffer("scale", torch.rand(1, COLUMNS) + 0.1)

    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 448
        rounded = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return torch._scaled_mm(rounded, self.weight.t(), scale, self.scale, out_dtype=torch.float32)


class Int8(torch.nn.Module):
    """Weights of 8 bits, as PyTorch multiplies with them on CPUs."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (COLUMNS, ROWS), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(COLUMNS) + 0.1)

    def forward(self, x):
        return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scale)


class Mx(torch.nn.Module):
    """A linear layer in an MX format, or in NVFP4, as torchao emulates it: the activations of MX formats are rounded too."""

    def __init__(self, dtype):
        super().__init__()
        from torchao.prototype.mx_formats.mx_tensor import MXTensor, QuantizeTensorToMXKwargs, ScaleCalculationMode
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
        from torchao.quantization.quantize_.common.kernel_preference import KernelPreference

        self.linear = torch.nn.Linear(ROWS, COLUMNS)
        weight = self.linear.weight.detach()
        if dtype is None:
            scale = per_tensor_amax_to_scale(weight.abs().max())
            made = NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=scale, is_swizzled_scales=True)
        else:
            emulated, rounding = KernelPreference.EMULATED, ScaleCalculationMode.RCEIL
            inputs = QuantizeTensorToMXKwargs(dtype, 32, rounding, emulated, True)
            made = MXTensor.to_mx(weight, dtype, 32, rounding, emulated, inputs, True)
        self.linear.weight = torch.nn.Parameter(made, requires_grad=False)

    def forward(self, x):
        return self.linear(x)


class Rows(torch.nn.Module):
    """Computes rows of floats from integers with a scale for each block of a row; two integers may share a byte."""

    def __init__(self, weight, bits, block, is_packed):
        super().__init__()
        middle, self.is_packed, self.middle = 2 ** (bits - 1), is_packed, 2 ** (bits - 1) if is_packed else 0
        blocks = weight.reshape(*weight.shape[:-1], -1, block or weight.shape[-1])
        scale = blocks.abs().amax(-1, keepdim=True) / (middle - 1)
        codes = (blocks / scale).round().clamp(-middle, middle - 1).to(torch.int8).reshape(weight.shape)
        if is_packed:
            codes = (codes + middle).to(torch.uint8)
            codes = codes[..., ::2] | (codes[..., 1::2] << 4)
        self.register_buffer("codes", codes)
        self.register_buffer("scale", scale)

    def forward(self, _):
        codes = self.codes
        if self.is_packed:
            codes = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).to(torch.int8) - self.middle
        blocks = codes.reshape(*self.scale.shape[:-1], -1)
        return (blocks.to(self.scale.dtype) * self.scale).reshape(codes.shape)


def experts(bits, block=None, is_packed=False, form="batched_mm", kind="Mixtral", **options):
    """A mixture of experts of transformers, whose weights are integers: torchao's classes cannot be multiplied with in batches."""
    from torch.nn.utils import parametrize
    from transformers import MixtralConfig, Qwen3MoeConfig
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

    sizes = {"hidden_size": 128, "num_experts_per_tok": 2, "vocab_size": 64, "num_hidden_layers": 1}
    if kind == "Mixtral":
        config, block_of = MixtralConfig(**sizes, intermediate_size=192, num_local_experts=4), MixtralSparseMoeBlock
    else:
        config, block_of = Qwen3MoeConfig(**sizes, moe_intermediate_size=192, num_experts=4, **options), Qwen3MoeSparseMoeBlock
    config._experts_implementation = form
    model = block_of(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    for name in ("gate_up_proj", "down_proj"):
        rows = Rows(getattr(model.experts, name).detach(), bits, block, is_packed)
        setattr(model.experts, name, torch.nn.Parameter(torch.zeros(1)))
        parametrize.register_parametrization(model.experts, name, rows, unsafe=True)
    return model, (torch.randn(1, 6, 128),)


def normalized(model, inputs):
    """A network with random weights whose normalizations have seen numbers, so that its activations do not vanish."""
    model.train()
    with torch.no_grad():
        for _ in range(20):
            model(torch.randn(8, *inputs[0].shape[1:]))
    return model.eval()


def xnnpack(**options):
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, **options))


def x86():
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    return x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())


def pt2e(model, inputs, quantizer):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    with torch.no_grad():
        for _ in range(4):
            prepared(*(torch.randn_like(x) for x in inputs))
    converted = convert_pt2e(prepared)
    with torch.no_grad():
        converted.meta["floats"] = model(*inputs).numpy()
    converted.meta["float_module"] = model
    return converted, inputs


def image(name, quantizer):
    def build():
        import torchvision

        inputs = (torch.randn(1, 3, 64, 64),)
        return pt2e(normalized(getattr(torchvision.models, name)(), inputs), inputs, quantizer())

    return build


def perceptron():
    model = torch.nn.Sequential(torch.nn.Linear(ROWS, COLUMNS), torch.nn.ReLU(), torch.nn.Linear(COLUMNS, 64)).eval()
    return pt2e(model, (torch.randn(3, ROWS),), xnnpack(is_dynamic=True))


# Networks whose activations are quantized: with known scales, or while they run. X86's quantizer refuses the ResNet.
STATIC = {"resnet": image("resnet18", xnnpack), "mobilenet": image("mobilenet_v2", xnnpack), "mobilenet_x86": image("mobilenet_v2", x86)}
DYNAMIC = {"perceptron": perceptron}
BYTES = {"scaled_mm": Float8, "int8_mm": Int8}
# With the lowest opset that has all dtypes.
MX = {"mxfp8": (torch.float8_e4m3fn, 8, 19), "mxfp4": (torch.float4_e2m1fn_x2, 4, 11), "nvfp4": (None, 4, 19)}
# Mixtures of experts, with the bits of their weights.
EXPERTS = {
    "experts_int8": (8, {}),
    "experts_int8_32": (8, {"block": 32}),
    "experts_int4_32": (4, {"block": 32}),
    "experts_int4_packed": (4, {"block": 32, "is_packed": True}),
    "experts_int4_grouped": (4, {"block": 32, "form": "grouped_mm"}),
    "experts_int4_normalized": (4, {"block": 32, "kind": "Qwen3", "norm_topk_prob": True}),
    "experts_int4_plain": (4, {"block": 32, "kind": "Qwen3", "norm_topk_prob": False}),
}
# Those that become QMoE: it would round the activations for blocks of 8 bits, and other forms have no gathered weights.
FUSED = EXPERTS.keys() - {"experts_int8_32", "experts_int4_grouped"}
LAYERS = {"gptq": Gptq, "gptq_unordered": Unordered, "awq": Awq, "plain": Plain, "hqq": Hqq, "nf4": Nf4}
# What becomes MatMulNBits for ONNX Runtime.
MULTIPLIED = {"int4_32", "int4_128", "int2_32", "dynamic_int4", "embedding_int4", "gptq", "awq", "plain"}
# What becomes a product of floats that is scaled, because MatMulNBits of 8 bits is slower.
SCALED = {"int8", "embedding_int8", "int8_mm"}
# Measured at two opsets, as they are captured.
BRIEF = {"dynamic_int8", "dynamic_int8_asymmetric", "embedding_int4", "embedding_int8", *BYTES, *STATIC, *DYNAMIC, *MX, *EXPERTS}


def build(name, **sizes):
    """A module, its inputs, the bits of an element, and the lowest opset that has them."""
    torch.manual_seed(0)
    if name in LAYERS:
        return LAYERS[name]().eval(), (torch.randn(3, ROWS),), 4, 11
    if name in MX:
        dtype, bits, _ = MX[name]
        return Mx(dtype).eval(), (torch.randn(3, ROWS),), bits, 11
    if name in EXPERTS:
        bits, options = EXPERTS[name]
        return *experts(bits, **options), bits, 21 if bits == 4 else 11
    if name in BYTES:
        return BYTES[name]().eval(), (torch.randn(3, ROWS),), 8, 11
    if name in {**STATIC, **DYNAMIC}:
        return *{**STATIC, **DYNAMIC}[name](), 8, 11
    config, bits, opset = configs()[name]
    return *quantized(config, config if name.startswith("embedding") else None, **sizes), bits, opset


def names():
    return [*configs(), *LAYERS, *BYTES, *STATIC, *DYNAMIC, *MX, *EXPERTS]


def oldest(name):
    """The lowest opset that has the dtypes of a model."""
    return MX[name][2] if name in MX else 19 if name in ("float8", "scaled_mm") else 9


def captured(module, inputs):
    """The program that torch.export captures. Those with the classes of MX formats can only be saved decomposed, as the Python package does it."""
    exported = torch.export.export(module, inputs, strict=False)
    if not isinstance(module, Mx):
        return exported
    # The files of the package, without its native part.
    package = sys.modules["aten2onnx_files"] = types.ModuleType("aten2onnx_files")
    package.__path__ = [str(Path(__file__).resolve().parents[2] / "python/aten2onnx")]
    return importlib.import_module("aten2onnx_files._constants").run_decompositions(exported, {})
