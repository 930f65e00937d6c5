"""Makes golden/matmul/matmul.safetensors: dot products in extended precision with rows that the package gguf decoded.

Run from the top of the repository: PYTHONPATH=golden python golden/matmul/make.py
"""

import numpy as np
from blocks import FORMATS, block_len, tensor
from capsule import SHORT, Case, Floats, arranged, write

SEED = 20_002


def activations(rng, m, k):
    x = rng.standard_normal((m, k)).astype(np.float32)
    x[:, k // 3] *= 40  # an outlier channel
    return x


def product(x, weight, bias=None):
    y = x.astype(np.longdouble) @ weight.astype(np.longdouble).T
    return y if bias is None else y + bias.astype(np.longdouble)


def case(rng, dtype, m, n, k, with_bias, spread=0.05):
    x = activations(rng, m, k)
    raw, weight = tensor(rng, dtype, n, k, spread)
    made = Case(f"{dtype},m={m},n={n},k={k},bias={with_bias}", "matmul").input("x", x).input("weight", raw, dtype, (n, k))
    bias = rng.standard_normal(n).astype(np.float32) if with_bias else None
    if with_bias:
        made.input("bias", bias)
    return made.output("out", product(x, weight, bias))


def padded(rng):
    """Rows of every operand that lie apart, with NaN between them."""
    m, n, k = 3, 5, 7
    apart = lambda rows, columns: np.full((rows, columns), np.nan, np.float32)
    x, weight, before = apart(m, k + 2), apart(n, k + 4), apart(m, n + 3)
    x[:, :k], weight[:, :k] = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    made = Case(f"f32,m={m},n={n},k={k},padded", "matmul").input("x", x, shape=(m, k), strides=(k + 2, 1))
    made.input("weight", weight, shape=(n, k), strides=(k + 4, 1))
    return made.output("out", product(x[:, :k], weight[:, :k]), before=before, strides=(n + 3, 1))


def cases(rng):
    for dtype in FORMATS:
        length = block_len(dtype)
        k = max(length, 32)
        yield case(rng, dtype, 1, 5, k, False)
        yield case(rng, dtype, 3, 7, 2 * k, True)
    for m, n, k in [(1, 1, 1), (2, 3, 33), (5, 2, 127), (1, 9, 1025)]:
        for dtype in ["f32", "f16", "bf16"]:
            yield case(rng, dtype, m, n, k, m == 2)
    yield case(rng, "q4_1", 17, 33, 96, True, spread=4.0)
    yield case(rng, "q8_0", 1, 64, 576, False, spread=1e-3)
    yield padded(rng)
    for types in SHORT:
        for dtype in ["f16", "q4_0"]:
            raw, weight = tensor(rng, dtype, 5, 64, 0.05)
            x, bias = (Floats(rng.standard_normal(shape), dtype) for shape, dtype in zip([(3, 64), (5,)], types))
            made = Case(f"{dtype},{','.join(types[:3])}", "matmul").floats("x", x).input("weight", raw, dtype, (5, 64))
            yield made.floats("bias", bias).output("out", product(x.values, weight, bias.values), dtype=types[2])
    # Column-major weights, square ones among them, and with NaN between the columns.
    for dtype, m, n, k in [("f32", 3, 7, 33), ("f16", 1, 16, 16), ("bf16", 9, 5, 64)]:
        x, weight = activations(rng, m, k), Floats(rng.standard_normal((n, k)) * 0.05, dtype)
        columns, strides = arranged(weight.raw, (n, k), (1, 0))
        made = Case(f"{dtype},m={m},n={n},k={k},column-major", "matmul").input("x", x)
        yield made.input("weight", columns, dtype, (n, k), strides=strides).output("out", product(x, weight.values))
    x, apart = activations(rng, 2, 4), np.full((4, 8), np.nan, np.float32)
    apart[:, :6] = rng.standard_normal((4, 6))
    made = Case("f32,m=2,n=6,k=4,column-major,padded", "matmul").input("x", x).input("weight", apart, shape=(6, 4), strides=(1, 8))
    yield made.output("out", product(x, apart[:, :6].T))
    # Large terms that cancel: what is left is far below what the terms' rounding would be in f32.
    x = np.array([[1e8, 1.0, -1e8]], np.float32)
    weight = np.array([[1.0, 1e-3, 1.0], [3.0, 1.0, 3.0]], np.float32)
    yield Case("f32,m=1,n=2,k=3,cancelling", "matmul").input("x", x).input("weight", weight).output("out", product(x, weight))


write("golden/matmul/matmul.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
