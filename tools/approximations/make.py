"""Writes mappings/aten/approximations.opmap: polynomials in double precision for functions that ONNX lacks.

    python tools/approximations/make.py            write the file
    python tools/approximations/make.py --check    fail if the file is not up to date

Each polynomial is a Chebyshev interpolant in a variable from -1 to 1, computed by mpmath with 60 digits and converted to coefficients of
powers. The script measures the error of each in double precision, and fails if it is too large.
"""
import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
PI = mp.pi


def interpolant(f, count):
    """Returns the polynomial through `count` Chebyshev nodes, as coefficients of powers, lowest first."""
    nodes = [mp.cos(PI * (2 * i + 1) / (2 * count)) for i in range(count)]
    values = [f(t) for t in nodes]
    weights = []
    for k in range(count):
        s = mp.fsum(v * mp.cos(PI * k * (2 * i + 1) / (2 * count)) for i, v in enumerate(values))
        weights.append(s * (1 if k == 0 else 2) / count)
    powers = [mp.mpf(0)] * count
    before, last = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for k, weight in enumerate(weights):
        row = before if k == 0 else last
        for i, c in enumerate(row):
            powers[i] += weight * c
        if k >= 1:
            following = [mp.mpf(0)] + [2 * c for c in last]
            for i, c in enumerate(before):
                following[i] -= c
            before, last = last, following
    return [float(c) for c in powers]


def horner(coefficients, t):
    result = 0.0
    for c in reversed(coefficients):
        result = result * t + c
    return result


def fit(name, what, f, worst=4e-15):
    """Returns the shortest interpolant that reaches double precision."""
    best = None
    points = [mp.mpf(i) / 101 for i in range(-101, 102)]
    wanted = [f(t if abs(t) < 1 else t * (1 - mp.mpf(10) ** -25)) for t in points]
    scale = max(abs(w) for w in wanted)
    for count in range(8, 46):
        coefficients = interpolant(f, count)
        error = max(abs(horner(coefficients, float(t)) - w) for t, w in zip(points, wanted)) / scale
        if best is None or error < best[0] * 0.7:
            best = (error, coefficients)
        if error < 3e-16:
            break
    error, coefficients = best
    print(f"{name}: {len(coefficients)} coefficients, error {float(error):.1e}", file=sys.stderr)
    assert error < worst, f"{name} is off by {float(error)}"
    return name, what, coefficients


def phases(first, second, order, x):
    """Returns the two slowly varying factors of a pair of oscillating functions at x."""
    angle = x - PI / 4 - order * PI / 2
    root = mp.sqrt(PI * x / 2)
    a, b = first * root, second * root
    return a * mp.cos(angle) + b * mp.sin(angle), b * mp.cos(angle) - a * mp.sin(angle)


def bessel_far(order, which):
    def f(t):
        x = 8 / mp.sqrt((t + 1) / 2)
        p, q = phases(mp.besselj(order, x), mp.bessely(order, x), order, x)
        return q * x / 8 if which else p
    return f


def airy_left(which):
    """For x < -4: z = 2/3 |x|^1.5, and t = 2 (z0 / z)^2 - 1."""
    z0 = mp.mpf(16) / 3

    def f(t):
        z = z0 / mp.sqrt((t + 1) / 2)
        x = -((z * 3 / 2) ** (mp.mpf(2) / 3))
        root = mp.sqrt(PI) * (-x) ** mp.mpf("0.25")
        a, b = mp.airyai(x) * root, mp.airybi(x) * root
        angle = z - PI / 4
        p = a * mp.cos(angle) - b * mp.sin(angle)
        q = a * mp.sin(angle) + b * mp.cos(angle)
        return q * z / z0 if which else p
    return f


def airy_right(t):
    """For x > 2: z = 2/3 x^1.5, and t = 2 z0 / z - 1."""
    z0 = mp.mpf(2) / 3 * mp.mpf(2) ** mp.mpf("1.5")
    z = 2 * z0 / (t + 1)
    x = (z * 3 / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(PI) * x ** mp.mpf("0.25") * mp.exp(z)


def square8(t):
    """x where t = x^2 / 32 - 1."""
    return mp.sqrt(32 * (t + 1))


def square2(t):
    """x where t = x^2 / 2 - 1."""
    return mp.sqrt(2 * (t + 1))


def half(t):
    """x where t = x / 4 - 1."""
    return 4 * (t + 1)


def far(n):
    """x where t = 2 n / x - 1."""
    return lambda t: 2 * n / (t + 1)


def y_near(order, x):
    if order == 0:
        return mp.bessely(0, x) - 2 / PI * mp.log(x) * mp.besselj(0, x)
    return (mp.bessely(1, x) - 2 / PI * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def k_near(order, x):
    if order == 0:
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
    return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def all_fits():
    yield fit("j0_near", "J0 for |x| <= 8, t = x^2 / 32 - 1", lambda t: mp.besselj(0, square8(t)))
    yield fit("j1_near", "J1 / x for |x| <= 8, t = x^2 / 32 - 1", lambda t: mp.besselj(1, square8(t)) / square8(t))
    yield fit("y0_near", "Y0 - 2 / pi log(x) J0 for x <= 8, t = x^2 / 32 - 1", lambda t: y_near(0, square8(t)))
    yield fit("y1_near", "(Y1 - 2 / pi (log(x) J1 - 1 / x)) / x for x <= 8, t = x^2 / 32 - 1", lambda t: y_near(1, square8(t)))
    for order in (0, 1):
        yield fit(f"p{order}_far", f"the even phase of J{order} and Y{order} for x > 8, t = 128 / x^2 - 1", bessel_far(order, 0))
        yield fit(f"q{order}_far", f"the odd phase, times x / 8, of J{order} and Y{order} for x > 8, t = 128 / x^2 - 1", bessel_far(order, 1))
    yield fit("i0_near", "exp(-x) I0 for x <= 8, t = x / 4 - 1", lambda t: mp.exp(-half(t)) * mp.besseli(0, half(t)))
    yield fit("i1_near", "exp(-x) I1 / x for x <= 8, t = x / 4 - 1", lambda t: mp.exp(-half(t)) * mp.besseli(1, half(t)) / half(t))
    for order in (0, 1):
        yield fit(f"i{order}_far", f"exp(-x) sqrt(x) I{order} for x > 8, t = 16 / x - 1",
                  lambda t, n=order: mp.exp(-far(8)(t)) * mp.sqrt(far(8)(t)) * mp.besseli(n, far(8)(t)))
    yield fit("k0_near", "K0 + log(x / 2) I0 for x <= 2, t = x^2 / 2 - 1", lambda t: k_near(0, square2(t)))
    yield fit("k1_near", "(K1 - log(x / 2) I1 - 1 / x) / x for x <= 2, t = x^2 / 2 - 1", lambda t: k_near(1, square2(t)))
    for order in (0, 1):
        yield fit(f"k{order}_far", f"exp(x) sqrt(x) K{order} for x > 2, t = 4 / x - 1",
                  lambda t, n=order: mp.exp(far(2)(t)) * mp.sqrt(far(2)(t)) * mp.besselk(n, far(2)(t)))
    yield fit("airy_middle", "Ai for -4 <= x <= 2, t = (x + 1) / 3", lambda t: mp.airyai(3 * t - 1))
    yield fit("airy_right", "2 sqrt(pi) x^0.25 exp(z) Ai for x > 2, z = 2 / 3 x^1.5, t = 2 z(2) / z - 1", airy_right)
    yield fit("airy_left_even", "the even phase of Ai for x < -4, z = 2 / 3 |x|^1.5, t = 2 (z(4) / z)^2 - 1", airy_left(0))
    yield fit("airy_left_odd", "the odd phase, times z / z(4), of Ai for x < -4", airy_left(1))
    yield fit("erfcx_near", "exp(x^2) erfc(x) for 0 <= x <= 2, t = x - 1", lambda t: erfcx(t + 1))
    yield fit("erfcx_far", "x exp(x^2) erfc(x) for x > 2, t = 8 / x^2 - 1",
              lambda t: mp.sqrt(8 / (t + 1)) * erfcx(mp.sqrt(8 / (t + 1))))


def item(name, what, coefficients):
    lines, line = [], "   "
    for c in coefficients:
        text = f" {c!r},"
        if len(line) + len(text) > 120:
            lines.append(line)
            line = "   "
        line += text
    lines.append(line)
    body = "\n".join(lines)
    return f"/// {what}.\nfn {name}() -> float[] = [\n{body}\n]\n"


def main():
    head = "//! Coefficients of polynomials, lowest first, as tools/approximations/make.py makes them.\n"
    text = "\n".join([head, *(item(*row) for row in all_fits())])
    path = Path(__file__).resolve().parents[2] / "mappings/aten/approximations.opmap"
    if "--check" in sys.argv:
        sys.exit(0 if path.read_text() == text else f"{path} is not as {__file__} makes it")
    path.write_text(text)


if __name__ == "__main__":
    main()
