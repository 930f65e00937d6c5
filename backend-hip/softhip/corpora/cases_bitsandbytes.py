"""Kernels that hipcc compiled: the ROCm libraries in the wheel `bitsandbytes`, compressed bundles in `.hip_fatbin`."""

import numpy as np

from bounds import Real
from cases import case, normal, wide
from kernels import InOut, Missing, Out

F16, F32 = np.float16, np.float32

# The sixteen numbers of NF4 (Dettmers et al., "QLoRA", appendix E).
NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], F32)


def _run(sources, assay, kernel, grid, block, arguments):
    files = sorted(sources.path("bitsandbytes").glob("libbitsandbytes_rocm*.so"))
    if not files:
        raise Missing("a ROCm library of bitsandbytes")
    return assay.run(files[-1].read_bytes(), kernel, (grid, 1, 1), (block, 1, 1), arguments)


def _codes(rng):
    """256 ascending numbers from -1 to 1."""
    inner = np.sort(rng.uniform(-1, 1, 254))
    return np.concatenate([[-1.0], inner, [1.0]]).astype(F32)


@case("bitsandbytes", "fill")
def fill(sources, assay, rng):
    arguments = [("a", Out(1000, F32)), ("b", None), ("value", ("f32", 2.5)), ("n", ("i64", 1000))]
    yield _run(sources, assay, "_Z5kfuncIfLi0EEvPT_S1_S0_l", 2, 512, arguments)["a"], Real(np.full(1000, 2.5))


@case("bitsandbytes", "count up")
def arange(sources, assay, rng):
    arguments = [("a", Out(1000, F32)), ("b", None), ("value", ("f32", 0)), ("n", ("i64", 1000))]
    yield _run(sources, assay, "_Z5kfuncIfLi1EEvPT_S1_S0_l", 2, 512, arguments)["a"], Real(np.arange(1000))


@case("bitsandbytes", "product")
def product(sources, assay, rng):
    a, b = normal(rng, 1000), normal(rng, 1000)
    arguments = [("a", InOut(a)), ("b", b), ("value", ("f32", 0)), ("n", ("i64", 1000))]
    yield _run(sources, assay, "_Z5kfuncIfLi2EEvPT_S1_S0_l", 2, 512, arguments)["a"], wide(a) * wide(b)


@case("bitsandbytes", "dequantise 8 bits by blocks")
def dequantise(sources, assay, rng):
    n, block = 1500, 256
    code, quants = _codes(rng), rng.integers(0, 256, n).astype(np.uint8)
    largest = rng.random(-(-n // block), F32)
    arguments = [("code", code), ("a", quants), ("absmax", largest), ("out", Out(n, F32)), ("block", ("i32", block)), ("n", ("i32", n))]
    found = _run(sources, assay, "_Z20kDequantizeBlockwiseIfLi512ELi64ELi8ELi0EEvPfPhS0_PT_ii", -(-n // 512), 64, arguments)
    yield found["out"], wide(code[quants]) * wide(largest[np.arange(n) // block])


@case("bitsandbytes", "dequantise NF4 by blocks")
def dequantise_nf4(sources, assay, rng):
    n, block = 2048, 64
    quants = rng.integers(0, 256, n // 2).astype(np.uint8)
    largest = rng.random(n // block, F32)
    arguments = [("code", None), ("a", quants), ("absmax", largest), ("out", Out(n, F32)), ("block", ("i32", block // 2)),
                 ("n", ("i32", n))]
    found = _run(sources, assay, "_Z20kDequantizeBlockwiseIfLi512ELi64ELi8ELi2EEvPfPhS0_PT_ii", -(-n // 1024), 64, arguments)
    nibbles = np.stack([quants >> 4, quants & 15], -1).ravel()
    yield found["out"], wide(NF4[nibbles]) * wide(largest[np.arange(n) // block])


@case("bitsandbytes", "quantise to 8 bits by blocks")
def quantise(sources, assay, rng):
    n, block = 6000, 4096
    code, a = _codes(rng), normal(rng, n)
    blocks = -(-n // block)
    arguments = [("code", code), ("a", a), ("absmax", Out(blocks, F32)), ("out", Out(n, np.uint8)), ("rand", None),
                 ("rand_offset", ("i32", 0)), ("n", ("i32", n))]
    found = _run(sources, assay, "_Z18kQuantizeBlockwiseIfLi4096ELi4ELi0ELi0EEvPfPT_S0_PhS0_ii", blocks, 1024, arguments)
    largest = np.array([np.abs(a[block * i : block * (i + 1)]).max() for i in range(blocks)])
    yield found["absmax"], wide(largest)
    x = a.astype(np.float64) / largest.astype(np.float64)[np.arange(n) // block]
    nearest = np.abs(x[:, None] - code[None, :].astype(np.float64)).min(-1)
    # As near as the nearest code, up to the rounding of the quotient and of the middle between two codes.
    yield np.abs(x - code[found["out"]].astype(np.float64)), Real(nearest, 8 * 2.0**-24)


@case("bitsandbytes", "quantise rows to int8")
def quantise_rows(sources, assay, rng):
    rows, columns = 5, 1500
    a = normal(rng, rows, columns, dtype=F16)
    arguments = [("a", a), ("out", Out((rows, columns), np.int8)), ("stats", Out(rows, F32)), ("threshold", ("f32", 0)),
                 ("rows", ("i32", rows)), ("columns", ("i32", columns))]
    found = _run(sources, assay, "_Z16kInt8VectorQuantI6__halfLi1024ELi0EEvPT_PaPffii", rows, 1024, arguments)
    largest = np.abs(a.astype(np.float64)).max(-1)
    yield found["stats"], Real(largest)
    scaled = wide(a) * (127.0 / wide(largest)[:, None])
    # Rounded to an integer; which one is open only within the bound of the product.
    yield found["out"], Real(scaled.value, scaled.error + 0.5)


@case("bitsandbytes", "dequantise int32 products")
def dequantise_products(sources, assay, rng):
    rows, columns = 24, 100
    a = rng.integers(-(2**20), 2**20, (rows, columns)).astype(np.int32)
    r, c, bias = rng.random(rows, F32), rng.random(columns, F32), normal(rng, columns, dtype=F16)
    n = rows * columns
    arguments = [("a", a), ("rows", r), ("columns", c), ("out", Out((rows, columns), F16)), ("bias", bias), ("r", ("i32", rows)),
                 ("c", ("i32", columns)), ("n", ("i32", n))]
    found = _run(sources, assay, "_Z22kdequant_mm_int32_fp16ILi4ELi512EEvPiPfS1_P6__halfS3_iii", -(-n // 2048), 512, arguments)
    scale = 1.0 / (127.0 * 127.0)
    want = wide(a).cast(F32) * wide(r)[:, None] * wide(c) * Real(scale).cast(F32) + wide(bias)
    yield found["out"], want.cast(F16)
