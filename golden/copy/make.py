"""Makes golden/copy/copy.safetensors: numpy's own strided assignment, on raw bytes, for every type.

Run from the top of the repository: PYTHONPATH=golden python golden/copy/make.py
"""

import numpy as np
from blocks import FORMATS, block_len
from capsule import Case, write
from gguf.constants import GGML_QUANT_SIZES

SEED = 20_017


def size(dtype):
    """Elements and bytes of a block."""
    return (1, 4) if dtype == "u32" else (block_len(dtype), GGML_QUANT_SIZES[FORMATS[dtype]][1])


def cases(rng):
    for dtype in [*FORMATS, "u32"]:
        length, nbytes = size(dtype)
        random = lambda *shape: rng.integers(0, 256, (*shape, nbytes), np.uint8)
        for rows, blocks in [(1, 1), (3, 2)]:
            x = random(rows, blocks)
            case = Case(f"{dtype},rows={rows},n={blocks * length}", "copy").input("x", x, dtype, (rows, blocks * length))
            yield case.output("out", x, (rows, blocks * length), dtype)
        # Columns 1..3 of five into columns 2..4 of seven: padding on both sides of both.
        x, before = random(4, 5), random(4, 7)
        shape = (4, 2 * length)
        case = Case(f"{dtype},rows=4,n={2 * length},strided", "copy")
        case.input("x", x, dtype, shape, strides=(5 * length, 1), offset=nbytes)
        yield case.output("out", x[:, 1:3], shape, dtype, before, strides=(7 * length, 1), offset=2 * nbytes)
        row = random(1)
        case = Case(f"{dtype},rows=3,n={length},one row again and again", "copy")
        case.input("x", row, dtype, (3, length), strides=(0, 1))
        yield case.output("out", np.broadcast_to(row, (3, *row.shape)), (3, length), dtype)
    for dtype in ["f32", "f16", "bf16", "u32"]:
        nbytes = size(dtype)[1]
        for rows, columns, pitch in [(5, 5, 5), (3, 7, 4), (34, 2, 40)]:
            held = rng.integers(0, 256, (columns, pitch, nbytes), np.uint8)
            case = Case(f"{dtype},rows={rows},n={columns},transposed", "copy")
            case.input("x", held, dtype, (rows, columns), strides=(1, pitch))
            yield case.output("out", held[:, :rows].transpose(1, 0, 2), (rows, columns), dtype)


write("golden/copy/copy.safetensors", SEED, list(cases(np.random.default_rng(SEED))), ["gguf"])
