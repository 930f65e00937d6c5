"""Makes golden/scale/scale.safetensors with numpy's float32 product, which IEEE 754 defines to the last bit.

Run from the top of the repository: PYTHONPATH=golden python golden/scale/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_013

FACTORS = [0.0, -0.0, 1.0, -1.0, 0.125, 1 / 3, 0.08838834764, -7.5, 1e-30, 1e-45, 1e30, 3.4028235e38]
CORNERS = [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 1.5, 3.4028235e38, np.inf, -np.inf, np.nan]


def cases(rng):
    for at, factor in enumerate(np.array(FACTORS, dtype=np.float32)):
        rows, n = [(1, 1), (2, 33), (3, 64), (5, 127)][at % 4]
        x = (rng.standard_normal((rows, n)) * 2.0 ** rng.integers(-30, 30, (rows, n))).astype(np.float32)
        case = Case(f"rows={rows},n={n},factor={factor}", "scale", factor=float(factor))
        yield case.input("x", x).output("out", factor * x)
        case = Case(f"rows={rows},n={n},factor={factor},in place", "scale", factor=float(factor))
        yield case.output("out", factor * x, before=x)
        x = np.array([CORNERS], dtype=np.float32)
        case = Case(f"corners,factor={factor}", "scale", factor=float(factor))
        yield case.input("x", x).output("out", factor * x)
    for types in SHORT:  # exact in float64
        x, factor = Floats(rng.standard_normal((3, 65)), types[0]), float(np.float32(1 / 3))
        case = Case(",".join(types[:2]), "scale", factor=factor).floats("x", x)
        yield case.output("out", factor * x.values.astype(np.float64), dtype=types[1])


with np.errstate(all="ignore"):
    write("golden/scale/scale.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
