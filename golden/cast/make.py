"""Makes golden/cast/cast.safetensors: conversions between f32, f16 and bf16 by numpy.

Run from the top of the repository: PYTHONPATH=golden python golden/cast/make.py

numpy rounds to f16 itself. It has no bf16: here the nearest of the two neighbouring bf16 is found by their distances in
float64, and of two equally near the one whose last bit is 0.
"""

import numpy as np
from capsule import Case, write

SEED = 20_016
BITS = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}


@np.errstate(all="ignore")
def values(bits, dtype):
    """The numbers that `bits` stand for, in float64."""
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.view({"f32": np.float32, "f16": np.float16}[dtype]).astype(np.float64)


def nearest_bf16(x):
    """bf16 bits nearest to `x`; beyond the largest number an infinity counts as 2^128."""
    magnitudes = values(np.arange(0x7F81, dtype=np.uint16), "bf16")
    magnitudes[-1] = 2.0**128
    magnitude = np.where(np.isnan(x), 0, np.minimum(np.abs(x), 2.0**128))
    above = np.minimum(np.searchsorted(magnitudes, magnitude), 0x7F80)
    below = np.maximum(above - 1, 0)
    up, down = magnitudes[above] - magnitude, magnitude - magnitudes[below]
    bits = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    bits = np.where(np.isnan(x), 0x7FC0, bits)
    return (bits | (np.signbit(x) << 15)).astype(np.uint16)


@np.errstate(all="ignore")
def rounded(x, dtype):
    if dtype == "bf16":
        return nearest_bf16(x)
    return x.astype({"f32": np.float32, "f16": np.float16}[dtype]).view(BITS[dtype])


def ties(dtype):
    """f32 bits halfway between neighbours of `dtype`, and the next f32 on both sides."""
    low = np.concatenate([np.arange(0, 6), np.linspace(6, {"f16": 0x7BFE, "bf16": 0x7F7E}[dtype], 60)]).astype(np.uint16)
    middle = (values(low, dtype) + values(low + np.uint16(1), dtype)) / 2
    middle = middle.astype(np.float32).view(np.uint32)
    return np.concatenate([middle - 1, middle, middle + 1])


def inputs(rng, dtype):
    anything = rng.integers(0, 1 << 8 * BITS[dtype]().nbytes, 256, BITS[dtype])
    if dtype != "f32":
        ends = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7F7F, 0x7F80, 0xFF80, 0x7FC1]
        return np.concatenate([anything, np.array(ends, BITS[dtype])])
    ordinary = rng.standard_normal(256).astype(np.float32).view(np.uint32)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, -65520, 1e-45, 3.4028235e38, -3.4028235e38], np.float32)
    barely_nan = np.array([0x7F800001, 0xFF800001], np.uint32)
    return np.concatenate([anything, ordinary, ties("f16"), ties("bf16"), ends.view(np.uint32), barely_nan])


def cases(rng):
    for source in BITS:
        for target in BITS:
            x = inputs(rng, source)
            x = x[: len(x) // 2 * 2].reshape(2, -1)
            out = rounded(values(x, source), target)
            case = Case(f"{source}-{target},n={x.shape[1]}", "cast").input("x", x.view(np.uint8), source, x.shape)
            yield case.output("out", out.view(np.uint8), x.shape, target)
    one = np.array([[1.0009766]], np.float32)
    yield Case("f32-f16,n=1", "cast").input("x", one).output("out", one.astype(np.float16), dtype="f16")


write("golden/cast/cast.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
