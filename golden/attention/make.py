"""Makes golden/attention/attention.safetensors with numpy in extended precision; gguf encodes and decodes q8_0.

Run from the top of the repository: PYTHONPATH=golden python golden/attention/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, arranged, write
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize, quantize

SEED = 20_006


def attention(q, k, v, seqs, positions, scale, window, softcap):
    """With a mask over all slots and with the cached heads repeated, as a framework would do it."""
    heads, slots = q.shape[1], k.shape[1]
    repeat = heads // k.shape[2]
    keys = np.repeat(k[seqs].astype(np.longdouble), repeat, axis=2)  # [rows, slots, heads, dim]
    values = np.repeat(v[seqs].astype(np.longdouble), repeat, axis=2)
    age = np.asarray(positions)[:, None] - np.arange(slots)[None, :]
    visible = (age >= 0) & (age < (window or slots))
    keys, values = (np.where(visible[:, :, None, None], x, 0) for x in (keys, values))
    scores = np.einsum("rhd,rshd->rhs", q.astype(np.longdouble), keys) * np.longdouble(np.float32(scale))
    if softcap is not None:
        cap = np.longdouble(np.float32(softcap))
        scores = cap * np.tanh(scores / cap)
    scores = np.where(visible[:, None, :], scores, -np.inf)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
    return np.einsum("rhs,rshd->rhd", weights, values)


def stored(values, dtype):
    """What the cache holds, and what it decodes to."""
    if dtype == "q8_0":
        blocks = quantize(values, GGMLQuantizationType.Q8_0)
        return blocks, dequantize(blocks, GGMLQuantizationType.Q8_0)
    held = Floats(values, dtype)
    return held.raw, held.values


def case(rng, name, heads, cache, rows, dtypes=("f32", "f32"), scale=None, window=None, softcap=None, spread=1.0, unseen=None, types=("f32", "f32"), orders=(None, None)):
    """`rows` is a list of (sequence, position), `cache` the shape [seqs, slots, kv_heads, dim]; `unseen` fills what no row sees;
    `orders` are the dimensions of either cache as they lie in memory."""
    seqs, positions = (list(column) for column in zip(*rows))
    scale = float(np.float32(cache[3] ** -0.5 if scale is None else scale))
    q = Floats(rng.standard_normal((len(rows), heads, cache[3])) * spread, types[0])
    made = Case(name, "attention", scale=scale, window=window, softcap=softcap).floats("q", q)
    decoded = []
    for operand, dtype, order in zip(["k_cache", "v_cache"], dtypes, orders):
        values = (rng.standard_normal(cache) * spread).astype(np.float32)
        if unseen is not None:
            hidden = np.ones(cache[:2], bool)
            for seq, position in rows:
                hidden[seq, max(0, position + 1 - (window or position + 1)) : position + 1] = False
            values[hidden] = unseen
        held, values = stored(values, dtype)
        held, strides = (held, None) if order is None else arranged(held, cache, order)
        made.input(operand, held, dtype=dtype, shape=cache, strides=strides)
        decoded.append(values)
    made.indices("seqs", seqs).indices("positions", positions)
    return made.output("out", attention(q.values, *decoded, seqs, positions, scale, window, softcap), dtype=types[1])


def cases(rng):
    whole = [(0, p) for p in range(6)]
    yield case(rng, "first token", 2, (1, 4, 2, 8), [(0, 0)])
    yield case(rng, "decode,last slot", 4, (1, 33, 2, 32), [(0, 32)])
    yield case(rng, "prefill", 3, (1, 6, 3, 16), whole)
    yield case(rng, "chunk", 4, (1, 12, 1, 16), [(0, 7), (0, 8), (0, 9)])
    yield case(rng, "sequences", 4, (3, 9, 2, 8), [(2, 3), (0, 8), (2, 4), (1, 0)])
    yield case(rng, "odd head", 5, (1, 5, 5, 7), [(0, 4)])
    yield case(rng, "window=3", 2, (1, 6, 1, 16), whole, window=3)
    yield case(rng, "window=1", 2, (1, 6, 1, 16), whole, window=1)
    yield case(rng, "window=100", 2, (1, 6, 2, 16), whole, window=100)
    yield case(rng, "softcap=50", 4, (1, 10, 2, 16), [(0, 9)], softcap=50.0, spread=3.0)
    yield case(rng, "softcap=2,window=4", 4, (2, 10, 2, 16), [(0, 9), (1, 5)], softcap=2.0, window=4, spread=3.0)
    yield case(rng, "scale=0", 2, (1, 8, 2, 8), [(0, 7)], scale=0.0)
    yield case(rng, "sharp", 2, (1, 24, 1, 32), [(0, 23)], scale=1.0, spread=6.0)
    for dtypes in [("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "f16"), ("f16", "f32")]:
        yield case(rng, "k={},v={}".format(*dtypes), 4, (1, 14, 2, 64), [(0, 12), (0, 13)], dtypes=dtypes)
    yield case(rng, "nan unseen", 2, (2, 8, 1, 8), [(0, 5), (1, 2)], window=2, unseen=np.nan)
    yield case(rng, "infinity unseen,f16", 2, (2, 8, 1, 8), [(0, 3)], dtypes=("f16", "f16"), unseen=np.inf)
    for types in SHORT:
        yield case(rng, ",".join(types[:2]), 4, (2, 10, 2, 32), [(0, 9), (1, 5)], dtypes=("f16", "q8_0"), types=types)
    for dtypes in [("bf16", "bf16"), ("q8_0", "bf16")]:
        yield case(rng, "k={},v={}".format(*dtypes), 4, (1, 14, 2, 64), [(0, 12), (0, 13)], dtypes=dtypes)
    tokens, heads, slots = (0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1)
    for dtypes in [("f32", "f32"), ("f16", "f16"), ("q8_0", "q8_0"), ("bf16", "f16")]:
        rows = [(1, 8), (0, 3), (1, 9)]
        yield case(rng, "head-major,k={},v={}".format(*dtypes), 6, (2, 11, 3, 32), rows, dtypes=dtypes, orders=(heads, heads))
    for dtypes in [("f32", "f32"), ("f16", "q8_0"), ("bf16", "bf16")]:
        yield case(rng, "k transposed,k={},v={}".format(*dtypes), 6, (2, 11, 3, 32), rows, dtypes=dtypes, orders=(slots, heads))
    # Square: as many slots as a head is long.
    yield case(rng, "k transposed,square", 4, (1, 8, 2, 8), [(0, 7), (0, 5)], orders=(slots, tokens))
    for dtypes in [("f32", "f16"), ("q8_0", "f32"), ("f16", "bf16")]:
        rows = [(1, 8), (0, 5)]
        yield case(rng, "v transposed,k={},v={}".format(*dtypes), 4, (2, 9, 2, 32), rows, dtypes=dtypes, orders=(tokens, slots))


write("golden/attention/attention.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
