"""Makes golden/embed/embed.safetensors: rows of tables in every weight format, decoded by the package gguf.

Run from the top of the repository: PYTHONPATH=golden python golden/embed/make.py
"""

import numpy as np
from blocks import FORMATS, block_len, tensor
from capsule import Case, Floats, write

SEED = 20_000


def cases(rng):
    for dtype in FORMATS:
        n = max(block_len(dtype), 48)
        n -= n % block_len(dtype)
        vocab = 7
        for ids in [[0], [vocab - 1, 0, 3, 3, vocab - 1]]:
            raw, values = tensor(rng, dtype, vocab, n)
            case = Case(f"{dtype},vocab={vocab},n={n},rows={len(ids)}", "embed")
            yield case.input("table", raw, dtype, (vocab, n)).indices("ids", ids).output("out", values[ids])
    for dtype in ["f32", "q4_0", "q6_k"]:
        for short in ["f16", "bf16"]:
            n = max(block_len(dtype), 32)
            raw, values = tensor(rng, dtype, 5, n)
            case = Case(f"{dtype},{short}", "embed").input("table", raw, dtype, (5, n)).indices("ids", [4, 0, 1])
            out = Floats(values[[4, 0, 1]], short)
            yield case.output("out", out.raw, out.shape, short)


write("golden/embed/embed.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
