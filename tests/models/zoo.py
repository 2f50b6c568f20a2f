"""The models of tests/models: small instances of real architectures with random weights.

Each function returns (module, example inputs, inputs of other sizes, dynamic shapes). Sizes are as small as the architecture allows, so
that onnx's reference evaluator can run some models at opsets that ONNX Runtime does not support yet.
"""
import torch

BATCH = torch.export.Dim("batch", min=2, max=64)
SEQUENCE = torch.export.Dim("sequence", min=2, max=48)


def randomise(module):
    """Gives constant weights and statistics random numbers, so that a missing branch changes the result."""
    with torch.no_grad():
        for m in module.modules():
            if getattr(m, "running_mean", None) is not None:
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.6, 1.4)
        for p in module.parameters():
            if p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                p.normal_(0, 0.05) if p.flatten()[0] == 0 else p.mul_(1 + 0.1 * torch.randn_like(p))


def image(module, size=64):
    return module, (torch.randn(2, 3, size, size),), (torch.randn(3, 3, size, size),), ({0: BATCH},)


def resnet18():
    import torchvision
    return image(torchvision.models.resnet18(num_classes=10))


def resnet50():
    import torchvision
    return image(torchvision.models.resnet50(num_classes=10))


def mobilenet_v2():
    import torchvision
    return image(torchvision.models.mobilenet_v2(num_classes=10, width_mult=0.5))


def mobilenet_v3():
    import torchvision
    return image(torchvision.models.mobilenet_v3_small(num_classes=10))


def efficientnet():
    import torchvision
    return image(torchvision.models.efficientnet_b0(num_classes=10))


def densenet():
    import torchvision
    return image(torchvision.models.DenseNet(growth_rate=8, block_config=(2, 3, 2), num_init_features=16, num_classes=10))


def regnet():
    import torchvision
    return image(torchvision.models.regnet_y_400mf(num_classes=10))


def vgg():
    import torchvision
    features = torchvision.models.vgg.make_layers([8, "M", 16, "M", 16, 16, "M"], batch_norm=True)
    model = torchvision.models.VGG(features, num_classes=10)
    model.classifier = torch.nn.Sequential(torch.nn.Linear(16 * 49, 32), torch.nn.ReLU(True), torch.nn.Dropout(), torch.nn.Linear(32, 10))
    return image(model)


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    return image(ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, 64, 1), CNBlockConfig(64, None, 1)], num_classes=10))


def vit():
    from torchvision.models import VisionTransformer
    return image(VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10), 32)


class Encoder(torch.nn.Module):
    """A model of transformers that takes tensors and returns one tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).last_hidden_state


class Plain(torch.nn.Module):
    """The same for models without a cache argument."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def text(module, vocabulary=100):
    def inputs(batch, length):
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[0, length - 2:] = 0
        return torch.randint(0, vocabulary, (batch, length)), mask
    shape = {0: BATCH, 1: SEQUENCE}
    return module, inputs(2, 8), inputs(3, 11), (shape, shape)


def electra():
    from transformers import ElectraConfig, ElectraModel
    config = ElectraConfig(vocab_size=100, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)
    return text(Plain(ElectraModel(config)))


def albert():
    from transformers import AlbertConfig, AlbertModel
    config = AlbertConfig(vocab_size=100, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)
    return text(Plain(AlbertModel(config)))


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)
    return text(Plain(BertModel(config)))


def gpt2():
    from transformers import GPT2Config, GPT2Model
    return text(Encoder(GPT2Model(GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=2))))


def llama():
    from transformers import LlamaConfig, LlamaModel
    config = LlamaConfig(vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
    return text(Encoder(LlamaModel(config)))


MODELS = [resnet18, resnet50, mobilenet_v2, mobilenet_v3, efficientnet, densenet, regnet, vgg, convnext, vit, electra, albert, bert, gpt2, llama]
# Models that are small enough for onnx's reference evaluator. (Its GatherElements fails beyond 64 columns: electra, bert.)
REFERENCE = {"vit", "gpt2", "llama", "vgg"}
