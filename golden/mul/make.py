"""Makes golden/mul/mul.safetensors with numpy's float32 product, which IEEE 754 defines to the last bit.

Run from the top of the repository: PYTHONPATH=golden python golden/mul/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_012

# Each meets each: signed zeros, denormals, products on the middle between two denormals, overflows, infinities, NaN.
CORNERS = np.array(
    [0.0, -0.0, 1e-45, -3e-45, 1.1754942e-38, 1.17549435e-38, 0.5, 0.75, 1.0, 1.0 + 2**-23, -1.0, 1.0 - 2**-24, 2.0**64, 1.8446743e19, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan],
    dtype=np.float32,
)


def spread(rng, shape):
    """Numbers whose products are of all magnitudes."""
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-74, 63, shape)).astype(np.float32)


def cases(rng):
    for rows, n in [(1, 1), (2, 33), (3, 64), (4, 255)]:
        a = rng.standard_normal((rows, n)).astype(np.float32)
        b = rng.standard_normal((rows, n)).astype(np.float32)
        yield Case(f"rows={rows},n={n}", "mul").input("a", a).input("b", b).output("out", a * b)
        yield Case(f"rows={rows},n={n},row", "mul").input("a", a).input("b", b[:1]).output("out", a * b[:1])
        yield Case(f"rows={rows},n={n},in place", "mul").input("b", b).output("out", a * b, before=a)
    a, b = spread(rng, (8, 256)), spread(rng, (8, 256))
    yield Case("all magnitudes", "mul").input("a", a).input("b", b).output("out", a * b)
    a, b = np.meshgrid(CORNERS, CORNERS)
    yield Case("corners", "mul").input("a", a).input("b", b).output("out", a * b)
    for types in SHORT:  # exact in float64
        a, b = (Floats(rng.standard_normal((3, 65)), dtype) for dtype in types[:2])
        case = Case(",".join(types[:3]), "mul").floats("a", a).floats("b", b)
        yield case.output("out", a.values.astype(np.float64) * b.values, dtype=types[2])


with np.errstate(all="ignore"):
    write("golden/mul/mul.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
