"""Makes golden/quantize/quantize.safetensors: rows encoded by the package gguf.

Run from the top of the repository: PYTHONPATH=golden python golden/quantize/make.py

The rows are those of golden/quant/make.py, which says what is left out and why: among them ties, peaks of both signs,
zeros, constants and the ends of the range.
"""

import numpy as np
from blocks import FORMATS
from capsule import Case, Floats, write
from quant.make import ENCODERS, encode, rows_to_encode

SEED = 20_015


def cases(rng):
    for qtype in ENCODERS:
        dtype = qtype.name.lower()
        lines = rows_to_encode(rng)
        for rows, blocks in [(1, 1), (lines.shape[0] // 3, 3)]:
            x = lines[: rows * blocks].reshape(rows, blocks * 32)
            case = Case(f"{dtype},rows={rows},n={x.shape[1]}", "quantize").input("x", x)
            yield case.output("out", encode(x, FORMATS[dtype]), x.shape, dtype)
        for short in ["f16", "bf16"]:
            x = Floats(rng.standard_normal((3, 64)), short)
            case = Case(f"{dtype},{short}", "quantize").floats("x", x)
            yield case.output("out", encode(x.values, FORMATS[dtype]), x.shape, dtype)


write("golden/quantize/quantize.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
