"""Makes golden/add/add.safetensors with numpy's float32 addition, which IEEE 754 defines to the last bit.

Run from the top of the repository: PYTHONPATH=golden python golden/add/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_011

# Each meets each: signed zeros, denormals, neighbours of 1, ties, the largest numbers, infinities, NaN.
CORNERS = np.array(
    [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 2**-24, 2**-25, 1.0, 1.0 + 2**-23, -1.0, 16777216.0, 2.0**103, 2.0**102, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan],
    dtype=np.float32,
)


def spread(rng, shape):
    """Numbers of all magnitudes."""
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-140, 125, shape)).astype(np.float32)


def cases(rng):
    for rows, n in [(1, 1), (2, 33), (3, 64), (4, 255)]:
        a = rng.standard_normal((rows, n)).astype(np.float32)
        b = rng.standard_normal((rows, n)).astype(np.float32)
        yield Case(f"rows={rows},n={n}", "add").input("a", a).input("b", b).output("out", a + b)
        yield Case(f"rows={rows},n={n},row", "add").input("a", a).input("b", b[:1]).output("out", a + b[:1])
        yield Case(f"rows={rows},n={n},in place", "add").input("b", b).output("out", a + b, before=a)
    a, b = spread(rng, (8, 256)), spread(rng, (8, 256))
    b[4:] = -a[4:] * rng.choice(np.array([1, 1 + 2**-20], dtype=np.float32), (4, 256))  # cancellation
    yield Case("all magnitudes", "add").input("a", a).input("b", b).output("out", a + b)
    a, b = np.meshgrid(CORNERS, CORNERS)
    yield Case("corners", "add").input("a", a).input("b", b).output("out", a + b)
    for types in SHORT:  # exact in float64
        a, b = (Floats(rng.standard_normal((3, 65)), dtype) for dtype in types[:2])
        case = Case(",".join(types[:3]), "add").floats("a", a).floats("b", b)
        yield case.output("out", a.values.astype(np.float64) + b.values, dtype=types[2])


with np.errstate(all="ignore"):
    write("golden/add/add.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
