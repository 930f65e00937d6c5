"""Random tensors in each weight format, decoded by the Python package gguf, for the generators in golden/<op>/make.py."""

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from quant.make import FLOATS, SCALES, decode, random_bytes, with_scales

# Every weight format by its name in a capsule.
FORMATS = {qtype.name.lower(): qtype for qtype in [*FLOATS, *SCALES, Type.MXFP4]}


def block_len(dtype):
    return GGML_QUANT_SIZES[FORMATS[dtype]][0]


def tensor(rng, dtype, rows, columns, spread=1.0):
    """Bytes (uint8, one line per row) and values (float32) of a random tensor whose values are of the order of `spread`."""
    qtype = FORMATS[dtype]
    length, size = GGML_QUANT_SIZES[qtype]
    blocks = rows * columns // length
    if qtype in FLOATS:
        values = (rng.standard_normal(blocks) * spread).astype(np.float32)
        bits = {Type.F32: values, Type.F16: values.astype(np.float16), Type.BF16: values.view(np.uint32) >> 16}[qtype]
        raw = bits.astype(np.uint16) if qtype == Type.BF16 else bits
        raw = np.ascontiguousarray(raw).view(np.uint8).reshape(blocks, size)
    elif qtype == Type.MXFP4:
        raw = random_bytes(rng, blocks, size)
        raw[:, 0] = np.clip(127 + np.log2(spread / 6) + rng.integers(-3, 4, blocks), 0, 250).astype(np.uint8)
    else:
        offsets = SCALES[qtype]
        largest = np.abs(decode(with_scales(random_bytes(rng, 64, size), offsets, ones(64, offsets)), qtype)).max()
        scales = rng.normal(0, spread / largest, (blocks, len(offsets))).astype(np.float16)
        raw = with_scales(random_bytes(rng, blocks, size), offsets, scales.view(np.uint16))
    return raw.reshape(rows, -1), decode(np.ascontiguousarray(raw), qtype).reshape(rows, columns)


def ones(blocks, offsets):
    return np.full((blocks, len(offsets)), 0x3C00, np.uint16)
