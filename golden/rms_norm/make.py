"""Makes golden/rms_norm/rms_norm.safetensors with numpy in extended precision.

Run from the top of the repository: PYTHONPATH=golden python golden/rms_norm/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_001


def rms_norm(x, weight, eps):
    x, weight = x.astype(np.longdouble), weight.astype(np.longdouble)
    return x * weight / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.longdouble(np.float32(eps)))


def cases(rng):
    for rows, n, eps, spread in [(1, 1, 1e-5, 1), (2, 3, 1e-6, 1), (3, 64, 1e-5, 1), (5, 127, 1e-6, 30), (2, 576, 1e-5, 1), (1, 2048, 0.0, 1e-3)]:
        x = (rng.standard_normal((rows, n)) * spread).astype(np.float32)
        x[:, n // 2] *= 40  # an outlier channel
        weight = rng.uniform(0.2, 2.0, n).astype(np.float32)
        case = Case(f"rows={rows},n={n},eps={eps}", "rms_norm", eps=float(np.float32(eps)))
        yield case.input("x", x).input("weight", weight).output("out", rms_norm(x, weight, eps))
    for types in SHORT:
        x, weight = (Floats(rng.standard_normal(shape), dtype) for shape, dtype in zip([(3, 127), (127,)], types))
        case = Case(",".join(types[:3]), "rms_norm", eps=float(np.float32(1e-5))).floats("x", x).floats("weight", weight)
        yield case.output("out", rms_norm(x.values, weight.values, 1e-5), dtype=types[2])


write("golden/rms_norm/rms_norm.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
