"""Remakes the golden files of the block formats, byte for byte.

    python3.11 -m venv venv && venv/bin/pip install gguf==0.19.0 numpy==2.4.6
    venv/bin/python golden/quant/make.py           # writes golden/quant/<format>.safetensors
    venv/bin/python golden/quant/make.py --check   # writes nothing, fails where a file would change

The numbers are not ours: blocks are decoded by `gguf.quants.dequantize` and values encoded by
`gguf.quants.quantize`, both in numpy f32. Each file holds

    blocks, values                      blocks with finite scales and what they decode to
    nonfinite.blocks, nonfinite.values  blocks with an infinite or NaN scale, where there is one
    encode.values, encode.blocks        values and what they encode to, where gguf has the encoder
                                        that ggml calls the reference

and names this generator, the versions and the seed in its metadata; other versions give other metadata.

Where gguf departs from ggml's C code, and which inputs are therefore left out:
  * Q4_0 and Q5_0 of a block of zeros that begins with -0: ggml stores the scale -0, gguf +0.
  * Q4_1 and Q5_1 where the minimum is a zero and zeros of both signs occur: ggml keeps the sign of the first.
  * NaN among the values: ggml's comparisons skip it, numpy's do not.
  * Blocks so small that the reciprocal of the scale is infinite: the conversion to integers is undefined in C.
"""

import argparse
import json
import platform
import struct
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

SEED = 20240229
HERE = Path(__file__).resolve().parent

# Where the f16 scales of a block stand.
SCALES = {
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.IQ4_NL: [0],
    Type.IQ4_XS: [0],
}
ENCODERS = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
FLOATS = {Type.F32: np.uint32, Type.F16: np.uint16, Type.BF16: np.uint16}

# f16 bits: zeros, smallest and largest subnormal, smallest normal, ones, largest; then infinities and NaNs.
FINITE = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF]
NONFINITE = [0x7C00, 0xFC00, 0x7E00, 0xFE00]


def random_bytes(rng, rows, columns):
    return np.frombuffer(rng.bytes(rows * columns), np.uint8).reshape(rows, columns).copy()


def with_scales(blocks, offsets, bits):
    """Writes row i of `bits` (f16 bits, one column per offset) over the scales of block i."""
    for column, offset in enumerate(offsets):
        blocks[:, offset : offset + 2] = bits[:, column : column + 1].astype("<u2").view(np.uint8)
    return blocks


def scaled_blocks(rng, qtype):
    """Blocks of a format with f16 scales: every hostile scale over all-0, all-1 and random codes, then ordinary
    scales, then any finite ones."""
    _, size = GGML_QUANT_SIZES[qtype]
    offsets = SCALES[qtype]
    hostile = np.array(FINITE, np.uint16)
    # A second scale takes each first one's neighbour, so that signs and magnitudes mix.
    hostile = np.stack([np.roll(hostile, -column) for column in range(len(offsets))], axis=1)
    n = len(hostile)
    ordinary = rng.normal(0, 0.01, (8, len(offsets))).astype(np.float16).view(np.uint16)
    anything = rng.integers(0, 0x7C00, (8, len(offsets)), np.uint16) | (
        rng.integers(0, 2, (8, len(offsets)), np.uint16) << 15
    )
    return np.concatenate([
        with_scales(np.full((n, size), 0x00, np.uint8), offsets, hostile),
        with_scales(np.full((n, size), 0xFF, np.uint8), offsets, hostile),
        with_scales(random_bytes(rng, n, size), offsets, hostile),
        with_scales(random_bytes(rng, 8, size), offsets, ordinary),
        with_scales(random_bytes(rng, 8, size), offsets, anything),
    ])


def nonfinite_blocks(rng, qtype):
    """Random codes under one scale that is not finite, each scale in turn; the other scale is one."""
    _, size = GGML_QUANT_SIZES[qtype]
    offsets = SCALES[qtype]
    rows = []
    for column in range(len(offsets)):
        bits = np.full((len(NONFINITE), len(offsets)), 0x3C00, np.uint16)
        bits[:, column] = NONFINITE
        rows.append(with_scales(random_bytes(rng, len(NONFINITE), size), offsets, bits))
    return np.concatenate(rows)


def mxfp4_blocks(rng):
    """Random codes under each of the 256 exponents."""
    _, size = GGML_QUANT_SIZES[Type.MXFP4]
    blocks = random_bytes(rng, 256, size)
    blocks[:, 0] = np.arange(256)
    return blocks


def rows_to_encode(rng):
    """Rows of 32 values: several distributions, ties of every encoder, and the ends of the range."""
    halves = lambda low, high: rng.integers(2 * low, 2 * high + 1, 32) / 2
    peaked = lambda peak, row: np.concatenate([[peak], row[1:]])
    outlier = rng.normal(0, 1, (8, 32))
    outlier[:, 5] *= 50
    rows = [
        *rng.normal(0, 1, (16, 32)),
        *outlier,
        *rng.uniform(-1, 1, (8, 32)),
        *rng.uniform(2, 3, (4, 32)),
        *rng.uniform(-3, -2, (4, 32)),
        *rng.standard_cauchy((8, 32)),
        *(peaked(-8.0, halves(-7, 7)) for _ in range(4)),
        *(peaked(8.0, halves(-7, 7)) for _ in range(2)),
        *(peaked(-16.0, halves(-15, 15)) for _ in range(4)),
        *(peaked(16.0, halves(-15, 15)) for _ in range(2)),
        *(peaked(127.0, halves(-126, 126)) for _ in range(6)),
        *(np.concatenate([[-1.0, 14.0], halves(-1, 14)[2:]]) for _ in range(4)),
        *(np.concatenate([[-1.0, 30.0], halves(-1, 30)[2:]]) for _ in range(4)),
        *(rng.normal(0, 1, (6, 32)) * 10.0 ** np.array([[-35], [-30], [-8], [-4], [4], [7]])),
        np.tile([3.5, -3.5], 16),
        np.tile([-3.5, 3.5], 16),
        np.full(32, 0.1),
        np.full(32, -0.1),
        np.zeros(32),
        np.eye(32)[31] * -2.75,
        np.eye(32)[0] * 3e38,
    ]
    return np.array(rows, np.float32)


def floats_to_encode(rng, qtype):
    """Any f32 that is no NaN, values inside the target's range, and the midpoints between its neighbours."""
    bits = rng.integers(0, 1 << 32, 512, np.uint32)
    anything = bits.view(np.float32)
    anything = anything[~np.isnan(anything)]
    inside = (rng.normal(0, 1, 512) * 10.0 ** rng.uniform(-8, 5, 512)).astype(np.float32)
    low = rng.integers(0, 0x7BFF, 512, np.uint16)
    low[:2] = 0, 0x7BFE
    midpoints = (decode(low, qtype).astype(np.float64) + decode(low + np.uint16(1), qtype)) / 2
    ends = [0.0, -0.0, np.inf, -np.inf, 65519.0, 65520.0, -65520.0, np.finfo(np.float32).max, 1e-45, -1e-45]
    return np.concatenate([anything, inside, midpoints, -midpoints, ends]).astype(np.float32)


def decode(blocks, qtype):
    with np.errstate(all="ignore"):
        return dequantize(blocks.view(np.uint8).reshape(1, -1), qtype).reshape(-1)


def encode(values, qtype):
    with np.errstate(all="ignore"):
        return quantize(values.reshape(1, -1), qtype).view(np.uint8).reshape(-1)


def golden(index, qtype):
    """The tensors of one file. Each format draws from a stream of its own."""
    rng = np.random.Generator(np.random.PCG64([SEED, index]))
    length, size = GGML_QUANT_SIZES[qtype]
    tensors = {}
    if qtype in FLOATS:
        bits = FLOATS[qtype]
        blocks = rng.integers(0, 1 << 8 * size, 2048, bits, endpoint=False)
        values = decode(blocks, qtype)
        sets = {"": blocks[np.isfinite(values)], "nonfinite.": blocks[~np.isfinite(values)]}
    elif qtype == Type.MXFP4:
        sets = {"": mxfp4_blocks(rng)}
    else:
        sets = {"": scaled_blocks(rng, qtype), "nonfinite.": nonfinite_blocks(rng, qtype)}
    for name, blocks in sets.items():
        tensors[name + "blocks"] = blocks.view(np.uint8).reshape(-1, size)
        tensors[name + "values"] = decode(blocks, qtype).reshape(-1, length)
    if qtype in ENCODERS or qtype in FLOATS:
        values = floats_to_encode(rng, qtype) if qtype in (Type.F16, Type.BF16) else rows_to_encode(rng)
        tensors["encode.values"] = values.reshape(-1, length)
        tensors["encode.blocks"] = encode(values, qtype).reshape(-1, size)
    return tensors


def container(tensors, metadata):
    """A safetensors file. The package writes its metadata in random order; here the order is fixed."""
    names = {np.dtype(np.float32): "F32", np.dtype(np.uint8): "U8"}
    header, end = {"__metadata__": metadata}, 0
    # Wide elements first keeps every tensor aligned.
    tensors = dict(sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])))
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(tensor.tobytes() for tensor in tensors.values())


def main():
    parser = argparse.ArgumentParser(description="Remakes the golden files of the block formats.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file would change")
    check = parser.parse_args().check
    stale = []
    for index, qtype in enumerate([*FLOATS, *SCALES, Type.MXFP4]):
        metadata = {
            "format": qtype.name,
            "generator": "golden/quant/make.py: gguf.quants.dequantize, gguf.quants.quantize",
            "gguf": version("gguf"),
            "numpy": np.__version__,
            "python": platform.python_version(),
            "seed": f"[{SEED}, {index}]",
        }
        path = HERE / f"{qtype.name.lower()}.safetensors"
        made = container(golden(index, qtype), metadata)
        if not check:
            path.write_bytes(made)
        elif not path.exists() or path.read_bytes() != made:
            stale.append(path.name)
    if stale:
        sys.exit(f"would change: {', '.join(stale)}")


if __name__ == "__main__":
    main()
