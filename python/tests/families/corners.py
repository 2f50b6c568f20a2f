"""Corners of values and shapes: signs and wrapping of integers, rounding, promotion, special floats, spectra of other lengths, writes through views. See test_families.py."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .makers import layer

aten = torch.ops.aten
TABLE = {}

TABLE["corner_numbers"] = {
    "floor_negative": (lambda x, y: (x // y, torch.floor_divide(x, -y), x % -y, torch.remainder(-x, y), torch.fmod(-x, y), torch.div(x, -y, rounding_mode="trunc")), "i a b", "i+ b"),
    "floor_float": (lambda x, y: (x // y, x % -y, torch.fmod(x, -y), torch.div(x, y, rounding_mode="floor"), divmod(-7, 3)[1] * x), "f a b", "f+ b"),
    "wrapping_bytes": (lambda x: (x + 250, x - 9, -x, x * 77, x // 3, ~x, x << 3, x >> 1, (x + 251).sum(), x.float().neg().abs().to(torch.uint8)), "u a b"),
    "wrapping_words": (lambda x: (x.to(torch.int8) * 63, x.to(torch.int16) * 9999, (x * 500000000), x.to(torch.int8).sum(0), x.to(torch.int16).cumsum(1, dtype=torch.int16)), "w a b"),
    "shifts": (lambda x, s: (x << s, x >> s, torch.bitwise_left_shift(x, 2), torch.bitwise_right_shift(-x, s), x & 6, x | 9, x ^ -1), "i a b", "i5 b"),
    "integer_powers": (lambda x: (x.pow(3), x**0, torch.pow(2, x.abs()), x.abs().pow(x.abs() % 4), x.float().pow(-2).clamp(max=9), x.square()), "i a b"),
    "rounding": (lambda x: ((x * 10).round() / 2, (x * 10).round().div(4).round(), torch.round(x, decimals=2), torch.round(x * 100, decimals=-1), (x * 2).round() * 0.5 - x.trunc(), x.frac()), "f a b"),
    "halves": (lambda x: ((x + 0.5).round(), (x.float() / 2).round(), (x.double() + 0.5).round(), (x + 0.5).floor(), (x + 0.5).ceil(), (x - 0.5).trunc()), "i a b"),
    "promotion": (lambda x, i, b: (x + i, i + b, x.half() + i, i.to(torch.int8) + b, i.to(torch.uint8) * i.to(torch.int8), b * 2.5, i / 2, i * 1.5, torch.add(b, b), x.double() + x), "f a b", "i a b", "b a b"),
    "promotion_0d": (lambda x, i: (x.half() + torch.tensor(3.0), i + torch.tensor(2.5), i.to(torch.int32) + torch.tensor(7), x * torch.tensor(2, dtype=torch.float64), i.sum() * 0.5 + x), "f a b", "i a b"),
    "scalars": (lambda x: (torch.rsub(x, 2, alpha=3), torch.add(x, 1, alpha=0.5), 2 - x, 3 / (x.abs() + 1), 2**x, aten.sub.Scalar(x, 0.25, 2), aten.mul.Scalar(x, -0.0)), "f a b"),
    "clamps": (lambda x, y: (x.clamp(min=y), x.clamp(max=y), x.clamp(y, y + 1), x.clamp(1, -1), x.clip(None, 0.2), torch.clamp_min(x, 0), (x * 5).long().clamp(-2, 3)), "f a b", "f b"),
    "special_floats": (
        lambda x: (lambda z: (z.isnan(), z.isinf(), z.isfinite(), z.isposinf(), z.nan_to_num(1.0, 2.0, -3.0), z.sign(), z.relu(), z.clamp(-1, 1), z.sgn(), z.exp(), z.floor()))(
            torch.where(x > 0.8, math.inf, torch.where(x < -0.8, -math.inf, torch.where(x.abs() < 0.2, math.nan, x)))
        ), "f a b"),
    "extremes_with_nan": (
        lambda x, y: (lambda z: (torch.maximum(z, y), torch.minimum(z, y), torch.fmax(z, y), torch.fmin(z, y), z.nansum(1), z.nanmean(0), z.sum(1), z.isnan().any(0)))(torch.where(x > 1, math.nan, x)),
        "f a b", "f a b"),
    "zeros_with_sign": (lambda x: (lambda z: (z.sign(), z.signbit(), torch.copysign(x, z), z.sqrt().signbit(), torch.atan2(z, z), (z - 0.0).signbit(), z.neg().signbit()))(x.relu() * -0.0), "f a b"),
    "mantissa": (lambda x: (*torch.frexp(x * 10), torch.ldexp(x, torch.tensor([2, -1, 0])[: 1]), torch.nextafter(x, x + 1) > x, torch.logaddexp2(x, -x), x.float_power(2)), "f a b"),
    "hypotenuses": (lambda x, y: (torch.hypot(x, y), torch.atan2(x, -y), torch.logaddexp(x * 100, y * 100), torch.heaviside(x, y), torch.xlogy(x.relu(), y.abs()), torch.lerp(x, y, 0.3), torch.lerp(x, y, x)), "f a b", "f a b"),
    "greatest": (lambda x, y: (torch.gcd(x, y), torch.lcm(x, y), x.abs().sqrt(), x.sin(), torch.true_divide(x, y), torch.mul(x, y).float().mean()), "i a b", "i+ b"),
    "close": (lambda x: (torch.isclose(x, x.round(), atol=0.3), torch.isclose(x, x + 1e-7), torch.isin((x * 3).long(), torch.tensor([0, 1, -2])), (x * 2).long().eq(1), x.ne(x.T[:1].T)), "f a b"),
    "halves_16": (lambda x: (x.exp(), x.sum(1), x.mean(), x.softmax(1), x.norm(dim=1), (x * 300).clamp(max=500), x.var(1), x.cumsum(0), x.sigmoid().log(), x.half().float()), "h a b"),
}

TABLE["corner_shapes"] = {
    "slices_beyond": (lambda x: (x[:99], x[-99:2], x[1:0], x[:, -2:], x[::2, 1::3], x[..., None, :1], x[x.shape[0] :], x[-1:, : x.shape[1] // 2]), "f a b"),
    "negative_everything": (lambda x: (x.select(-2, -1), x.narrow(-1, 0, 2), x.flatten(-2, -1), x.unsqueeze(-1), x.transpose(-1, -3), x.sum((-1, -2)), x.softmax(-2), x.movedim(-1, 0)), "f a b c"),
    "indices_mixed": (lambda x, i: (x[:, i], x[i % 2, :, i % 2], x[:, i[:, None], i % 2], x[..., i % 2, 0], x[i % 2][:, :, None], x[None, i % 2, 1:]), "f 2 6 c", "i5 d"),
    "index_negative": (lambda x, i: (x[i], x[-i - 1], x.index_select(0, i), x[:, (i % 2) - 2], x[torch.tensor([-1, 0])], x.take(i - 5)), "f 5 4", "i5 d"),
    "index_bool": (lambda x, m: (x[m], x[m].sum(), x[m.any(1)], x[:, torch.tensor([True, False, True])], x[m.logical_not()].mean(), m.nonzero(), m.sum(), m.long().argmax(1)), "f a 3", "n a 3"),
    "writes_through_views": (lambda x: _written(x), "f a 4 c"),
    "writes_by_index": (lambda x, i: _put(x, i), "f 6 b", "p6 3"),
    "index_put_parts": (lambda x, i: (aten.index_put(x, [None, i], x.new_ones(())), aten.index_put(x, [i % 2], x[:3] * 0 + 2, True), x.index_add(1, i, x[:, :3], alpha=2)), "f 4 6", "p6 3"),
    "scatter_reduces": (lambda x, i: tuple(x.scatter_reduce(0, i, x[:2] * 2, how, include_self=keep) for how in ("sum", "prod", "amax", "amin", "mean") for keep in (True, False)), "f 5 b", "i5 2 b"),
    "products_of_sets": (lambda x, y: (torch.cartesian_prod(x, y), torch.combinations(x[:3], 2), *torch.meshgrid(x, y, indexing="xy"), *torch.meshgrid(x, y, indexing="ij"), torch.block_diag(x[None], y[None].T)), "f 4", "f b"),
    "differences": (lambda x: (x.diff(), x.diff(2, 0), torch.diff(x, prepend=x[:, :1], append=x[:, -1:]), torch.trapezoid(x, dx=0.5), torch.cumulative_trapezoid(x), *torch.gradient(x)), "f 4 5"),
    "ranges": (lambda x: (torch.arange(0, x.shape[0], 2), torch.arange(x.shape[1], 0, -1), torch.arange(0.0, 1.0, 0.25), torch.linspace(0, 1, x.shape[0]), torch.logspace(0, 2, 3), torch.arange(x.shape[0]).float() / x.shape[0]), "f a b"),
    "nothing": (lambda x: (x[:0].sum(), x[:, :0].sum(1), x[:0].mean(0).isnan(), torch.cat([x[:0], x]), x[:0].flatten(), x[:0].all(), x[:0] @ x.T, x[:, :0] @ x[:, :0].T, x[:0].cumsum(1), x[:0].any(0)), "f a b"),
    "no_dimensions": (lambda x: (lambda z: (z.flatten(), z.reshape(1, 1), z.expand(2, 3), z[None], z.unsqueeze(0).squeeze(), z.sort().values, z.topk(1).values, z.cumsum(0), z.argmax(), z.var(unbiased=False), z.nonzero().shape[1] + x))(x.sum()), "f a b"),
    "views_of_types": (lambda x: (x.view(torch.int32), x.view(torch.int32) >> 23, (x.abs().view(torch.int32) & 0x7FFFFF).float(), x.double().view(torch.int64) >> 52), "f a b"),
    "strides": (lambda x: (x.as_strided((2, 3), (1, 2)), x.T.as_strided((2, 2), (4, 1), 3), x.T.contiguous().view(-1)[:5], x.t().reshape(2, -1), x.unfold(0, 2, 1).sum(-1), x.T.unfold(0, 3, 2)), "f 4 4"),
    "unflattens": (lambda x: (x.unflatten(1, (2, -1)), x.unflatten(-1, (-1, 1)), x.view(-1, 2), x.reshape(x.shape[0], 2, -1).transpose(0, 1).flatten(1), x.view(x.shape[0], 2, x.shape[1] // 2)), "f a e"),
    "broadcasts": (lambda x, y: (*torch.broadcast_tensors(x, y[:, :1]), torch.broadcast_to(x, (2, *x.shape)), x.expand(3, -1, -1), x[:, None] + y[None], torch.atleast_3d(x), x.new_tensor([1.0]).expand_as(x)), "f a b", "f a b"),
    "splits_by_size": (lambda x: (*x.split(x.shape[0] // 2 + 1), *x.tensor_split(3, 1), *x.chunk(2, 1), *torch.split(x, [1, x.shape[1] - 1], 1)), "f 4 5"),
    "windows": (lambda x: (x.unfold(1, 3, 2), x.unfold(-1, 2, 1).unfold(1, 2, 1), F.unfold(x[:, None], (2, 3), dilation=(1, 2), padding=1), x.unfold(2, x.shape[2], 1)), "f a h w"),
}


def _written(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[:, 1:3].transpose(1, 2).mul_(2)
    y.view(y.shape[0], -1)[:, ::3] += 1
    y.select(1, 0).copy_(y.select(1, 3))
    y.diagonal(0, 0, 1).zero_()
    y.T[0].clamp_(min=-0.5) if y.dim() == 2 else y.unbind(1)[2].clamp_(min=-0.5)
    return y, x


def _put(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[i] += 1
    y[i, 0] = y[i, 1] * 2
    y[i[0]] = 5
    y[y > 2] = -y[y > 2]
    y[:, [0, 1]] = y[:, [1, 0]]
    return y, y.index_fill_(0, i[1:2], 3)


complex_of = torch.view_as_complex
real = lambda z: torch.view_as_real(z.resolve_conj())  # noqa: E731
TABLE["corner_functions"] = {
    "spectra_of_other_lengths": (lambda x: tuple(map(real, (torch.fft.fft(x, 7), torch.fft.rfft(x, 3), torch.fft.ifft(x, norm="ortho"), torch.fft.fft(x, dim=0), torch.fft.rfft(x, norm="forward")))), "f a 5"),
    "spectra_back": (lambda x: (torch.fft.irfft(torch.fft.rfft(x), x.shape[-1]), torch.fft.irfft(torch.fft.rfft(x), 6), torch.fft.hfft(torch.fft.rfft(x), 5), torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.fft.fftfreq(5, 0.1) + x[:, :1]), "f a b"),
    "spectra_2d": (lambda x: (torch.view_as_real(torch.fft.fftn(x, dim=(0, 2))), torch.fft.irfft2(torch.fft.rfft2(x), x.shape[-2:]), torch.view_as_real(torch.fft.ifft2(x, s=(4, 4)))), "f a b c"),
    "complex_arithmetic": (lambda x, y: (lambda u, v: tuple(map(real, (u * v, u / v, u - 2j * v, u.conj(), u**2, u.exp(), u.reciprocal(), 1 / v, u.sqrt()))))(complex_of(x), complex_of(y)), "f a b 2", "f a b 2"),
    "complex_parts": (lambda x: (lambda u: (u.abs(), u.angle(), u.real, u.imag, torch.view_as_real(u.sgn()), torch.view_as_real(torch.polar(u.abs(), u.angle())), u.isnan(), u == u.conj()))(complex_of(x)), "f a b 2"),
    "complex_sums": (lambda x: (lambda u: tuple(map(real, (u.sum(0), u.mean(1), u @ u.mH, u.T, u.cumsum(0), torch.cat([u, u]), u[:, :1] + u, u.flatten()))))(complex_of(x)), "f a b 2"),
    "windows_of_sound": (lambda x: (torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True).abs(), torch.stft(x, 6, 3, center=False, window=torch.ones(6), return_complex=True).angle().cos().abs() >= 0), "f a 24"),
    "losses_more": (lambda x, y: (F.gaussian_nll_loss(x, y, x.abs() + 0.1), F.soft_margin_loss(x, y.sign()), F.hinge_embedding_loss(x, y.sign()), F.margin_ranking_loss(x, y, y.sign()), F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=torch.tensor(2.0))), "f a b", "f a b"),
    "losses_of_classes": (lambda x, t: (F.cross_entropy(x, t, label_smoothing=0.1), F.cross_entropy(x, t, reduction="none"), F.nll_loss(x.log_softmax(1), t, weight=torch.tensor([1.0, 2, 3, 4, 5])), F.cross_entropy(x, x.softmax(1))), "f a 5", "i5 a"),
    "bags": (lambda i, w, s: (F.embedding_bag(i, w, mode="sum", per_sample_weights=s), F.embedding_bag(i, w, mode="mean", padding_idx=0), F.embedding(i, w, max_norm=None).sum(1)), "i5 a b", "f 5 3", "f a b"),
    "one_hot": (lambda i: (F.one_hot(i, 6), F.one_hot(i, 5).float().sum(0), i.bincount(minlength=6) if i.dim() == 1 else i.flatten().bincount(minlength=6), i.unique().numel() * i), "i5 a b"),
    "attention_of_nothing": (lambda q, m: (F.scaled_dot_product_attention(q, q, q, m[:, None, None].expand(-1, 1, q.shape[2], -1)), F.scaled_dot_product_attention(q, q, q, torch.where(m, 0.0, -1e9)[:, None, None]), F.scaled_dot_product_attention(q[0], q[0], q[0], scale=2.0)), "f a 2 b 4", "n a b"),
    "grids": (lambda x, g: (F.grid_sample(x, g * 2 - 1, "nearest", "reflection", True), F.grid_sample(x, g * 3 - 1.5, "bilinear", "zeros", True), F.grid_sample(x, g * 2 - 1, "bicubic", "border", False)), "f a 2 h w", "r a 3 4 2"),
    "pools_more": (lambda x: (F.avg_pool2d(x, 3, 2, 1, True, False), F.max_pool2d(x, 2, 1, 0, 2), F.lp_pool2d(x.abs(), 3, 2), F.adaptive_avg_pool2d(x, (3, 1)), F.max_pool2d(x, 3, 3, 1, ceil_mode=True), F.avg_pool1d(x[:, 0], 3, count_include_pad=False, padding=1)), "f a 2 h w"),
    "quantiles": (lambda x: (x.median(), x.median(0).values, x.nanmedian(1).values, x.quantile(torch.tensor([0.1, 0.9]), 1), x.kthvalue(2, 1).values, x.mode(0).values, x.aminmax(dim=1).max, x.sort(dim=0, descending=True, stable=True).values), "f 5 4"),
    "statistics": (lambda x: (torch.cov(x), torch.corrcoef(x), x.std((0, 1), correction=2), torch.var_mean(x, 0)[1], x.norm(p=math.inf), x.norm(1, 0), x.renorm(1, 0, 0.5), x.logsumexp((0, 1)), torch.cdist(x, x, 0.5)), "f 3 5"),
    "cumulative_more": (lambda x: (x.cumprod(0), x.long().cumsum(1), (x > 0).cumsum(0), x.cummax(1).indices, x.logcumsumexp(1), x.flip(0).cumsum(0).flip(0), x.cumsum(0, dtype=torch.float64), (x > -2).cumprod(1)), "f a b"),
    "gates": (lambda x: (F.glu(x, 1), F.gelu(x, approximate="tanh"), F.celu(x, 0.5), F.hardswish(x), F.leaky_relu(x, -0.1), F.softplus(x, 3, 0.5), F.hardsigmoid(x), F.threshold(x, 0.1, -9), F.rrelu(x), F.logsigmoid(x * 50), F.elu(x, 2.0)), "f a e"),
    "states_of_modules": (layer(lambda: nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.LSTM(4, 2, bidirectional=True, batch_first=True)}), lambda m, x: {"y": m["b"](m["a"](x), None)[0], "z": [m["a"](x[:, 0]), (x.sum(),)]}), "f a b 4"),
    "shared_layers": (layer(lambda: nn.Linear(4, 4), lambda m, x: (m(m(x)), F.linear(x, m.weight.T), m.weight.sum() * x, (m(x) @ m.weight).tanh() + m.bias)), "f a 4"),
}
