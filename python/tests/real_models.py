"""Small models as people have them, whose loops and exits are in Python: the tests hold their files against PyTorch, and bench/ measures them."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Greedy(nn.Module):
    """Greedy decoding of a language model until the end token, or a number of tokens."""

    def __init__(self, model, end: int, most: int) -> None:
        super().__init__()
        self.model, self.end, self.most = model, end, most

    def forward(self, ids):
        while ids.shape[1] < self.most and ids[0, -1] != self.end:
            logits = self.model(input_ids=ids, use_cache=False).logits
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], 1)
        return ids


def llama():
    """A small language model."""
    import transformers

    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=13, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64
    )
    config._attn_implementation = "eager"
    return sharpened(transformers.LlamaForCausalLM(config).eval())


def sharpened(model):
    """A model with larger weights, whose tokens are not all the same."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(20)
    return model


class Transcriber(nn.Module):
    """Greedy decoding of a Whisper: the encoder runs once, the decoder in each turn."""

    def __init__(self, whisper, first: int, end: int, most: int) -> None:
        super().__init__()
        self.whisper, self.first, self.end, self.most = whisper, first, end, most

    def forward(self, features):
        encoded = self.whisper.model.encoder(features).last_hidden_state
        ids = torch.full((1, 1), self.first)
        while ids.shape[1] < self.most and ids[0, -1] != self.end:
            decoded = self.whisper.model.decoder(input_ids=ids, encoder_hidden_states=encoded, use_cache=False).last_hidden_state
            ids = torch.cat([ids, self.whisper.proj_out(decoded[:, -1:]).argmax(-1)], 1)
        return ids


def whisper():
    """A small model that turns sounds into text."""
    import transformers

    torch.manual_seed(2)
    config = transformers.WhisperConfig(
        vocab_size=11, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=20, max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=3,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    config._attn_implementation = "eager"
    return sharpened(transformers.WhisperForConditionalGeneration(config).eval())


class Parseq(nn.Module):
    """A decoder of text in images, which stops when the end token is there."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 16)
        self.positions = nn.Parameter(torch.randn(12, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 9)

    def forward(self, memory):
        tokens = torch.zeros(memory.shape[0], 1, dtype=torch.long)
        logits = []
        for i in range(12):
            y = self.embed(tokens) + self.positions[: i + 1]
            y = y + self.attention(y, memory, memory, need_weights=False)[0]
            p = self.head(y[:, -1:])
            logits.append(p)
            tokens = torch.cat([tokens, p.argmax(-1)], 1)
            if (tokens == 3).any(dim=-1).all():
                break
        return torch.cat(logits, 1)


class Exits(nn.Module):
    """BERT whose layers have heads: the first that is sure ends it."""

    def __init__(self, width: int = 16, layers: int = 3) -> None:
        import transformers

        super().__init__()
        config = transformers.BertConfig(
            vocab_size=31, hidden_size=width, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=2 * width, max_position_embeddings=40
        )
        config._attn_implementation = "eager"
        self.bert = transformers.BertModel(config)
        self.heads = nn.ModuleList(nn.Linear(width, 2) for _ in range(layers))

    def forward(self, ids):
        hidden = self.bert.embeddings(ids)
        for number, layer in enumerate(self.bert.encoder.layer):
            made = layer(hidden)
            hidden = made[0] if isinstance(made, tuple) else made
            logits = self.heads[number](hidden[:, 0])
            if logits.softmax(-1).max() > 0.6:
                self.left = number
                return logits
        self.left = -1
        return logits


def rotated(x):
    one, two = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((-two, one), -1).flatten(-2)


class Positions(nn.Module):
    def __init__(self, width) -> None:
        super().__init__()
        self.Wr = nn.Linear(2, width // 2, bias=False)

    def forward(self, x):
        projected = self.Wr(x)
        return torch.stack([projected.cos(), projected.sin()], 0).unsqueeze(-3).repeat_interleave(2, dim=-1)


class Block(nn.Module):
    """Attention of points to others, and a network of what they find."""

    def __init__(self, width, heads) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.ffn = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.LayerNorm(2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, other, encodings=None):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.q(x), self.k(other), self.v(other)))
        if encodings is not None:
            q, k = (t * encodings[0] + rotated(t) * encodings[1] for t in (q, k))
        if q.shape[-2] == 0 or k.shape[-2] == 0:
            found = q.new_zeros((*q.shape[:-1], v.shape[-1]))
        else:
            found = F.scaled_dot_product_attention(q, k, v)
        return x + self.ffn(torch.cat([x, self.out(found.transpose(1, 2).flatten(-2))], -1))


class Assignment(nn.Module):
    def __init__(self, width) -> None:
        super().__init__()
        self.matchability, self.final_proj, self.width = nn.Linear(width, 1), nn.Linear(width, width), width

    def forward(self, desc0, desc1):
        mdesc0, mdesc1 = self.final_proj(desc0) / self.width**0.25, self.final_proj(desc1) / self.width**0.25
        sim = torch.einsum("bmd,bnd->bmn", mdesc0, mdesc1)
        z0, z1 = self.matchability(desc0), self.matchability(desc1)
        b, m, n = sim.shape
        certainties = F.logsigmoid(z0) + F.logsigmoid(z1).transpose(1, 2)
        scores = sim.new_full((b, m + 1, n + 1), 0)
        scores[:, :m, :n] = F.log_softmax(sim, 2) + F.log_softmax(sim.transpose(-1, -2).contiguous(), 2).transpose(-1, -2) + certainties
        scores[:, :-1, -1] = F.logsigmoid(-z0.squeeze(-1))
        scores[:, -1, :-1] = F.logsigmoid(-z1.squeeze(-1))
        return scores

    def get_matchability(self, desc):
        return torch.sigmoid(self.matchability(desc)).squeeze(-1)


def filter_matches(scores, threshold):
    max0, max1 = scores[:, :-1, :-1].max(2), scores[:, :-1, :-1].max(1)
    m0, m1 = max0.indices, max1.indices
    indices0, indices1 = torch.arange(m0.shape[1])[None], torch.arange(m1.shape[1])[None]
    mutual0, mutual1 = indices0 == m1.gather(1, m0), indices1 == m0.gather(1, m1)
    exp0 = max0.values.exp()
    mscores0 = torch.where(mutual0, exp0, exp0.new_tensor(0))
    mscores1 = torch.where(mutual1, mscores0.gather(1, m1), exp0.new_tensor(0))
    valid0 = mutual0 & (mscores0 > threshold)
    valid1 = mutual1 & valid0.gather(1, m1)
    return torch.where(valid0, m0, -1), torch.where(valid1, m1, -1), mscores0, mscores1


class LightGlue(nn.Module):
    def __init__(self, width=8, heads=2, layers=3, depth_confidence=0.95, width_confidence=0.99, pruning_th=4) -> None:
        super().__init__()
        self.n_layers, self.depth_confidence, self.width_confidence, self.pruning_th = layers, depth_confidence, width_confidence, pruning_th
        self.posenc = Positions(width // heads)
        self.self_attn = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.cross_attn = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.log_assignment = nn.ModuleList(Assignment(width) for _ in range(layers))
        self.token_confidence = nn.ModuleList(nn.Sequential(nn.Linear(width, 1), nn.Sigmoid()) for _ in range(layers - 1))
        self.register_buffer("confidence_thresholds", torch.Tensor([min(max(0.8 + 0.1 * math.exp(-4.0 * i / layers), 0), 1) for i in range(layers)]))

    def check_if_stop(self, confidences0, confidences1, layer_index, num_points):
        confidences = torch.cat([confidences0, confidences1], -1)
        ratio_confident = 1.0 - (confidences < self.confidence_thresholds[layer_index]).float().sum() / num_points
        return ratio_confident > self.depth_confidence

    def get_pruning_mask(self, confidences, scores, layer_index):
        keep = scores > (1 - self.width_confidence)
        if confidences is not None:
            keep |= confidences <= self.confidence_thresholds[layer_index]
        return keep

    def forward(self, kpts0, kpts1, desc0, desc1):
        b, m, _ = kpts0.shape
        b, n, _ = kpts1.shape
        encoding0, encoding1 = self.posenc(kpts0), self.posenc(kpts1)
        ind0, ind1 = torch.arange(0, m)[None], torch.arange(0, n)[None]
        prune0, prune1 = torch.ones_like(ind0), torch.ones_like(ind1)
        token0, token1 = None, None
        for i in range(self.n_layers):
            if desc0.shape[1] == 0 or desc1.shape[1] == 0:
                break
            desc0, desc1 = self.self_attn[i](desc0, desc0, encoding0), self.self_attn[i](desc1, desc1, encoding1)
            desc0, desc1 = self.cross_attn[i](desc0, desc1), self.cross_attn[i](desc1, desc0)
            if i == self.n_layers - 1:
                continue
            token0, token1 = self.token_confidence[i](desc0).squeeze(-1), self.token_confidence[i](desc1).squeeze(-1)
            if self.check_if_stop(token0, token1, i, m + n):
                break
            if desc0.shape[-2] > self.pruning_th:
                keep0 = torch.where(self.get_pruning_mask(token0, self.log_assignment[i].get_matchability(desc0), i))[1]
                ind0, desc0, encoding0 = ind0.index_select(1, keep0), desc0.index_select(1, keep0), encoding0.index_select(-2, keep0)
                prune0[:, ind0] += 1
            if desc1.shape[-2] > self.pruning_th:
                keep1 = torch.where(self.get_pruning_mask(token1, self.log_assignment[i].get_matchability(desc1), i))[1]
                ind1, desc1, encoding1 = ind1.index_select(1, keep1), desc1.index_select(1, keep1), encoding1.index_select(-2, keep1)
                prune1[:, ind1] += 1
        if desc0.shape[1] == 0 or desc1.shape[1] == 0:
            m0, m1 = desc0.new_full((b, m), -1, dtype=torch.long), desc0.new_full((b, n), -1, dtype=torch.long)
            return m0, m1, desc0.new_zeros((b, m)), desc0.new_zeros((b, n)), i + 1, prune0, prune1
        m0, m1, mscores0, mscores1 = filter_matches(self.log_assignment[i](desc0, desc1), 0.01)
        m0_, m1_ = torch.full((b, m), -1), torch.full((b, n), -1)
        m0_[:, ind0] = torch.where(m0 == -1, -1, ind1.gather(1, m0.clamp(min=0)))
        m1_[:, ind1] = torch.where(m1 == -1, -1, ind0.gather(1, m1.clamp(min=0)))
        mscores0_, mscores1_ = torch.zeros((b, m)), torch.zeros((b, n))
        mscores0_[:, ind0], mscores1_[:, ind1] = mscores0, mscores1
        return m0_, m1_, mscores0_, mscores1_, i + 1, prune0, prune1


def matcher(**sizes):
    """A small LightGlue whose random weights stop and drop at other layers for other data."""
    torch.manual_seed(0)
    model = LightGlue(**sizes).eval()
    with torch.no_grad():
        for layer in model.token_confidence:
            layer[0].weight.mul_(20)
            layer[0].bias.fill_(4)
        for layer in model.log_assignment:
            layer.matchability.weight.mul_(30)
    return model


def points(m, n, scale=1.0, width=8):
    """Points of two images with their features."""
    return torch.rand(1, m, 2), torch.rand(1, n, 2), torch.randn(1, m, width) * scale, torch.randn(1, n, width) * scale


class Language(nn.Module):
    """A language model of transformers, from ids to states."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).last_hidden_state


class Seen(nn.Module):
    """A vision model of transformers, from pixels to states."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixels).last_hidden_state


def points_at(points, index):
    batch = points.shape[0]
    shape, repeats = [batch, *[1] * (index.dim() - 1)], [1, *index.shape[1:]]
    return points[torch.arange(batch).view(shape).repeat(repeats), index, :]


def farthest_points(xyz, count):
    batch, n, _ = xyz.shape
    centroids = torch.zeros(batch, count, dtype=torch.long)
    distance = torch.ones(batch, n) * 1e10
    farthest = torch.zeros(batch, dtype=torch.long)
    batches = torch.arange(batch, dtype=torch.long)
    for i in range(count):
        centroids[:, i] = farthest
        centroid = xyz[batches, farthest, :].view(batch, 1, 3)
        found = torch.sum((xyz - centroid) ** 2, -1)
        mask = found < distance
        distance[mask] = found[mask]
        farthest = torch.max(distance, -1)[1]
    return centroids


def ball_points(radius, count, xyz, centers):
    batch, n, _ = xyz.shape
    index = torch.arange(n, dtype=torch.long).view(1, 1, n).repeat([batch, centers.shape[1], 1])
    index[torch.sum((centers[:, :, None] - xyz[:, None]) ** 2, -1) > radius**2] = n
    index = index.sort(dim=-1)[0][:, :, :count]
    first = index[:, :, 0].view(batch, -1, 1).repeat([1, 1, count])
    mask = index == n
    index[mask] = first[mask]
    return index


class SetAbstraction(nn.Module):
    """A layer of PointNet++: centers are sampled, and the points in a ball around each go through a network."""

    def __init__(self, count: int | None) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(6, 8, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.count = count

    def forward(self, xyz):
        batch, n, _ = xyz.shape
        count = n // 2 if self.count is None else self.count
        centers = points_at(xyz, farthest_points(xyz, count))
        grouped = points_at(xyz, ball_points(0.8, 4, xyz, centers))
        grouped = torch.cat([grouped - centers.view(batch, count, 1, 3), grouped], -1)
        return centers, torch.max(self.network(grouped.permute(0, 3, 2, 1)), 2)[0]


def mamba(width=16, states=4, layers=1):
    """A small Mamba."""
    import transformers

    sizes = {"hidden_size": width, "state_size": states, "num_hidden_layers": layers}
    return Language(transformers.MambaModel(transformers.MambaConfig(vocab_size=29, conv_kernel=3, expand=2, time_step_rank=2, use_cache=False, **sizes))).eval()


def dinov2(width=16, layers=1):
    """A small DINOv2, which was trained on images of 16 by 16."""
    import transformers

    config = transformers.Dinov2Config(hidden_size=width, num_hidden_layers=layers, num_attention_heads=2, image_size=16, patch_size=4)
    config._attn_implementation = "eager"
    return Seen(transformers.Dinov2Model(config)).eval()
