"""Makes golden/kv_write/kv_write.safetensors with numpy and, for q8_0, the Python package gguf.

Run from the top of the repository: PYTHONPATH=golden python golden/kv_write/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, arranged, write
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize

SEED = 20_005


def encode(values, dtype):
    """Bytes [..., bytes of a head]."""
    if dtype == "q8_0":
        return quantize(values, GGMLQuantizationType.Q8_0)
    with np.errstate(over="ignore"):
        return Floats(values, dtype).raw.view(np.uint8)


def case(rng, name, dtypes, cache, slots, edit=lambda k, v: None, types=("f32", "f32"), orders=(None, None)):
    """Rows written to `slots`, a list of (sequence, position), of a dense cache [seqs, slots, heads, dim] of random bytes; `orders` are its
    dimensions as they lie in memory."""
    rows, (heads, dim) = len(slots), cache[2:]
    new = [(rng.standard_normal((rows, heads, dim)) * spread).astype(np.float32) for spread in (1.0, 30.0)]
    edit(*new)
    held = [Floats(values, dtype) for values, dtype in zip(new, types)]
    new = [floats.values for floats in held]
    seqs, positions = (list(column) for column in zip(*slots))
    made = Case(name, "kv_write").floats("k", held[0]).floats("v", held[1])
    made.indices("seqs", seqs).indices("positions", positions)
    for operand, values, dtype, order in zip(["k_cache", "v_cache"], new, dtypes, orders):
        head = encode(np.zeros(dim, np.float32), dtype).size
        before = rng.integers(0, 256, (*cache[:3], head), dtype=np.uint8)
        after = before.copy()
        after[seqs, positions] = encode(values, dtype)
        before, strides = (before, None) if order is None else arranged(before, cache, order)
        made.output(operand, after, shape=cache, dtype=dtype, before=before, strides=strides)
    return made


def padded(rng):
    """An f32 cache [2, 3, 2, 4] whose slots are 11 elements apart and whose sequences are 40, beginning at byte 8."""
    k, v = (rng.standard_normal((2, 2, 4)).astype(np.float32) for _ in "kv")
    made = Case("padded cache", "kv_write").input("k", k).input("v", v).indices("seqs", [1, 0]).indices("positions", [2, 1])
    at = 2 + np.add.outer(np.add.outer(40 * np.arange(2), 11 * np.arange(3)), np.add.outer(4 * np.arange(2), np.arange(4)))
    for operand, values in [("k_cache", k), ("v_cache", v)]:
        buffer = rng.standard_normal(80).astype(np.float32)
        after = buffer.copy()
        after[at[[1, 0], [2, 1]]] = values
        made.output(operand, after[at], before=buffer, strides=(40, 11, 4, 1), offset=8)
    return made


def edges(k, v):
    """Where f16 rounds in a special way: ties, subnormals, the largest number, infinities."""
    special = [2049, 2051, 65519.996, 65520, -65520, 1e-7, 2.98e-8, 2.981e-8, 6.1e-5, -0.0, np.inf, -np.inf, np.float32(1e-45)]
    k[0, 0, : len(special)] = special
    v[0, 0, : len(special)] = special


def zeros(k, v):
    k[0, 0] = 0
    v[:, 1] = 0


def cases(rng):
    for dtypes in [("f32", "f32"), ("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "f16")]:
        name = "k={},v={}".format(*dtypes)
        yield case(rng, f"decode,{name}", dtypes, (1, 3, 2, 32), [(0, 2)], zeros)
        yield case(rng, f"prefill,{name}", dtypes, (2, 5, 3, 64), [(1, 0), (1, 1), (1, 2), (0, 4), (0, 0)])
    yield case(rng, "odd head", ("f16", "f32"), (2, 4, 1, 7), [(0, 3), (1, 3)])
    yield case(rng, "f16 edges", ("f16", "f16"), (1, 2, 2, 16), [(0, 1)], edges)
    yield padded(rng)
    for types in SHORT:
        for dtypes in [("f32", "f16"), ("q8_0", "q8_0")]:
            yield case(rng, f"{','.join(types[:2])},k={dtypes[0]},v={dtypes[1]}", dtypes, (2, 3, 2, 32), [(1, 2), (0, 0)], types=types)
    for dtypes in [("bf16", "bf16"), ("f16", "bf16"), ("bf16", "q8_0")]:
        yield case(rng, "k={},v={}".format(*dtypes), dtypes, (2, 5, 3, 64), [(1, 0), (1, 1), (1, 2), (0, 4), (0, 0)], zeros)
    tokens, heads, slots = (0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1)
    for name, orders, all_types in [
        ("head-major", (heads, heads), [("f32", "f16"), ("q8_0", "q8_0"), ("bf16", "f32")]),
        ("k transposed", (slots, heads), [("f32", "q8_0"), ("f16", "f16"), ("bf16", "bf16")]),
        ("v transposed", (tokens, slots), [("q8_0", "f16"), ("f32", "f32"), ("f16", "bf16")]),
    ]:
        for dtypes in all_types:
            rows = [(1, 0), (0, 4), (1, 2), (0, 0)]
            yield case(rng, "{},k={},v={}".format(name, *dtypes), dtypes, (2, 5, 3, 32), rows, orders=orders)


write("golden/kv_write/kv_write.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
