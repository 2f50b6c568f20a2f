"""Names that mean others, special functions, matrices, spectra, and what gradients call. See test_families.py."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .makers import layer

aten = torch.ops.aten
special = torch.special
linalg = torch.linalg
TABLE = {}

TABLE["alias"] = {
    "compare": (lambda x, y: (x.less(y), x.greater(y), x.less_equal(y), x.greater_equal(y), x.not_equal(y), torch.ge(x, 0), torch.lt(x, y)), "f a b", "f b"),
    "compare_in_place": (lambda x, y: (x.clone().lt_(y), x.clone().eq_(1), x.clone().ge_(y)), "f a b", "f b"),
    "arithmetic": (lambda x, y: (torch.subtract(x, y, alpha=3), torch.multiply(x, y), torch.divide(x, y), torch.true_divide(y, x), torch.divide(x, y, rounding_mode="floor")),
        "f+ a b", "f+ a 1"),
    "inverses": (lambda x: (torch.arccos(x), torch.arcsin(x), torch.arctan(x), torch.arctanh(x * 0.9), torch.arcsinh(x), torch.arccosh(x + 1), torch.arctan2(x, -x)), "r a b"),
    "fix": (lambda x: (torch.fix(x), torch.absolute(x), torch.positive(x), torch.negative(x), torch.clip(x, 0, 1), x.fix_()), "f a b"),
    "float_power": (lambda x, y: (torch.float_power(x, 2), torch.float_power(x, y), torch.float_power(2, y), x.float_power(0.5)), "f+ a b", "f b"),
    "float_power_int": (lambda x: (torch.float_power(x, 2), torch.float_power(x, -1)), "i+ a b"),
    "floor_divide": (lambda x, y: (torch.floor_divide(x, y), torch.floor_divide(x, 3), x.floor_divide(-2)), "f a b", "f+ b"),
    "floor_divide_int": (lambda x, y: (torch.floor_divide(x, y), torch.floor_divide(x, 3), x.floor_divide(-2), torch.floor_divide(x, 1.5)), "i a b", "i+ b"),
    "fmin": (lambda x, y: (torch.fmin(torch.where(x > 0, x, math.nan), y), torch.fmax(torch.where(x > 0, x, math.nan), y), torch.fmin(y, x.log())), "f a b", "f b"),
    "frexp": (lambda x: (torch.frexp(x).mantissa, torch.frexp(x).exponent, torch.ldexp(*torch.frexp(x))), "f a b"),
    "nextafter": (lambda x, y: torch.nextafter(x, y), "f a b", "f a b"),
    "bits": (lambda x, y: (torch.bitwise_and(x, y), torch.bitwise_or(x, 3), torch.bitwise_xor(5, y), torch.bitwise_not(x), torch.bitwise_left_shift(x, 2),
        torch.bitwise_right_shift(x, y & 3)), "i9 a b", "i9 b"),
    "bits_bool": (lambda x, y: (torch.bitwise_and(x, y), torch.bitwise_or(x, y), torch.bitwise_xor(x, y), torch.bitwise_not(x)), "b a b", "b b"),
    "bits_bytes": (lambda x, y: (x & y, x | 3, x ^ y, ~x, x >> 1, (x << 1) & 255), "u a b", "u b"),
    "ones": (lambda x: (torch.is_nonzero(x.abs().sum() + 1) * x, x.isreal(), torch.real(x), x.conj_physical(), x.resolve_neg(), x.adjoint(), x.mH), "f a b"),
    "imag": (lambda x, y: (torch.complex(x, y).imag, torch.complex(x, y).real, torch.complex(x, y).conj_physical().imag, torch.complex(x, y).mH.real), "f a b", "f a b"),
    "complex_math": (lambda x, y: tuple(torch.view_as_real(f(torch.complex(x, y))) for f in (torch.exp, torch.sqrt, torch.log, torch.sin, torch.reciprocal, torch.square)),
        "f+ a b", "f+ a b"),
    "complex_product": (lambda x, y: (torch.view_as_real(torch.complex(x, y) @ torch.complex(y, x).mT), torch.view_as_real(torch.vdot(torch.complex(x[0], y[0]),
        torch.complex(y[0], x[0])))), "f a b", "f a b"),
    "view_as_complex": (lambda x: (torch.view_as_complex(x).abs(), torch.view_as_real(torch.view_as_complex(x) * 2)), "f a b 2"),
    "vdot": (lambda x, y: (torch.vdot(x, y), torch.inner(x, y), linalg.vecdot(x, y)), "f a", "f a"),
    "logaddexp": (lambda x, y: (torch.logaddexp(x, y), torch.logaddexp2(x, y), torch.logaddexp(x * 100, y * 100), torch.logaddexp(x.log(), y.log())), "f a b", "f b"),
    "logaddexp_inf": (lambda x, y: torch.logaddexp(torch.where(x > 0, x, -math.inf), torch.where(y > 0, y, -math.inf)), "f a b", "f a b"),
    "logsumexp_inf": (lambda x: (torch.where(x > 0, x, -math.inf).logsumexp(1), (torch.where(x > 0.5, -math.inf, x - 500)).logsumexp(0)), "f a b"),
    "clamp_out": (lambda x: (torch.clamp(x, max=torch.tensor(0.5)), torch.clip(x, min=torch.tensor([0.1])), x.clamp_(-1, 1)), "f a b"),
    "sum_to_size": (lambda x: (x.sum_to_size(1, x.shape[1]), x.sum_to_size(x.shape[0], 1)), "f a b"),
    "trapz": (lambda x, y: (torch.trapz(x, dx=0.5), torch.trapz(y, x), torch.trapezoid(y, x, dim=0)), "f a b", "f a b"),
    "copysign_number": (lambda x: (torch.copysign(x, -2.0), torch.copysign(x, x.flip(0)), torch.copysign(x.long(), -1)), "f a b"),
    "rsub_types": (lambda x, y: (torch.rsub(x, y), torch.rsub(y, x, alpha=2), 1 - x, 2.5 - y), "f a b", "i a b"),
    "add_bool": (lambda x, y: (x + y, x * y, y.long() + y, y.sum(0) + x, torch.add(y, y)), "f a b", "b a b"),
    "pow_numbers": (lambda x: (torch.pow(2.5, x), x ** 3.0, x ** 0, x ** 1, x ** -2, (x ** 2.0).sqrt(), 1 ** x, 0 ** x), "f+ a b"),
    "remainder_neg": (lambda x: (torch.remainder(x, -1.3), torch.fmod(x, -1.3), torch.remainder(3, x), x % 0.7, torch.remainder(x.long(), -3), torch.fmod(x.long(), -3)), "f a b"),
    "addcmul_mixed": (lambda x, y: (x.addcmul_(y, y), torch.addcdiv(x, y, y + 9, value=-1), torch.addcmul(x, y, torch.tensor(2.0), value=0.1)), "f a b", "f b"),
    "heaviside_int": (lambda x: (torch.heaviside(x, torch.tensor(3)), torch.sgn(x), torch.sign(x), x.signbit()), "i a b"),
    "nan_to_num_half": (lambda x: (torch.where(x > 0, x * math.inf, x * math.nan).nan_to_num(), torch.nan_to_num(x.log())), "h a b"),
    "casts": (lambda x: (x.to(torch.int16), x.short(), x.char(), x.double(), x.bfloat16().float(), x.half(), x.bool(), x.to(torch.complex64).real), "f a b"),
    "cast_ints": (lambda x: (x.int(), x.to(torch.uint8), x.to(torch.int16), x.to(torch.float64), x.type(torch.float16), x.ne(0).to(torch.int8)), "i9 a b"),
}

TABLE["special"] = {
    "erf": (lambda x: (special.erf(x), special.erfc(x), special.erfcx(x), special.erfinv(x.sin()), special.ndtr(x), special.ndtri(x.sigmoid()), special.log_ndtr(x)), "f a b"),
    "gamma": (lambda x: (special.gammaln(x), special.digamma(x), special.psi(x), special.polygamma(1, x), torch.mvlgamma(x + 2, 3), special.multigammaln(x + 2, 2)), "f+ a b"),
    "gammainc": (lambda x, y: (special.gammainc(x, y), special.gammaincc(x, y), torch.igamma(x, y)), "f+ a b", "f+ a b"),
    "bessel": (lambda x: (special.i0(x), special.i0e(x), special.i1(x), special.i1e(x), special.bessel_j0(x), special.bessel_j1(x), special.bessel_y0(x.abs() + 0.5),
        special.bessel_y1(x.abs() + 0.5)), "f a b"),
    "bessel_modified": (lambda x: (special.modified_bessel_i0(x), special.modified_bessel_i1(x), special.modified_bessel_k0(x.abs() + 0.5),
        special.modified_bessel_k1(x.abs() + 0.5), special.scaled_modified_bessel_k0(x.abs() + 0.5), special.spherical_bessel_j0(x), special.airy_ai(x)), "f a b"),
    "polynomials": (lambda x, n: (special.chebyshev_polynomial_t(x, n), special.chebyshev_polynomial_u(x, n), special.hermite_polynomial_h(x, n),
        special.hermite_polynomial_he(x, n), special.laguerre_polynomial_l(x, n), special.legendre_polynomial_p(x.sin(), n)), "f a b", "i5 b"),
    "polynomial_number": (lambda x: (special.chebyshev_polynomial_t(x, 3), special.hermite_polynomial_he(x, 4), special.laguerre_polynomial_l(x, 2)), "f a b"),
    "logs": (lambda x: (special.log1p(x), special.expm1(x), special.exp2(x), special.entr(x), special.logit(x.sigmoid()), special.xlogy(x, x + 1), special.xlog1py(x, x)), "f+ a b"),
    "sums": (lambda x: (special.logsumexp(x, 1), special.softmax(x, 0), special.log_softmax(x, 1), special.round(x), special.sinc(x), special.expit(x)), "f a b"),
    "zeta": (lambda x, q: (special.zeta(x + 1, q), special.zeta(2.5, q)), "f+ a b", "f+ b"),
    "zeta_number": (lambda x: special.zeta(x + 2, 1.5), "f+ a b"),
    "polygamma2": (lambda x: (torch.polygamma(2, x), torch.polygamma(0, x), x.polygamma(3)), "f+ a b"),
    "lgamma_int": (lambda x: (torch.lgamma(x), torch.digamma(x), torch.erf(x), special.i0(x)), "i+ a b"),
    "doubles": (lambda x: (special.erf(x), special.gammaln(x.abs() + 1), torch.logaddexp(x, -x), torch.expm1(x), torch.log1p(x.abs()), F.softplus(x), F.gelu(x)), "d a b"),
}

square = lambda x: x @ x.mT + 3 * torch.eye(x.shape[-2])  # noqa: E731
TABLE["linalg"] = {
    "cholesky": (lambda x: (linalg.cholesky(square(x)), linalg.cholesky(square(x), upper=True), torch.cholesky_inverse(linalg.cholesky(square(x)))), "f a 3 3"),
    "cholesky_solve": (lambda x, b: torch.cholesky_solve(b, linalg.cholesky(square(x))), "f 3 4", "f 3 a"),
    "cholesky_ex": (lambda x: linalg.cholesky_ex(square(x)).L, "f a 3 3"),
    "solve": (lambda x, b: (linalg.solve(square(x), b), linalg.solve(square(x), b, left=True), linalg.inv(square(x)) @ b), "f a 3 3", "f a 3 2"),
    "solve_vector": (lambda x, b: linalg.solve(square(x), b), "f 4 4", "f 4"),
    "triangular": (lambda x, b: (linalg.solve_triangular(square(x).tril(), b, upper=False), linalg.solve_triangular(square(x).triu(), b, upper=True),
        linalg.solve_triangular(square(x).triu(), b, upper=True, unitriangular=True)), "f a 3 3", "f a 3 2"),
    "triangular_right": (lambda x, b: linalg.solve_triangular(square(x).tril(), b, upper=False, left=False), "f 3 3", "f a 3"),
    "det": (lambda x: (linalg.det(x), linalg.slogdet(x)[0], linalg.slogdet(x)[1], torch.logdet(square(x)), torch.det(x[0])), "f a 3 3"),
    "qr": (lambda x: (lambda q, r: (q @ r, r.abs()))(*linalg.qr(x)), "f a 4 3"),
    "qr_r": (lambda x: linalg.qr(x, mode="r").R.abs(), "f 4 3"),
    "eigh": (lambda x: (linalg.eigvalsh(square(x)), (lambda w, v: v @ torch.diag_embed(w) @ v.mT)(*linalg.eigh(square(x)))), "f a 3 3"),
    "svd": (lambda x: (linalg.svdvals(x), (lambda u, s, v: u @ torch.diag_embed(s) @ v)(*linalg.svd(x, full_matrices=False))), "f a 4 3"),
    "pinv": (lambda x: (linalg.pinv(x), torch.pinverse(x[0])), "f a 3 2"),
    "rank": (lambda x: (linalg.matrix_rank(x), linalg.cond(x), linalg.matrix_norm(x, "nuc"), linalg.matrix_norm(x, 2)), "f a 3 3"),
    "lu": (lambda x: (lambda p, low, up: p @ low @ up)(*linalg.lu(square(x))), "f a 3 3"),
    "lu_solve": (lambda x, b: linalg.lu_solve(*linalg.lu_factor(square(x)), b), "f a 3 3", "f a 3 2"),
    "matrix_exp": (lambda x: (linalg.matrix_exp(x * 0.3), torch.matrix_exp(x[0])), "f a 3 3"),
    "matrix_power": (lambda x: (linalg.matrix_power(x, 2), linalg.matrix_power(x, 0), linalg.matrix_power(square(x), -1)), "f a 3 3"),
    "multi_dot": (lambda x, y, z: (linalg.multi_dot([x, y, z]), linalg.multi_dot([x, y, z, z.T, y.T])), "f a b", "f b c", "f c d"),
    "cross": (lambda x, y: (linalg.cross(x, y), torch.cross(x, y, dim=-1), linalg.cross(x, y[:1])), "f a 3", "f a 3"),
    "vecdot": (lambda x, y: (linalg.vecdot(x, y), linalg.vecdot(x, y, dim=0)), "f a b", "f a b"),
    "diagonal": (lambda x: (linalg.diagonal(x), linalg.diagonal(x, offset=1), linalg.diagonal(x, dim1=0, dim2=1), torch.diag(x[0]), torch.diag(x[0, 0], 1), torch.diagflat(x[0, :1])), "f a 3 4"),
    "vander": (lambda x: (linalg.vander(x), torch.vander(x[0], 3, increasing=True)), "f a 3"),
    "tensorsolve": (lambda x, b: linalg.tensorsolve(square(x.reshape(6, 6)).reshape(2, 3, 6), b), "f 6 6", "f 2 3"),
    "tensorinv": (lambda x: linalg.tensorinv(square(x.reshape(6, 6)).reshape(6, 2, 3), ind=1), "f 6 6"),
    "householder": (lambda x, t: linalg.householder_product(x, t), "f a 4 2", "r a 2"),
    "lstsq": (lambda x, b: linalg.lstsq(x, b).solution, "f 5 3", "f 5 2"),
    "norms": (lambda x: (linalg.vector_norm(x, 3, dim=1), linalg.vector_norm(x, 0), linalg.vector_norm(x, -1, (0, 1)), torch.norm(x, "fro"), linalg.matrix_norm(x, 1), linalg.norm(x, "fro")), "f a b"),
    "norm_except": (lambda x: (torch.norm_except_dim(x, 2, 0), torch.norm_except_dim(x, 2, 1)), "f a 3 4"),
    "kron": (lambda x, y: (torch.kron(x, y), torch.kron(x[0], y[0]), torch.outer(x[0], y[0])), "f a b", "f c 2"),
    "inner": (lambda x, y: (torch.inner(x, y), torch.tensordot(x, y, ([1], [1])), torch.einsum("ab,cb->ac", x, y), torch.einsum("ab,cb->", x, y)), "f a b", "f c b"),
    "einsum": (lambda x, y: (torch.einsum("abc,acd->abd", x, y), torch.einsum("abc,acd->bd", x, y), torch.einsum("...c,...cd->...d", x[:, 0], y), torch.einsum("abc->cba", x)), "f a b c", "f a c d"),
    "int_matmul": (lambda x, y: (x @ y, torch.mm(x, y), torch.einsum("ab,bc->ac", x, y)), "i a b", "i b c"),
    "int_matmul32": (lambda x, y: (x @ y, torch.matmul(x[None], y)), "w a b", "w b c"),
    "double_matmul": (lambda x, y: (x @ y, torch.addmm(x[:, :1], x, y)), "d a b", "d b c"),
    "half_matmul": (lambda x, y: (x @ y, torch.bmm(x[None], y[None]), F.linear(x, y.T)), "h a b", "h b c"),
    "chain": (lambda x, y: torch.chain_matmul(x, y, y.T), "f a b", "f b c"),
    "mv": (lambda x, v: (torch.mv(x, v), x.matmul(v), v.matmul(x.T), torch.addmv(v[:1], x, v, beta=0.5)), "f a b", "f b"),
}

real = torch.view_as_real
TABLE["spectra"] = {
    "fft": (lambda x: (real(torch.fft.fft(x)), real(torch.fft.ifft(x).resolve_conj()), real(torch.fft.fft(x, norm="ortho")), real(torch.fft.fft(x, 5, 0)), real(torch.fft.fft(x, 10))), "f a 8"),
    "rfft": (lambda x: (real(torch.fft.rfft(x)), real(torch.fft.rfft(x, norm="forward")), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x), 7)), "f a 8"),
    "fft_dynamic": (lambda x: (real(torch.fft.fft(x)), torch.fft.irfft(torch.fft.rfft(x), x.shape[1]), torch.fft.fft(x).abs()), "f a b"),
    "fft2": (lambda x: (real(torch.fft.fft2(x)), real(torch.fft.ifft2(x)), torch.fft.irfft2(torch.fft.rfft2(x)), real(torch.fft.rfft2(x, norm="ortho"))), "f a 4 6"),
    "fftn": (lambda x: (real(torch.fft.fftn(x)), real(torch.fft.ifftn(x)), torch.fft.irfftn(torch.fft.rfftn(x)), real(torch.fft.fftn(x, dim=(0, 2)))), "f 2 4 6"),
    "hfft": (lambda x: (torch.fft.hfft(torch.fft.ihfft(x), 8), real(torch.fft.ihfft(x).resolve_conj()), torch.fft.hfft(torch.fft.fft(x))), "f a 8"),
    "shift": (lambda x: (torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.fft.fftshift(x, (0,))), "f a b"),
    "frequencies": (lambda x: (x * torch.fft.fftfreq(8), x[:, :5] * torch.fft.rfftfreq(8, 0.5), torch.fft.fftfreq(x.shape[0])), "f a 8"),
    "filter": (lambda x, w: torch.fft.irfft(torch.fft.rfft(x, 16) * torch.fft.rfft(w, 16), 16)[..., :8], "f a b 8", "f b 8"),
    "stft_center": (lambda x: (real(torch.stft(x, 8, 4, 6, torch.hann_window(6), center=False, return_complex=True)), torch.stft(x, 8, window=torch.hann_window(8),
        normalized=True, return_complex=True).abs()), "f a 40"),
    "stft_dynamic": (lambda x: torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True, pad_mode="constant").abs(), "f a h"),
    "dct": (lambda x: (x @ torch.cos(math.pi / 8 * (torch.arange(8) + 0.5)[:, None] * torch.arange(8))), "f a 8"),
}

TABLE["gradients"] = {
    "glu": (lambda g, x: aten.glu_backward(g, x, 1), "f a 2", "f a 4"),
    "losses": (lambda g, x, y: (aten.mse_loss_backward(g, x, y, 1), aten.smooth_l1_loss_backward(g, x, y, 1, 0.7), aten.huber_loss_backward(g, x, y, 2, 0.5),
        aten.soft_margin_loss_backward(g, x, y.sign(), 1), aten.binary_cross_entropy_backward(g, x.sigmoid(), y.sigmoid(), None, 1)), "f 1 1", "f a b", "f a b"),
    "shrinks": (lambda g, x: (aten.hardshrink_backward(g, x, 0.5), aten.softshrink_backward(g, x, 0.5), aten.mish_backward(g, x), aten.log_sigmoid_backward(g, x, aten.log_sigmoid_forward(x)[1]),
        aten.rrelu_with_noise_backward(g, x, x, 0.1, 0.3, False, False)), "f a b", "f a b"),
    "sums": (lambda g: (aten.trace_backward(g[0, 0], [3, 4]), aten.diagonal_backward(g[0, :3], [3, 4], 0, 0, 1), aten.unfold_backward(g[:, :3].reshape(1, 3, 3)[:, :2], [1, 4], 1, 3, 1)), "f 3 3"),
    "pads1d": (lambda g, x: (aten.reflection_pad1d_backward(g, x, [1, 2]), aten.replication_pad1d_backward(g, x, [1, 2])), "f 2 3 8", "f 2 3 5"),
    "pads2d": (lambda g, x: (aten.reflection_pad2d_backward(g, x, [1, 2, 1, 0]), aten.replication_pad2d_backward(g, x, [1, 2, 1, 0])), "f 2 3 5 8", "f 2 3 4 5"),
    "upsample": (lambda g: (aten.upsample_nearest1d_backward(g[0], [8], [2, 6, 4]), aten.upsample_linear1d_backward(g[0], [8], [2, 6, 4], True),
        aten.upsample_bicubic2d_backward(g, [6, 8], [1, 2, 3, 4], False)), "f 1 2 6 8"),
    "grid": (lambda g, x, p: aten.grid_sampler_2d_backward(g, x, p, 0, 0, False, [True, True]), "f 1 2 4 5", "f 1 2 6 7", "r 1 4 5 2"),
    "adaptive_max": (lambda x: (lambda y: aten.adaptive_max_pool2d_backward(y[0], x, y[1]))(aten.adaptive_max_pool2d(x, [2, 3])), "f a 3 6 7"),
    "avg3d": (lambda g, x: aten.avg_pool3d_backward(g, x, [2], [2], [0], False, True, None), "f 1 2 2 3 3", "f 1 2 4 6 6"),
    "group_norm": (lambda g, x, w: aten.native_group_norm_backward(g, x, x.reshape(2, 2, -1).mean(-1), (x.reshape(2, 2, -1).var(-1, unbiased=False) + 1e-5).rsqrt(), w, 2, 4, 12, 2,
        [True, True, True]), "f 2 4 3 4", "f 2 4 3 4", "f 4"),
    "batch_norm": (lambda g, x, w, m, v: aten.native_batch_norm_backward(g, x, w, m, v, None, None, False, 1e-5, [True, True, True]), "f a 3 h", "f a 3 h", "f 3", "f 3", "f+ 3"),
    "gather": (lambda g, x, i: aten.gather_backward(g, x, 1, i, False), "f a 3", "f a 5", "i5 a 3"),
    "multi_margin": (lambda g, x, t: aten.multi_margin_loss_backward(g, x, t, 1, 1.0, None, 1), "f 1", "f a 5", "i5 a"),
    "nll2d": (lambda g, x, t: aten.nll_loss2d_backward(g[0], x, t, None, 1, -100, torch.tensor(24.0)), "f 1", "f 2 5 3 4", "i5 2 3 4"),
    "autograd": (lambda x, w: torch.func.grad(lambda y: F.gelu(y @ w).sum())(x), "f a b", "f b c"),
    "jacrev": (lambda x: torch.func.jacrev(lambda y: y.sin().sum(0) * y[0])(x), "f 3 4"),
    "jvp": (lambda x, v: torch.func.jvp(lambda y: y.tanh() * y, (x,), (v,)), "f a b", "f a b"),
    "vjp": (lambda x, v: torch.func.vjp(lambda y: y.softmax(1), x)[1](v), "f a b", "f a b"),
    "hessian": (lambda x: torch.func.hessian(lambda y: (y ** 3).sum())(x), "f 4"),
    "jacfwd": (lambda x: torch.func.jacfwd(lambda y: y.sin().sum(0) * y[0])(x), "f a 4"),
    "vmap_grad": (lambda x, w: torch.func.vmap(torch.func.grad(lambda y: (y @ w).square().sum()))(x), "f a b", "f b c"),
}

TABLE["fake_quantize"] = {
    "tensor": (lambda x: (torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), torch.fake_quantize_per_tensor_affine(x, 0.05, 0, 0, 255)), "f a b"),
    "channel": (lambda x, s: torch.fake_quantize_per_channel_affine(x, s, torch.zeros(4, dtype=torch.int32), 1, -128, 127), "f a 4 b", "f+ 4"),
    "cachemask": (lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 0, 0, 15), "f a b"),
    "learned": (lambda x: aten._fake_quantize_learnable_per_tensor_affine(x, torch.tensor([0.2]), torch.tensor([1.0]), 0, 255, 1.0), "f a b"),
    "layer": (layer(lambda: nn.Sequential(nn.Linear(4, 5), torch.ao.quantization.FakeQuantize().apply(torch.ao.quantization.disable_observer))), "f a 4"),
}
