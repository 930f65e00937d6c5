"""Makes golden/silu_mul/silu_mul.safetensors with the decimal arithmetic of Python's standard library, to 60 digits.

Run from the top of the repository: PYTHONPATH=golden python golden/silu_mul/make.py
"""

import decimal
from decimal import Decimal

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_014

decimal.setcontext(decimal.Context(prec=60))


def silu(x):
    """x·e^x / (e^x + 1), which beyond |x| = 300 is x or, to any f32, zero."""
    if abs(x) > 300:
        return x if x > 0 else -Decimal(0)
    return x * x.exp() / (x.exp() + 1)


def product(x, v):
    if np.isnan(x) or np.isnan(v):
        return np.nan
    if np.isinf(x):
        return float(x if x > 0 else -0.0) * float(v)
    activation = silu(Decimal(float(x)))
    return float(activation * Decimal(float(v))) if np.isfinite(v) else float(activation) * float(v)


def silu_mul(gate, up):
    flat = [product(x, v) for x, v in zip(gate.ravel(), up.ravel())]
    return np.array(flat, dtype=np.float64).reshape(gate.shape)


def cases(rng):
    for rows, n, spread in [(1, 1, 1), (2, 33, 1), (3, 64, 8), (2, 257, 30)]:
        gate = (rng.standard_normal((rows, n)) * spread).astype(np.float32)
        up = rng.standard_normal((rows, n)).astype(np.float32)
        want = silu_mul(gate, up)
        yield Case(f"rows={rows},n={n},spread={spread}", "silu_mul").input("gate", gate).input("up", up).output("out", want)
        case = Case(f"rows={rows},n={n},spread={spread},in place", "silu_mul")
        yield case.input("up", up).output("out", want, before=gate)
    gate = np.linspace(-110, 110, 441, dtype=np.float32).reshape(21, 21)
    up = np.where(np.arange(441).reshape(21, 21) % 2, 1e30, -1.0).astype(np.float32)
    yield Case("both tails", "silu_mul").input("gate", gate).input("up", up).output("out", silu_mul(gate, up))
    corners = np.array([0.0, -0.0, 1e-45, -1e-38, 1e-20, 17.0, -103.0, 3e38, -3e38, np.inf, -np.inf, np.nan], dtype=np.float32)
    gate, up = np.meshgrid(corners, np.array([0.0, -0.0, 1.0, -2.5, 1e-40, np.nan], dtype=np.float32))
    yield Case("corners", "silu_mul").input("gate", gate).input("up", up).output("out", silu_mul(gate, up))
    gate = np.array([[1.0, -1.0, np.inf, -np.inf, np.nan]], dtype=np.float32)
    up = np.full((1, 5), np.inf, dtype=np.float32)
    yield Case("infinite up", "silu_mul").input("gate", gate).input("up", up).output("out", silu_mul(gate, up))
    for types in SHORT:
        gate, up = (Floats(rng.standard_normal((3, 65)) * 3, dtype) for dtype in types[:2])
        case = Case(",".join(types[:3]), "silu_mul").floats("gate", gate).floats("up", up)
        yield case.output("out", silu_mul(gate.values, up.values), dtype=types[2])


write("golden/silu_mul/silu_mul.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
