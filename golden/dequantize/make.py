"""Makes golden/dequantize/dequantize.safetensors: blocks of every weight format, decoded by the package gguf.

Run from the top of the repository: PYTHONPATH=golden python golden/dequantize/make.py
"""

import numpy as np
from blocks import FORMATS, block_len, tensor
from capsule import Case, Floats, write

SEED = 20_014


def cases(rng):
    for dtype in FORMATS:
        length = block_len(dtype)
        for rows, blocks in [(1, 1), (3, 2)] if length > 1 else [(1, 1), (3, 33)]:
            n = blocks * length
            raw, values = tensor(rng, dtype, rows, n)
            case = Case(f"{dtype},rows={rows},n={n}", "dequantize")
            yield case.input("x", raw, dtype, (rows, n)).output("out", values)
        raw, values = tensor(rng, dtype, 3, length, spread=1e-3)
        padded = np.full((3, 2 * raw.shape[1]), 0xFF, np.uint8)  # each row is followed by a block of ones
        padded[:, : raw.shape[1]] = raw
        case = Case(f"{dtype},rows=3,n={length},padded", "dequantize")
        case.input("x", padded.reshape(-1), dtype, (3, length), strides=(2 * length, 1))
        yield case.output("out", values)
    for dtype in ["f32", "q4_0", "q6_k"]:
        for short in ["f16", "bf16"]:
            n = 2 * max(block_len(dtype), 32)
            raw, values = tensor(rng, dtype, 3, n)
            out = Floats(values, short)
            case = Case(f"{dtype},{short}", "dequantize").input("x", raw, dtype, (3, n))
            yield case.output("out", out.raw, out.shape, short)


write("golden/dequantize/dequantize.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
