"""RMSNorms in Triton, and their objects: python triton_rms_norm.py (made with triton 3.9.0).

One kernel for f32 and for f16, which it widens before it sums, and one with a planted bug: it sums the squares in the type of x.
"""

import json
import os
import pathlib

# Line tables name the folder of this file.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "0"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def triton_rms_norm(x_ptr, weight_ptr, out_ptr, x_stride, out_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n_cols
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, x * factor * weight, mask=inside)


@triton.jit
def triton_rms_norm_short_sum(x_ptr, weight_ptr, out_ptr, x_stride, out_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n_cols
    x = tl.load(x_ptr + row * x_stride + offsets, mask=inside, other=0.0)
    factor = 1.0 / tl.sqrt(tl.sum(x * x, axis=0).to(tl.float32) / n_cols + eps)
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * out_stride + offsets, x.to(tl.float32) * factor * weight, mask=inside)


def build(kernel, float_type, name):
    signature = {
        "x_ptr": f"*{float_type}",
        "weight_ptr": f"*{float_type}",
        "out_ptr": f"*{float_type}",
        "x_stride": "i32",
        "out_stride": "i32",
        "n_cols": "i32",
        "eps": "fp32",
        "BLOCK": "constexpr",
    }
    source = ASTSource(fn=kernel, signature=signature, constexprs={"BLOCK": 1024})
    made = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4})
    folder = pathlib.Path(__file__).parent / "objects"
    (folder / f"{name}.hsaco").write_bytes(made.asm["hsaco"])
    told = {"name": made.metadata.name, "num_warps": made.metadata.num_warps, "shared": made.metadata.shared}
    told["target"] = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    (folder / f"{name}.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    build(triton_rms_norm, "fp32", "triton_rms_norm")
    build(triton_rms_norm, "fp16", "triton_rms_norm_f16")
    build(triton_rms_norm_short_sum, "fp16", "triton_rms_norm_short_sum")
