"""CPU implementations of operators that PyTorch only has on other devices, for the examples of their rules."""
import torch


def attention(query, key, value, bias, dropout_p, is_causal, scale):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal, attn_mask=bias, scale=scale)


def efficient_attention(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    nothing = torch.zeros((), dtype=torch.int64)
    return (*attention(query, key, value, attn_bias, dropout_p, is_causal, scale), nothing, nothing)


def flash_attention(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None, bias=None):
    nothing, none = torch.zeros((), dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
    result, logarithms = attention(query, key, value, bias, dropout_p, is_causal, scale)
    return result, logarithms, none, none, query.shape[2], key.shape[2], nothing, nothing, none


def cudnn_attention(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    return flash_attention(query, key, value, dropout_p, is_causal, return_debug_mask, scale=scale, bias=attn_bias)


def flash_attention_backward(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
                             philox_seed, philox_offset, *, scale=None):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, scale=scale)


def efficient_attention_backward(grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
                                 grad_input_mask, is_causal=False, *, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    bias = attn_bias.masked_fill(attn_bias.new_ones(attn_bias.shape, dtype=torch.bool).triu(1), -torch.inf) if is_causal else attn_bias
    weights = (query @ key.mT * scale + bias - logsumexp[:, :, :query.shape[2], None]).exp()
    slopes = weights * (grad_out_ @ value.mT - (grad_out_ * out).sum(-1, keepdim=True))
    bias = slopes.sum_to_size(attn_bias.shape)
    return masked((slopes @ key * scale, slopes.mT @ query * scale, weights.mT @ grad_out_, bias), grad_input_mask)


def scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """PyTorch only takes float8, which examples cannot have."""
    if self.dim() != 2 or mat2.dim() != 2 or scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        raise ValueError("expected two matrices and two scales in float32")
    product = (self.double() @ mat2.double()) * scale_a * scale_b
    return (product if bias is None else product + bias).to(out_dtype or self.dtype)


def scaled_mm_v2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, contraction_dim=(), use_fast_accum=False):
    """PyTorch only takes float8, which examples cannot have."""
    (a,), (b,) = scale_a, scale_b
    return scaled_mm(self, mat2, a, b, bias, None, out_dtype)


def gradients(function, grads, *inputs):
    """The gradients of the inputs of a function, from those of its results. Those that are None count for nothing."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    with torch.enable_grad():
        results = function(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        kept = [(r, g) for r, g in zip(results, grads) if g is not None]
        return torch.autograd.grad([r for r, _ in kept], inputs, [g for _, g in kept])


def masked(results, mask):
    return tuple(r for r, is_asked in zip(results, mask) if is_asked)


def linear_backward(self, grad_output, weight, output_mask):
    bias = torch.zeros(weight.shape[0], dtype=weight.dtype)
    return masked(gradients(torch.nn.functional.linear, [grad_output], self, weight, bias), output_mask)


def lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    i, f, c, o = workspace.chunk(4, 1)
    for_output = torch.zeros_like(cx) if grad_hy is None else grad_hy * cy.tanh() * o * (1 - o)
    for_cell = 0 if grad_cy is None else grad_cy
    for_cell = for_cell + (0 if grad_hy is None else grad_hy * o * (1 - cy.tanh() ** 2))
    gates = torch.cat([for_cell * c * i * (1 - i), for_cell * cx * f * (1 - f), for_cell * i * (1 - c * c), for_output], 1)
    return (gates, for_cell * f, gates.sum(0)) if has_bias else (gates, for_cell * f)


def lstm_cell_backward(*args, **kwargs):
    gates, cell, *bias = lstm_cell_backward_impl(*args, **kwargs)
    return gates, gates, cell, *bias, *bias


def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    sums = input_gates + hidden_gates + (0 if input_bias is None else input_bias + hidden_bias)
    i, f, c, o = sums.chunk(4, 1)
    cy = f.sigmoid() * cx + i.sigmoid() * c.tanh()
    return o.sigmoid() * cy.tanh(), cy, torch.cat([i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()], 1)


def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    own = (input_gates + (0 if input_bias is None else input_bias)).chunk(3, 1)
    old = (hidden_gates + (0 if hidden_bias is None else hidden_bias)).chunk(3, 1)
    reset, update = (own[0] + old[0]).sigmoid(), (own[1] + old[1]).sigmoid()
    new = (own[2] + reset * old[2]).tanh()
    return (hx - new) * update + new, torch.cat([reset, update, new, hx, old[2]], 1)


def gru_cell_backward(grad_hy, workspace, has_bias):
    reset, update, new, hx, hidden = workspace.chunk(5, 1)
    for_new = grad_hy * (1 - update) * (1 - new * new)
    first = torch.cat([for_new * hidden * reset * (1 - reset), grad_hy * (hx - new) * update * (1 - update)], 1)
    own, old = torch.cat([first, for_new], 1), torch.cat([first, for_new * reset], 1)
    return own, old, grad_hy * update, *([own.sum(0), old.sum(0)] if has_bias else [])


def rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    normal = input * rstd
    scaled = grad_out if weight is None else grad_out * weight
    over = list(range(input.dim() - len(normalized_shape), input.dim()))
    own = (scaled - normal * (scaled * normal).mean(over, keepdim=True)) * rstd
    return masked((own, (grad_out * normal).flatten(0, input.dim() - len(over) - 1).sum(0)), output_mask)


STAND_INS = {
    "aten::_scaled_dot_product_flash_attention_backward": flash_attention_backward,
    "aten::_scaled_dot_product_efficient_attention_backward": efficient_attention_backward,
    "aten::_fused_rms_norm_backward": rms_norm_backward,
    "aten::linear_backward": linear_backward,
    "aten::matmul_backward": lambda grad, self, other, mask: masked(gradients(torch.matmul, [grad], self, other), mask),
    "aten::max_pool2d_backward": lambda grad_output, self, *args, **kwargs:
        gradients(lambda x: torch.max_pool2d(x, *args, **kwargs), [grad_output], self)[0],
    "aten::_thnn_fused_lstm_cell": lstm_cell,
    "aten::_thnn_fused_gru_cell": gru_cell,
    "aten::_thnn_fused_lstm_cell_backward": lstm_cell_backward,
    "aten::_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward_impl,
    "aten::_thnn_fused_gru_cell_backward": gru_cell_backward,
    "aten::_scaled_mm": scaled_mm,
    "aten::_scaled_mm_v2": scaled_mm_v2,
    "aten::_softmax": lambda self, dim, half_to_float: torch.softmax(self, dim, dtype=torch.float32),
    "aten::_log_softmax": lambda self, dim, half_to_float: torch.log_softmax(self, dim, dtype=torch.float32),
    "aten::mm.dtype": lambda self, mat2, out_dtype: torch.mm(self.to(out_dtype), mat2.to(out_dtype)),
    "aten::bmm.dtype": lambda self, mat2, out_dtype: torch.bmm(self.to(out_dtype), mat2.to(out_dtype)),
    "aten::addmm.dtype": lambda self, mat1, mat2, out_dtype, **numbers:
        torch.addmm(self.to(out_dtype), mat1.to(out_dtype), mat2.to(out_dtype), **numbers),
    "aten::baddbmm.dtype": lambda self, batch1, batch2, out_dtype, **numbers:
        torch.baddbmm(self.to(out_dtype), batch1.to(out_dtype), batch2.to(out_dtype), **numbers),
    "aten::_scaled_dot_product_efficient_attention": efficient_attention,
    "aten::_scaled_dot_product_flash_attention": flash_attention,
    "aten::_scaled_dot_product_cudnn_attention": cudnn_attention,
}
