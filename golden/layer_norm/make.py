"""Makes golden/layer_norm/layer_norm.safetensors with numpy in extended precision.

Run from the top of the repository: PYTHONPATH=golden python golden/layer_norm/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_019


def layer_norm(x, weight, bias, eps):
    x, weight = x.astype(np.longdouble), weight.astype(np.longdouble)
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + np.longdouble(np.float32(eps)))
    out = (x - x.mean(axis=-1, keepdims=True)) / deviation * weight
    return out if bias is None else out + bias.astype(np.longdouble)


def cases(rng):
    shapes = [(1, 1, 1e-5, 1, 0), (2, 3, 1e-6, 1, 0), (3, 64, 1e-5, 1, 5), (5, 127, 1e-6, 30, -100), (2, 576, 1e-5, 1, 0), (1, 2048, 1e-12, 1e-3, 1)]
    for rows, n, eps, spread, mean in shapes:
        for biased in [False, True]:
            x = (rng.standard_normal((rows, n)) * spread + mean).astype(np.float32)
            x[:, n // 2] *= 40  # an outlier channel
            weight = rng.uniform(0.2, 2.0, n).astype(np.float32)
            bias = rng.standard_normal(n).astype(np.float32) if biased else None
            case = Case(f"rows={rows},n={n},eps={eps},bias={biased}", "layer_norm", eps=float(np.float32(eps)))
            case = case.input("x", x).input("weight", weight)
            if biased:
                case = case.input("bias", bias)
            yield case.output("out", layer_norm(x, weight, bias, eps))
    for types in SHORT:
        shapes = [(3, 127), (127,), (127,)]
        x, weight, bias = (Floats(rng.standard_normal(shape), dtype) for shape, dtype in zip(shapes, types))
        case = Case(",".join(types), "layer_norm", eps=float(np.float32(1e-5)))
        case.floats("x", x).floats("weight", weight).floats("bias", bias)
        yield case.output("out", layer_norm(x.values, weight.values, bias.values, 1e-5), dtype=types[3])


write("golden/layer_norm/layer_norm.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
