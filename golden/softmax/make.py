"""Makes golden/softmax/softmax.safetensors with numpy in extended precision.

Run from the top of the repository: PYTHONPATH=golden python golden/softmax/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_007


def softmax(x, scale):
    """By the logarithm of the sum, which needs no quotient."""
    t = x.astype(np.longdouble) * np.longdouble(np.float32(scale))
    with np.errstate(invalid="ignore"):
        return np.exp(t - np.logaddexp.reduce(t, axis=-1, keepdims=True))


def cases(rng):
    shapes = [(1, 1, 1.0, 1), (2, 2, 1.0, 5), (3, 31, 0.125, 30), (2, 64, -1.0, 3), (4, 65, 0.0, 1), (2, 576, 1.0, 8), (1, 1500, 1.7, 10)]
    for rows, n, scale, spread in shapes:
        x = (rng.standard_normal((rows, n)) * spread).astype(np.float32)
        case = Case(f"rows={rows},n={n},scale={scale}", "softmax", scale=float(np.float32(scale)))
        yield case.input("x", x).output("out", softmax(x, scale))

    x = (rng.standard_normal((3, 40)) * 4 + 1000).astype(np.float32)
    yield Case("large equal offsets", "softmax", scale=1.0).input("x", x).output("out", softmax(x, 1.0))

    x = (rng.standard_normal((2, 33)) * 2).astype(np.float32)
    case = Case("in place", "softmax", scale=0.5)
    yield case.output("out", softmax(x, 0.5), before=x)

    x = (rng.standard_normal((3, 24)) * 3).astype(np.float32)
    x[0, 5:] = -1e9
    x[1, ::2] = -np.inf
    x[2, 1:] = np.float32(-3.4e38)
    yield Case("masked", "softmax", scale=1.0).input("x", x).output("out", softmax(x, 1.0))

    x = (rng.standard_normal((5, 9)) * 3).astype(np.float32)
    x[1, 4] = np.nan
    x[2, 0] = np.inf
    x[3, :] = -np.inf
    expected = softmax(x, 1.0)
    expected[[1, 2, 3]] = np.nan
    yield Case("special rows", "softmax", scale=1.0).input("x", x).output("out", expected)

    for types in SHORT:
        x = Floats(rng.standard_normal((3, 127)) * 3, types[0])
        case = Case(",".join(types[:2]), "softmax", scale=0.5).floats("x", x)
        yield case.output("out", softmax(x.values, 0.5), dtype=types[1])


write("golden/softmax/softmax.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
