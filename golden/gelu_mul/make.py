"""Makes golden/gelu_mul/gelu_mul.safetensors with the decimal arithmetic of Python's standard library, to 150 digits: the error
function by its power series, the hyperbolic tangent by exponentials.

Run from the top of the repository: PYTHONPATH=golden python golden/gelu_mul/make.py
"""

import decimal
from decimal import Decimal

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_015

decimal.setcontext(decimal.Context(prec=150))

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651")


def erf(z):
    """2/√π · Σ (−1)^n z^(2n+1) / (n!·(2n+1)). Its terms grow to e^(z²), which 150 digits outlast for |z| < 11."""
    square, power, total, n = z * z, z, Decimal(0), 0
    while abs(power) > Decimal(10) ** -148:
        total += power / (2 * n + 1)
        n += 1
        power *= -square / n
    return 2 * total / PI.sqrt()


def by_erf(x):
    if abs(x) > 14:  # ½·erfc(14/√2) is below the smallest f32
        return x if x > 0 else -Decimal(0)
    return x * (1 + erf(x / Decimal(2).sqrt())) / 2


def by_tanh(x):
    z = (2 / PI).sqrt() * (x + Decimal("0.044715") * x**3)
    if abs(z) > 200:
        return x if x > 0 else -Decimal(0)
    up, down = z.exp(), (-z).exp()
    return x * (1 + (up - down) / (up + down)) / 2


def product(gelu, x, v):
    if np.isnan(x) or np.isnan(v):
        return np.nan
    if np.isinf(x):
        return float(x if x > 0 else -0.0) * float(v)
    activation = gelu(Decimal(float(x)))
    return float(activation * Decimal(float(v))) if np.isfinite(v) else float(activation) * float(v)


def gelu_mul(gelu, gate, up):
    flat = [product(gelu, x, v) for x, v in zip(gate.ravel(), up.ravel())]
    return np.array(flat, dtype=np.float64).reshape(gate.shape)


def cases(rng):
    for form, gelu in [("erf", by_erf), ("tanh", by_tanh)]:

        def case(name, gate, up, in_place=False):
            want = gelu_mul(gelu, gate, up)
            new = Case(f"{form},{name}", "gelu_mul", form=form)
            if in_place:
                return new.input("up", up).output("out", want, before=gate)
            return new.input("gate", gate).input("up", up).output("out", want)

        for rows, n, spread in [(1, 1, 1), (2, 33, 1), (3, 64, 4), (2, 129, 12)]:
            gate = (rng.standard_normal((rows, n)) * spread).astype(np.float32)
            up = rng.standard_normal((rows, n)).astype(np.float32)
            yield case(f"rows={rows},n={n},spread={spread}", gate, up)
            yield case(f"rows={rows},n={n},spread={spread},in place", gate, up, in_place=True)
        gate = np.linspace(-16, 16, 257, dtype=np.float32).reshape(1, 257)
        yield case("both tails", gate, np.full((1, 257), 3.0, dtype=np.float32))
        corners = [0.0, -0.0, 1e-45, -1e-38, 1e-20, 1e13, -1e13, 3e38, -3e38, np.inf, -np.inf, np.nan]
        factors = [0.0, -0.0, 1.0, -2.5, 1e-40, np.nan]
        yield case("corners", *np.meshgrid(np.array(corners, dtype=np.float32), np.array(factors, dtype=np.float32)))
        gate = np.array([[1.0, -1.0, np.inf, -np.inf, np.nan]], dtype=np.float32)
        yield case("infinite up", gate, np.full((1, 5), np.inf, dtype=np.float32))
        for types in SHORT:
            gate, up = (Floats(rng.standard_normal((3, 33)) * 3, dtype) for dtype in types[:2])
            made = Case(f"{form},{','.join(types[:3])}", "gelu_mul", form=form).floats("gate", gate).floats("up", up)
            yield made.output("out", gelu_mul(gelu, gate.values, up.values), dtype=types[2])


write("golden/gelu_mul/gelu_mul.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
