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


def scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """PyTorch only takes float8, which examples cannot have."""
    if self.dim() != 2 or mat2.dim() != 2 or scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        raise ValueError("expected two matrices and two scales in float32")
    product = (self.double() @ mat2.double()) * scale_a * scale_b
    return (product if bias is None else product + bias).to(out_dtype or self.dtype)


STAND_INS = {
    "aten::_scaled_mm": scaled_mm,
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
