"""Makes golden/fill/fill.safetensors with numpy's full; bf16 is the upper half of an f32, for values that it holds exactly.

Run from the top of the repository: PYTHONPATH=golden python golden/fill/make.py
"""

import numpy as np
from capsule import Case, write

SEED = 20_018


def bf16(value):
    bits = np.float32(value).view(np.uint32)
    assert bits & 0xFFFF == 0, "not a bf16"
    return np.uint16(bits >> 16)


def cases(rng):
    for value in [0.0, -0.0, 1.0, -1.5, 3.1415927, 65520.0, -1e38, 6e-8, 1e-45]:
        value = np.float32(value)
        rows, n = rng.integers(1, 6), rng.integers(1, 40)
        name = f"rows={rows},n={n},value={value}"
        before = np.full((rows, n), np.nan, np.float32)
        yield Case(f"f32,{name}", "fill", value=float(value)).output("out", np.full((rows, n), value), before=before)
        with np.errstate(over="ignore"):
            out = np.full((rows, n), value.astype(np.float16))
        yield Case(f"f16,{name}", "fill", value=float(value)).output("out", out, dtype="f16", before=before.astype(np.float16))
    # Values of bf16 itself, ties between two, and one that overflows.
    exact = [(v, bf16(v)) for v in [0.0, -0.0, 1.0, -2.5, 2.0**-133, 2.0**127]]
    ties = [(1 + 2.0**-8, bf16(1.0)), (1 + 3 * 2.0**-8, bf16(1 + 2.0**-6)), (3.4028235e38, np.uint16(0x7F80))]
    for value, bits in exact + ties:
        out = np.full((2, 5), bits)
        yield Case(f"bf16,rows=2,n=5,value={value}", "fill", value=value).output("out", out, dtype="bf16")
    # Two columns of every five.
    before = np.arange(15, dtype=np.float32)
    out = np.full((3, 2), 7, np.float32)
    yield Case("f32,rows=3,n=2,value=7,strided", "fill", value=7.0).output("out", out, before=before, strides=(5, 1), offset=8)


write("golden/fill/fill.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
