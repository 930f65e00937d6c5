"""A few ops in numpy.

    assay check --plugin plain.py
"""

import assay
import numpy as np

assay.name = f"numpy {np.__version__}"


@assay.op
def add(a, b, out):
    np.add(a, b, out=out)


@assay.op
def mul(a, b, out):
    np.multiply(a, b, out=out)


# Sums in f32 whatever the types; what is returned is rounded to the type of `out`.
@assay.op(types=["f32", "f16", "bf16"])
def rms_norm(x, weight, out, eps):
    x, weight = assay.f32(x), assay.f32(weight)
    mean = np.mean(x * x, axis=1, keepdims=True, dtype=np.float32)
    return x / np.sqrt(mean + np.float32(eps)) * weight


@assay.op
def softmax(x, out, scale):
    scaled = x * np.float32(scale)
    powers = np.exp(scaled - np.max(scaled, axis=1, keepdims=True))
    return powers / np.sum(powers, axis=1, keepdims=True)


@assay.op(types={"weight": ["f32", "f16"]})
def matmul(x, weight, bias, out):
    weight = weight.astype(np.float32)
    # One row at a time: a product of all rows at once may sum in another order when there are others, and the suite notices.
    for row in range(len(x)):
        out[row] = weight @ x[row]
    if bias is not None:
        out += bias
