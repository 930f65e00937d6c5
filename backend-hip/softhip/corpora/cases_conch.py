"""Kernels for inference (package `conch-triton-kernels`, `conch/kernels`)."""

import math

import ml_dtypes
import numpy as np

from bounds import Real, rsqrt, sigmoid, tanh
from cases import case, normal, wide
from kernels import InOut, Out

F16, F32, FP8 = np.float16, np.float32, ml_dtypes.float8_e4m3fnuz
ROWS, SIZE = 5, 700


@case("conch", "SiLU and product")
def silu_and_mul(sources, assay, rng):
    kernel = sources.module("conch", "activation/silu_and_mul.py")._silu_and_mul_kernel
    x = normal(rng, ROWS, 2 * SIZE)
    arguments = dict(output_ptr=Out((ROWS, SIZE), F32), x_ptr=x, output_stride=SIZE, input_stride=2 * SIZE, d=SIZE, cxpr_block_size=256)
    gate, other = wide(x[:, :SIZE]), wide(x[:, SIZE:])
    yield assay.triton(kernel, (ROWS,), arguments)["output_ptr"], gate * sigmoid(gate) * other


@case("conch", "GELU and product")
def gelu_and_mul(sources, assay, rng):
    kernel = sources.module("conch", "activation/gelu_tanh_and_mul.py")._gelu_tanh_and_mul_kernel
    x = normal(rng, ROWS, 2 * SIZE)
    arguments = dict(out_ptr=Out((ROWS, SIZE), F32), out_stride=SIZE, in_ptr=x, in_stride=2 * SIZE, d=SIZE, cxpr_block_size=256,
                     cxpr_beta=math.sqrt(2 / math.pi), cxpr_kappa=0.044715)
    a, b = wide(x[:, :SIZE]), wide(x[:, SIZE:])
    inner = math.sqrt(2 / math.pi) * (a + 0.044715 * (a * a * a))
    yield assay.triton(kernel, (ROWS,), arguments)["out_ptr"], 0.5 * a * (1.0 + tanh(inner)) * b


@case("conch", "RMS norm f16")
def rms_norm(sources, assay, rng):
    kernel = sources.module("conch", "normalization/rms_norm.py")._rms_norm_kernel
    x, w = normal(rng, ROWS, SIZE, dtype=F16), normal(rng, SIZE, dtype=F16)
    arguments = dict(output_ptr=Out(x.shape, F16), x_ptr=x, residual_ptr=None, weight_ptr=w, hidden_size=SIZE, epsilon=1e-5,
                     cxpr_block_size=1024, cxpr_use_residual=False)
    v = wide(x)
    unit = (v * rsqrt((v * v).mean(-1) + 1e-5)).cast(F16)
    yield assay.triton(kernel, (ROWS,), arguments)["output_ptr"], (unit * wide(w)).cast(F16)


@case("conch", "RMS norm of Gemma, in place")
def gemma_rms_norm(sources, assay, rng):
    kernel = sources.module("conch", "normalization/gemma_rms_norm.py")._gemma_rms_norm_inplace_kernel
    x, w = normal(rng, ROWS, SIZE), normal(rng, SIZE)
    arguments = dict(x_ptr=InOut(x), weights_ptr=w, hidden_size=SIZE, eps=1e-6, cxpr_block_size=1024)
    v = wide(x)
    yield assay.triton(kernel, (ROWS,), arguments)["x_ptr"], v * rsqrt((v * v).mean(-1) + 1e-6) * (1.0 + wide(w))


@case("conch", "quantise to int8")
def int8(sources, assay, rng):
    kernel = sources.module("conch", "quantization/int8.py")._static_scaled_int8_quant_kernel
    x, scale = normal(rng, ROWS, SIZE), np.array([0.02], F32)
    arguments = dict(output_ptr=Out(x.shape, np.int8), input_ptr=x, scale_ptr=scale, hidden_size=SIZE, int8_min=-128, int8_max=127,
                     cxpr_hidden_size_padded=1024, cxpr_block_size=512)
    scaled = wide(x) * (1.0 / wide(scale))
    clamped = np.clip(scaled.value, -128, 127)
    # Truncated: which integer is open only within the bound of the product.
    yield assay.triton(kernel, (ROWS,), arguments)["output_ptr"], Real(clamped - np.sign(clamped) * 0.5, scaled.error + 0.5)


@case("conch", "quantise to fp8")
def fp8(sources, assay, rng):
    kernel = sources.module("conch", "quantization/fp8.py")._static_scaled_fp8_quant_kernel
    x, scale = normal(rng, ROWS, SIZE), np.array([0.5], F32)
    arguments = dict(output_ptr=Out(x.shape, FP8), input_ptr=x, scale_ptr=scale, hidden_size=SIZE, cxpr_hidden_size_padded=1024,
                     cxpr_block_size=512, cxpr_is_rocm=True)
    yield assay.triton(kernel, (ROWS,), arguments)["output_ptr"], (wide(x) * (1.0 / wide(scale))).cast(FP8)


@case("conch", "write keys and values to a paged cache")
def reshape_and_cache(sources, assay, rng):
    kernel = sources.module("conch", "vllm/reshape_and_cache.py")._reshape_and_cache_kernel
    tokens, heads, size, page, pages = 9, 2, 96, 4, 5
    key, value = normal(rng, tokens, heads, size), normal(rng, tokens, heads, size)
    slots = rng.permutation(page * pages)[:tokens].astype(np.int64)
    slots[3] = -1
    shape = (pages, page, heads, size)
    arguments = dict(key_ptr=key, value_ptr=value, key_cache_ptr=InOut(np.zeros(shape, F32)), value_cache_ptr=InOut(np.zeros(shape, F32)),
                     slot_mapping_ptr=slots, k_scale_ptr=None, v_scale_ptr=None, head_size=size, cache_block_size=page,
                     kv_token_stride=heads * size, kv_head_stride=size, kv_cache_page_stride=page * heads * size,
                     kv_cache_block_stride=heads * size, kv_cache_head_stride=size, cxpr_head_size_padded=128,
                     cxpr_apply_fp8_scaling=False)
    found = assay.triton(kernel, (tokens, heads), arguments)
    for name, source in (("key_cache_ptr", key), ("value_cache_ptr", value)):
        want = np.zeros((page * pages, heads, size))
        want[slots[slots >= 0]] = source[slots >= 0]
        yield found[name], Real(want.reshape(shape))


@case("conch", "boxes that overlap")
def iou_mask(sources, assay, rng):
    kernel = sources.module("conch", "vision/nms.py")._create_iou_mask_kernel
    n = 50
    corner = rng.integers(0, 20, (n, 2))
    boxes = np.concatenate([corner, corner + rng.integers(1, 12, (n, 2))], -1).astype(F32)
    arguments = dict(boxes_ptr=boxes, iou_mask_ptr=InOut(np.zeros((n, n), np.int8)), num_boxes=n, iou_threshold=0.3001, boxes_stride=4,
                     iou_mask_stride=n, cxpr_block_size=64)
    found = assay.triton(kernel, (n,), arguments)["iou_mask_ptr"]
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2]).astype(np.float64)
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]).astype(np.float64)
    inner = np.clip(high - low, 0, None).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).astype(np.float64).prod(-1)
    ratio = inner / (area[:, None] + area[None, :] - inner)
    # Areas are small integers: no quotient of them is near the threshold.
    yield found, Real(np.triu(ratio > 0.3001))
