"""Triton's own tutorials (its repository, `python/tutorials`)."""

import ml_dtypes
import numpy as np

from bounds import Real, rsqrt, softmax, sqrt, where
from cases import case, normal, wide
from kernels import InOut, Out

F16, BF16, F32 = np.float16, ml_dtypes.bfloat16, np.float32
FP8 = ml_dtypes.float8_e4m3fnuz


@case("triton", "vector add")
def add(sources, assay, rng):
    kernel = sources.module("triton", "01-vector-add.py").add_kernel
    x, y = normal(rng, 3000), normal(rng, 3000)
    arguments = dict(x_ptr=x, y_ptr=y, output_ptr=Out(3000, F32), n_elements=3000, BLOCK_SIZE=1024)
    yield assay.triton(kernel, (3,), arguments)["output_ptr"], wide(x) + wide(y)


@case("triton", "fused softmax")
def fused_softmax(sources, assay, rng):
    kernel = sources.module("triton", "02-fused-softmax.py").softmax_kernel
    x = normal(rng, 12, 781)
    arguments = dict(output_ptr=Out(x.shape, F32), input_ptr=x, input_row_stride=781, output_row_stride=781, n_rows=12,
                     n_cols=781, BLOCK_SIZE=1024, num_stages=2)
    yield assay.triton(kernel, (5,), arguments, warps=8)["output_ptr"], softmax(wide(x))


def _matmul(sources, assay, rng, dtype, shape, activation=""):
    m, n, k = shape
    kernel = sources.module("triton", "03-matrix-multiplication.py").matmul_kernel
    a, b = normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype)
    arguments = dict(a_ptr=a, b_ptr=b, c_ptr=Out((m, n), F16), M=m, N=n, K=k, stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1,
                     stride_cm=n, stride_cn=1, BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32, GROUP_SIZE_M=2,
                     ACTIVATION=activation)
    # The matrix unit rounds f32 operands to 10 bits behind the point (xf32).
    operand = lambda x: wide(x).rounded(2.0**-10) if dtype == F32 else wide(x)
    want = operand(a) @ operand(b)
    if activation:
        want = where(want.value >= 0, want, want * 0.01)
    yield assay.triton(kernel, (-(-m // 64) * -(-n // 64),), arguments)["c_ptr"], want.cast(F16)


@case("triton", "matmul f16")
def matmul(sources, assay, rng):
    return _matmul(sources, assay, rng, F16, (100, 72, 96))


@case("triton", "matmul bf16, leaky ReLU")
def matmul_bf16(sources, assay, rng):
    return _matmul(sources, assay, rng, BF16, (64, 130, 80), "leaky_relu")


@case("triton", "matmul fp8")
def matmul_fp8(sources, assay, rng):
    return _matmul(sources, assay, rng, FP8, (96, 64, 128))


@case("triton", "matmul f32")
def matmul_f32(sources, assay, rng):
    return _matmul(sources, assay, rng, F32, (64, 64, 64))


@case("triton", "dropout")
def dropout(sources, assay, rng):
    kernel = sources.module("triton", "04-low-memory-dropout.py")._dropout
    x, keep = normal(rng, 1000), rng.integers(0, 2, 1000).astype(np.int32)
    arguments = dict(x_ptr=x, x_keep_ptr=keep, output_ptr=Out(1000, F32), n_elements=1000, p=0.3, BLOCK_SIZE=1024)
    yield assay.triton(kernel, (1,), arguments)["output_ptr"], where(keep, wide(x) / (1 - wide(F32(0.3))), 0.0)


def _philox(seed, offsets):
    """Philox 4x32-10, as Salmon et al. define it; the first word of each counter."""
    c = [offsets.astype(np.uint64)] + [np.zeros(len(offsets), np.uint64)] * 3
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c[0].astype(np.uint32)


@case("triton", "seeded dropout")
def seeded_dropout(sources, assay, rng):
    kernel = sources.module("triton", "04-low-memory-dropout.py")._seeded_dropout
    x = normal(rng, 1000)
    arguments = dict(x_ptr=x, output_ptr=Out(1000, F32), n_elements=1000, p=0.5, seed=123, BLOCK_SIZE=1024)
    word = _philox(123, np.arange(1000)).view(np.int32).astype(np.int64)
    uniform = np.where(word < 0, -word - 1, word) * 4.6566127342e-10
    yield assay.triton(kernel, (1,), arguments)["output_ptr"], where(uniform > 0.5, wide(x) / 0.5, 0.0)


def _normalised(x, eps):
    mean = x.mean(-1)
    centred = x - mean
    rstd = 1.0 / sqrt((centred * centred).mean(-1) + eps)
    return mean, rstd, centred * rstd


@case("triton", "layer norm")
def layer_norm(sources, assay, rng):
    kernel = sources.module("triton", "05-layer-norm.py")._layer_norm_fwd_fused
    x, w, b = normal(rng, 6, 1000, dtype=F16), normal(rng, 1000, dtype=F16), normal(rng, 1000, dtype=F16)
    arguments = dict(X=x, Y=Out(x.shape, F16), W=w, B=b, Mean=Out(6, F32), Rstd=Out(6, F32), stride=1000, N=1000, eps=1e-5,
                     BLOCK_SIZE=512)
    found = assay.triton(kernel, (6,), arguments)
    mean, rstd, unit = _normalised(wide(x), 1e-5)
    yield found["Mean"], mean.reshape(6)
    yield found["Rstd"], rstd.reshape(6)
    yield found["Y"], (unit * wide(w) + wide(b)).cast(F16)


def _layer_norm_backward(assay, kernel, x, dy, w):
    rows, n = x.shape
    mean, rstd, unit = _normalised(wide(x), 1e-5)
    m32, r32 = mean.value.astype(F32).ravel(), rstd.value.astype(F32).ravel()
    arguments = dict(DX=Out(x.shape, F32), DY=dy, DW=InOut(np.zeros((2, n), F32)), DB=InOut(np.zeros((2, n), F32)), X=x, W=w,
                     Mean=m32, Rstd=r32, Lock=InOut(np.zeros(4, np.int32)), stride=n, N=n, GROUP_SIZE_M=2, BLOCK_SIZE_N=256)
    found = assay.triton(kernel, (rows,), arguments)
    unit = (wide(x) - wide(m32)[:, None]) * wide(r32)[:, None]
    return found, unit, wide(r32)[:, None]


@case("triton", "layer norm backward, with a lock")
def layer_norm_backward(sources, assay, rng):
    kernel = sources.module("triton", "05-layer-norm.py")._layer_norm_bwd_dx_fused
    x, dy, w = normal(rng, 8, 200), normal(rng, 8, 200), normal(rng, 200)
    found, unit, rstd = _layer_norm_backward(assay, kernel, x, dy, w)
    wdy = wide(w) * wide(dy)
    yield found["DX"], (wdy - (unit * (unit * wdy).mean(-1) + wdy.mean(-1))) * rstd
    partial = wide(dy) * unit
    groups = lambda value: value.reshape(4, 2, 200).sum(0, keepdims=False)
    yield found["DW"], groups(partial)
    yield found["DB"], groups(wide(dy))


@case("triton", "layer norm backward, weights")
def layer_norm_weights(sources, assay, rng):
    kernel = sources.module("triton", "05-layer-norm.py")._layer_norm_bwd_dwdb
    dw, db = normal(rng, 40, 200), normal(rng, 40, 200)
    arguments = dict(DW=dw, DB=db, FINAL_DW=Out(200, F32), FINAL_DB=Out(200, F32), M=40, N=200, BLOCK_SIZE_M=32,
                     BLOCK_SIZE_N=128)
    found = assay.triton(kernel, (2,), arguments)
    yield found["FINAL_DW"], wide(dw).sum(0, keepdims=False)
    yield found["FINAL_DB"], wide(db).sum(0, keepdims=False)


@case("triton", "arc sine of the device library")
def asin(sources, assay, rng):
    kernel = sources.module("triton", "07-extern-functions.py").asin_kernel
    x = rng.uniform(-1, 1, 1000).astype(F32)
    arguments = dict(x_ptr=x, y_ptr=Out(1000, F32), n_elements=1000, BLOCK_SIZE=1024)
    # OpenCL allows the device library 4 units in the last place.
    want = Real(np.arcsin(x.astype(np.float64)))
    yield assay.triton(kernel, (1,), arguments)["y_ptr"], want.rounded(8 * 2.0**-24)
