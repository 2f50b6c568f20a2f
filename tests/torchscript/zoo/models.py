"""The models that run.py traces and scripts: public constructors of torchvision, timm and transformers, with random weights.

`MODELS` maps `family:name` to a function that makes a `Case`.
"""
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from torch import nn

from calibrate import calibrate, photograph, steady


@dataclass
class Case:
    """A module, its inputs, and inputs of other sizes."""

    module: nn.Module
    inputs: tuple
    others: Optional[tuple] = None
    kwargs: Any = None
    detects: bool = False
    is_quantized: bool = False
    tolerance: float = 1e-3


MODELS = {}


def model(name):
    def add(make):
        MODELS[name] = make
        return make
    return add


def images(size, batches=(2, 3), channels=3):
    return [(torch.randn(batch, channels, size, size),) for batch in batches]


def randomise(module):
    """Gives random values to weights that are constant at first, so that a missing branch changes the result."""
    with torch.no_grad():
        for m in module.modules():
            if isinstance(getattr(m, "running_mean", None), torch.Tensor):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.6, 1.4)
        for p in module.parameters():
            if p.numel() > 1 and p.is_floating_point() and bool((p == p.flatten()[0]).all()):
                first = float(p.flatten()[0])
                if first == 0:
                    p.normal_(0, 0.05)
                elif abs(first) < 0.05:
                    p.uniform_(0.05, 0.3)
                else:
                    p.mul_(1 + 0.1 * torch.randn_like(p))
    return module


# ------------------------------------------------------------------------------------------------------------ torchvision
SIZES = {"inception_v3": 96, "maxvit_t": 224}


def classifier(name):
    def make():
        import torchvision
        size, kwargs = SIZES.get(name, 64), {}
        if name in ("googlenet", "inception_v3"):
            kwargs = dict(init_weights=False, aux_logits=False)
        if name.startswith("vit_"):
            size = 56 if name == "vit_h_14" else 64
            kwargs = dict(image_size=size)
        built = torchvision.models.get_model(name, weights=None, num_classes=10, **kwargs)
        return Case(randomise(built), *images(size))
    return make


def segmenter(name):
    def make():
        import torchvision
        built = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5)
        return Case(randomise(built), (torch.randn(2, 3, 64, 64),), (torch.randn(3, 3, 96, 64),))
    return make


def detector(name):
    def make():
        import torchvision
        size = 320 if name.startswith("ssd") else 128
        kwargs = {} if name.startswith("ssd") else dict(min_size=128, max_size=160)
        # Few objects: of many, there are always two that are nearly the same.
        if name.startswith(("ssd", "retinanet", "fcos")):
            kwargs.update(detections_per_img=20, topk_candidates=60)
        else:
            kwargs.update(rpn_post_nms_top_n_test=30, box_detections_per_img=20)
        built = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **kwargs).eval()
        calibrate(built, [[photograph(size, size), photograph(size, size)]])
        first, second = (steady(built, *sizes) for sizes in ((size, size), (size - 32, size + 16)))
        return Case(built, first, second, detects=True, tolerance=1e-2)
    return make


def video(name):
    def make():
        import torchvision
        built = torchvision.models.get_model(name, weights=None, num_classes=10)
        frames, size = (16, 224) if name.startswith("mvit") else (16 if name == "s3d" else 4, 224 if name == "s3d" else 64)
        clip = lambda batch: (torch.randn(batch, 3, frames, size, size),)
        return Case(randomise(built), clip(1), clip(2))
    return make


def quantized(name):
    def make():
        import torchvision
        kwargs = dict(init_weights=False, aux_logits=False) if "googlenet" in name or "inception" in name else {}
        torch.backends.quantized.engine = "qnnpack" if "mobilenet" in name else "fbgemm"
        built = torchvision.models.get_model(name, weights=None, num_classes=10, quantize=True, **kwargs)
        return Case(built, *images(96), tolerance=5e-2, is_quantized=True)
    return make


def flow(name):
    def make():
        import torchvision
        built = torchvision.models.get_model(name, weights=None)
        pair = lambda batch: (torch.rand(batch, 3, 128, 128) * 2 - 1, torch.rand(batch, 3, 128, 128) * 2 - 1)
        return Case(built, pair(1), pair(2), kwargs=dict(num_flow_updates=2))
    return make


def add_torchvision():
    import torchvision
    from torchvision import models
    groups = {"classification": (models, classifier), "segmentation": (models.segmentation, segmenter),
              "detection": (models.detection, detector), "video": (models.video, video),
              "quantization": (models.quantization, quantized), "flow": (models.optical_flow, flow)}
    for family, (module, make) in groups.items():
        for name in torchvision.models.list_models(module=module):
            MODELS[f"{family}:{name}"] = make(name)


# ------------------------------------------------------------------------------------------------------------------- timm
TIMM = """beit_base_patch16_224:224 botnet26t_256:256 cait_xxs24_224:224 coat_tiny:224 coatnet_nano_rw_224:224
convit_tiny:224 convmixer_768_32:64 convnext_atto:64 convnextv2_atto:64 crossvit_9_240:240 cspresnet50:64 cspdarknet53:64
deit_tiny_patch16_224:224 densenet121:64 dla34:64 dpn48b:64 eca_nfnet_l0:64 edgenext_xx_small:64 efficientformer_l1:224
efficientformerv2_s0:224 efficientnet_lite0:64 efficientvit_b0:64 efficientvit_m0:224 eva02_tiny_patch14_224:224
fastvit_t8:64 focalnet_tiny_srf:64 gcvit_xxtiny:224 gernet_s:64 ghostnet_100:64 gmlp_s16_224:224 halonet26t:256
hardcorenas_a:64 hgnet_tiny:64 hiera_tiny_224:224 hrnet_w18_small:64 inception_next_atto:64 inception_resnet_v2:96
lambda_resnet26t:256 lcnet_050:64 levit_128s:224 mambaout_femto:64 maxvit_rmlp_pico_rw_256:256 mixer_s32_224:224
mixnet_s:64 mnasnet_100:64 mobilenetv4_conv_small:64 mobileone_s0:64 mobilevit_xxs:64 mobilevitv2_050:64 mvitv2_tiny:224
nasnetalarge:96 nest_tiny:224 nextvit_small:64 nf_regnet_b1:64 pit_ti_224:224 poolformer_s12:64 pvt_v2_b0:64 regnetx_002:64
regnety_002:64 repghostnet_050:64 repvgg_a0:64 repvit_m0_9:64 res2net50_14w_8s:64 resmlp_12_224:224 resnest14d:64
resnet10t:64 resnetv2_50:64 rexnet_100:64 sebotnet33ts_256:256 selecsls42b:64 semnasnet_050:64 seresnet18:64
shvit_s1:64 skresnet18:64 starnet_s1:64 swiftformer_xs:64 swin_tiny_patch4_window7_224:224 swinv2_cr_tiny_224:224
swinv2_tiny_window8_256:256 tf_efficientnet_b0:64 tiny_vit_5m_224:224 tinynet_e:64 tnt_s_legacy_patch16_224:224
tresnet_m:64 twins_pcpvt_small:224 vgg11:64 visformer_tiny:224 vit_base_patch16_siglip_224:224 vit_tiny_patch16_224:224
volo_d1_224:224 vovnet39a:64 wide_resnet50_2:64 xception41:96 xcit_nano_12_p16_224:224""".split()


def timm_model(name, size):
    def make():
        import timm
        return Case(randomise(timm.create_model(name, pretrained=False, num_classes=10)), *images(size))
    return make


for _entry in TIMM:
    _name, _size = _entry.split(":")
    MODELS[f"timm:{_name}"] = timm_model(_name, int(_size))


# ----------------------------------------------------------------------------------------------------------- transformers
class Flat(nn.Module):
    """A model of transformers that gives a tuple of tensors."""

    def __init__(self, built, names, const):
        super().__init__()
        self.built, self.names, self.const = built, names, const

    def forward(self, *inputs):
        return tensors(self.built(**dict(zip(self.names, inputs)), **self.const))


def tensors(value):
    if isinstance(value, torch.Tensor):
        return (value,)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return tuple(leaf for item in items for leaf in tensors(item))


def words(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2:] = 0
    return torch.randint(3, 99, (batch, length)), mask


def text(batch=2, length=12):
    return words(batch, length)


ENCODER = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, pad_token_id=0)
DECODER = {**ENCODER, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1,
           "eos_token_id": 2}
SEQ2SEQ = dict(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
               encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=1)
T5 = dict(vocab_size=100, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, decoder_start_token_id=0, pad_token_id=0)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=32, patch_size=8)
AUDIO = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 4),
             conv_kernel=(10, 8), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, vocab_size=30)
CACHELESS = dict(use_cache=False)


def transformer(name, config, kind="encoder", const=None, size=32, config_name=None):
    @model(f"transformers:{name}")
    def make():
        import transformers
        config_class = getattr(transformers, config_name or guess(name))
        built = randomise(getattr(transformers, name)(config_class(**config)))
        names, first, second = {
            "encoder": (("input_ids", "attention_mask"), text(2, 12), text(3, 9)),
            "seq2seq": (("input_ids", "attention_mask", "decoder_input_ids"), text(2, 12) + words(2, 6)[:1], text(3, 9) + words(3, 4)[:1]),
            "ids": (("input_ids",), text(2, 12)[:1], text(3, 9)[:1]),
            "image": (("pixel_values",), *images(size)),
            "audio": (("input_values",), (torch.randn(2, 1600),), (torch.randn(3, 2000),)),
            "mel": (("input_features", "decoder_input_ids"), (torch.randn(2, 20, 80), words(2, 6)[0]), (torch.randn(3, 20, 80), words(3, 4)[0])),
            "pair": (("input_ids", "pixel_values", "attention_mask"), (*images(size, (2,))[0], *text()), None),
        }[kind]
        if kind == "pair":
            both = lambda batch, length: (text(batch, length)[0], torch.randn(batch, 3, size, size), text(batch, length)[1])
            first, second = both(2, 12), both(3, 9)
        return Case(Flat(built, names, const or {}), first, second)


def guess(name):
    import re
    return re.sub(r"(Model|For[A-Z]\w*|LMHead\w*|DoubleHeads\w*|Encoder)+$", "", name) + "Config"


for _name in ("BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel", "ElectraModel", "BertForQuestionAnswering", "RoFormerModel",
              "MPNetModel", "LayoutLMModel", "MobileBertModel", "SqueezeBertModel", "ErnieModel", "ConvBertModel", "MegatronBertModel",
              "RemBertModel", "DebertaModel", "DebertaV2Model", "EsmModel"):
    _extra = {"SqueezeBertModel": dict(embedding_size=32), "MobileBertModel": dict(embedding_size=32, true_hidden_size=32, intra_bottleneck_size=32),
              "DebertaModel": dict(relative_attention=True, pos_att_type=["c2p", "p2c"]),
              "DebertaV2Model": dict(relative_attention=True, pos_att_type=["c2p", "p2c"]),
              "EsmModel": dict(mask_token_id=4, position_embedding_type="rotary")}.get(_name, {})
    transformer(_name, {**ENCODER, **_extra})
transformer("AlbertModel", {**ENCODER, "embedding_size": 16})
transformer("DistilBertModel", dict(vocab_size=100, dim=32, n_layers=2, n_heads=2, hidden_dim=48))
transformer("FNetModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, intermediate_size=48), "ids")
transformer("FunnelModel", dict(vocab_size=100, block_sizes=[1, 1], d_model=32, n_head=2, d_head=16, d_inner=48))
transformer("LongformerModel", {**ENCODER, "attention_window": 4})
transformer("XLNetModel", dict(vocab_size=100, d_model=32, n_layer=2, n_head=2, d_inner=48), const=CACHELESS)
transformer("ModernBertModel", {**ENCODER, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2, "local_attention": 8})
transformer("GPT2Model", dict(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=2), const=CACHELESS)
transformer("GPTNeoModel", dict(vocab_size=100, hidden_size=32, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]],
                                window_size=4, max_position_embeddings=64), const=CACHELESS)
transformer("GPTJModel", dict(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=2, rotary_dim=8), const=CACHELESS)
transformer("OPTModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=48,
                             max_position_embeddings=64, word_embed_proj_dim=32), const=CACHELESS)
transformer("BloomModel", dict(vocab_size=100, hidden_size=32, n_layer=2, n_head=2), const=CACHELESS)
transformer("FalconModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2), const=CACHELESS)
for _name in ("LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model", "GemmaModel", "Gemma2Model", "PhiModel", "Phi3Model", "StableLmModel",
              "GPTNeoXModel", "CohereModel", "OlmoModel", "Olmo2Model", "GraniteModel", "Starcoder2Model", "MixtralModel"):
    _extra = {"MixtralModel": dict(num_local_experts=4), "MistralModel": dict(sliding_window=4), "Gemma2Model": dict(sliding_window=4)}.get(_name, {})
    _head = {"head_dim": 8} if _name in ("Qwen3Model", "GemmaModel", "Gemma2Model") else {}
    transformer(_name, {**DECODER, **_extra, **_head}, const=CACHELESS)
transformer("MptModel", dict(vocab_size=100, d_model=32, n_heads=2, n_layers=2), const=CACHELESS)
transformer("MambaModel", dict(vocab_size=100, hidden_size=16, state_size=4, num_hidden_layers=2), "ids", const=CACHELESS)
transformer("BartModel", SEQ2SEQ, "seq2seq", CACHELESS)
transformer("MBartModel", SEQ2SEQ, "seq2seq", CACHELESS)
transformer("PegasusModel", SEQ2SEQ, "seq2seq", CACHELESS)
transformer("MarianModel", SEQ2SEQ, "seq2seq", CACHELESS)
transformer("T5Model", T5, "seq2seq", CACHELESS)
transformer("MT5Model", T5, "seq2seq", CACHELESS)
transformer("T5EncoderModel", T5, config_name="T5Config")
transformer("LEDModel", {**SEQ2SEQ, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}, "seq2seq", CACHELESS)
for _name in ("ViTModel", "DeiTModel", "BeitModel", "Dinov2Model", "YolosModel", "DPTModel", "IJepaModel"):
    _extra = {"YolosModel": dict(image_size=[32, 32])}.get(_name, {})
    transformer(_name, {**VISION, **_extra}, "image")
transformer("SwinModel", dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4), "image")
transformer("Swinv2Model", dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4), "image")
transformer("ConvNextModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]), "image", size=64)
transformer("ResNetModel", dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1]), "image")
transformer("SegformerModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2]), "image", size=64)
transformer("PoolFormerModel", dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1]), "image", size=64)
transformer("MobileViTModel", dict(image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 16, 16, 24, 24, 32, 32]), "image", size=64)
transformer("Wav2Vec2Model", AUDIO, "audio")
transformer("HubertModel", AUDIO, "audio")
transformer("Wav2Vec2ForCTC", AUDIO, "audio")
transformer("WavLMModel", AUDIO, "audio")
transformer("WhisperModel", {**SEQ2SEQ, "num_mel_bins": 20, "max_source_positions": 40, "max_target_positions": 20}, "mel", CACHELESS)
transformer("CLIPModel", dict(text_config={**ENCODER, "max_position_embeddings": 20, "eos_token_id": 98}, vision_config=VISION, projection_dim=16), "pair")


# ------------------------------------------------------------------------------------------------- another registry's cases
def add_registry(path):
    """The cases of a Python file with a `REGISTRY` of entries whose `build()` gives `module`, `args`, `alt_args` and `kwargs`."""
    registry = types.ModuleType("registry")
    registry.__file__ = path
    import sys
    sys.modules["registry"] = registry
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), registry.__dict__)

    def adapted(entry):
        def make():
            case = entry.build()
            if case.randomize:
                randomise(case.module)
            detects = type(case.module).__name__ == "Detector"
            return Case(case.module, case.args, case.alt_args, case.kwargs or None, detects, tolerance=max(1e-3, *(case.tol or (0,))))
        return make
    for name, entry in registry.REGISTRY.items():
        MODELS[f"registry:{name}"] = adapted(entry)
