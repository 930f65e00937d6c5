"""Liger kernels for training (package `liger-kernel`, `liger_kernel/ops`)."""

import math

import numpy as np

from bounds import Real, absolute, exp, log, maximum, rsqrt, sigmoid, softmax, tanh, where
from cases import case, normal, wide
from kernels import InOut, Out

F16, F32 = np.float16, np.float32
ROWS, COLUMNS = 6, 700


def _block(kernel, assay, arguments, rows=ROWS, warps=4):
    return assay.triton(kernel, (rows,), dict(BLOCK_SIZE=1024) | arguments, warps=warps)


def _gelu(a):
    return 0.5 * a * (1.0 + tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * (a * a * a))))


@case("liger", "GEGLU")
def geglu(sources, assay, rng):
    kernel = sources.module("liger", "geglu.py")._geglu_tanh_forward_kernel
    a, b = normal(rng, ROWS, COLUMNS), normal(rng, ROWS, COLUMNS)
    found = _block(kernel, assay, dict(a=a, b=b, c=Out(a.shape, F32), stride=COLUMNS, n_cols=COLUMNS))
    yield found["c"], _gelu(wide(a)) * wide(b)


@case("liger", "GEGLU backward")
def geglu_backward(sources, assay, rng):
    kernel = sources.module("liger", "geglu.py")._geglu_tanh_backward_kernel
    dc, a, b = (normal(rng, ROWS, COLUMNS) for _ in range(3))
    found = _block(kernel, assay, dict(dc=dc, a=InOut(a), b=InOut(b), stride=COLUMNS, n_cols=COLUMNS))
    dc, a, b = wide(dc), wide(a), wide(b)
    k = math.sqrt(2 / math.pi)
    t = tanh(k * (a + 0.044715 * (a * a * a)))
    slope = 0.5 * (1.0 + t) + 0.5 * a * (1.0 - t * t) * (k * (1.0 + (3 * 0.044715) * (a * a)))
    yield found["a"], dc * b * slope
    yield found["b"], dc * _gelu(a)


@case("liger", "SwiGLU f16")
def swiglu(sources, assay, rng):
    kernel = sources.module("liger", "swiglu.py")._swiglu_forward_kernel
    a, b = normal(rng, ROWS, COLUMNS, dtype=F16), normal(rng, ROWS, COLUMNS, dtype=F16)
    found = _block(kernel, assay, dict(a_ptr=a, b_ptr=b, c_ptr=Out(a.shape, F16), stride=COLUMNS, gate_multiplier=1.5, n_cols=COLUMNS))
    gate = wide(a) * 1.5
    yield found["c_ptr"], ((gate * sigmoid(gate)).cast(F16) * wide(b)).cast(F16)


@case("liger", "SwiGLU backward")
def swiglu_backward(sources, assay, rng):
    kernel = sources.module("liger", "swiglu.py")._swiglu_backward_kernel
    dc, a, b = (normal(rng, ROWS, COLUMNS) for _ in range(3))
    found = _block(kernel, assay, dict(dc_ptr=dc, a_ptr=InOut(a), b_ptr=InOut(b), stride=COLUMNS, gate_multiplier=0.5, n_cols=COLUMNS))
    dc, a, b = wide(dc), wide(a) * 0.5, wide(b)
    s = sigmoid(a)
    yield found["a_ptr"], dc * (a * s * (1.0 - s) + s) * b * 0.5
    yield found["b_ptr"], dc * (a * s)


@case("liger", "total variation distance")
def tvd(sources, assay, rng):
    kernel = sources.module("liger", "tvd.py")._tv_distance_kernel
    p, q = rng.random((ROWS, COLUMNS), F32), rng.random((ROWS, COLUMNS), F32)
    arguments = dict(p_ptr=p, p_stride=COLUMNS, q_ptr=q, q_stride=COLUMNS, loss_ptr=Out(p.shape, F32), loss_stride=COLUMNS,
                     grads_ptr=Out(p.shape, F32), grads_stride=COLUMNS, label_ptr=np.zeros(ROWS, np.int64), ignore_index=-100,
                     n_cols=COLUMNS, scale=0.25, BLOCK_SIZE=512, HAS_LABEL=False, reduction="none")
    kernel_module = sources.module("liger", "tvd.py")
    arguments["reduction"] = getattr(kernel_module, "_REDUCTION_MODE_NONE").value
    found = assay.triton(kernel, (ROWS,), arguments)
    yield found["loss_ptr"], 0.5 * absolute(wide(p) - wide(q))
    yield found["grads_ptr"], Real(0.125 * np.sign(p.astype(np.float64) - q))


@case("liger", "group norm")
def group_norm(sources, assay, rng):
    kernel = sources.module("liger", "group_norm.py")._group_norm_forward_kernel
    batch, groups, channels, size = 3, 2, 4, 96
    x = normal(rng, batch, groups, channels * size)
    w, b = normal(rng, groups * channels), normal(rng, groups * channels)
    hidden = channels * size
    arguments = dict(Y_ptr=Out(x.shape, F32), Y_row_stride=groups * hidden, Y_col_stride=hidden, X_ptr=x, X_row_stride=groups * hidden,
                     X_col_stride=hidden, Mean_ptr=Out((batch, groups), F32), Mean_row_stride=groups, Mean_col_stride=1,
                     RSTD_ptr=Out((batch, groups), F32), RSTD_row_stride=groups, RSTD_col_stride=1, W_ptr=w, B_ptr=b,
                     hidden_size=hidden, channels_per_group=channels, eps=1e-6, BLOCK_SIZE=256)
    found = assay.triton(kernel, (batch, groups), arguments)
    x = wide(x)
    mean = x.mean(-1)
    rstd = rsqrt((x * x).mean(-1) - mean * mean + 1e-6)
    wide_of = lambda v: wide(np.repeat(v.reshape(groups, channels), size, axis=1))
    yield found["Mean_ptr"], mean.reshape(batch, groups)
    yield found["RSTD_ptr"], rstd.reshape(batch, groups)
    yield found["Y_ptr"], (x - mean) * rstd * wide_of(w) + wide_of(b)


@case("liger", "squared ReLU")
def relu_squared(sources, assay, rng):
    kernel = sources.module("liger", "relu_squared.py")._relu_squared_forward_kernel
    x = normal(rng, ROWS, COLUMNS)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F32), Y_stride=COLUMNS, X_ptr=x, X_stride=COLUMNS, n_cols=COLUMNS))
    r = maximum(wide(x), 0.0)
    yield found["Y_ptr"], r * r


@case("liger", "squared ReLU backward")
def relu_squared_backward(sources, assay, rng):
    kernel = sources.module("liger", "relu_squared.py")._relu_squared_backward_kernel
    x, dy = normal(rng, ROWS, COLUMNS), normal(rng, ROWS, COLUMNS)
    found = _block(kernel, assay, dict(dX_ptr=Out(x.shape, F32), dX_stride=COLUMNS, dY_ptr=dy, dY_stride=COLUMNS, X_ptr=x,
                                       X_stride=COLUMNS, n_cols=COLUMNS))
    yield found["dX_ptr"], wide(dy) * 2.0 * maximum(wide(x), 0.0)


@case("liger", "Jensen-Shannon divergence")
def jsd(sources, assay, rng):
    kernel = sources.module("liger", "jsd.py")._jsd_kernel
    logits = rng.standard_normal((2, ROWS, COLUMNS))
    x, y = (logits - np.log(np.exp(logits).sum(-1, keepdims=True))).astype(F32)
    arguments = dict(X_ptr=x, X_stride=COLUMNS, Y_ptr=y, Y_stride=COLUMNS, loss_ptr=Out(x.shape, F32), loss_stride=COLUMNS,
                     dX_ptr=Out(x.shape, F32), dX_stride=COLUMNS, label_ptr=np.zeros(ROWS, np.int64), beta=0.3, n_non_ignore=ROWS,
                     ignore_index=-100, n_cols=COLUMNS, BLOCK_SIZE=512, HAS_LABEL=False)
    found = assay.triton(kernel, (ROWS,), arguments)
    x, y = wide(x), wide(y)
    m = maximum(x, y)
    log_m = m + log(0.3 * exp(y - m) + 0.7 * exp(x - m))
    q = (0.7 * exp(x)) * (x - log_m)
    yield found["loss_ptr"], ((0.3 * exp(y)) * (y - log_m) + q) * (1.0 / wide(ROWS))
    yield found["dX_ptr"], q * (1.0 / wide(ROWS))


@case("liger", "sparsemax")
def sparsemax(sources, assay, rng):
    kernel = sources.module("liger", "sparsemax.py")._sparsemax_forward_kernel
    x = normal(rng, ROWS, COLUMNS)
    ordered = -np.sort(-x, axis=-1)
    found = _block(kernel, assay, dict(x_ptr=x, x_stride_row=COLUMNS, sorted_x_ptr=ordered, sorted_x_stride_row=COLUMNS,
                                       o_ptr=Out(x.shape, F32), o_stride_row=COLUMNS, n_cols=COLUMNS, num_warps=4))
    z = ordered.astype(np.float64)
    support = z > (np.cumsum(z, -1) - 1) / np.arange(1, COLUMNS + 1)
    tau = (where(support, wide(ordered), 0.0).sum(-1) - 1.0) / wide(support.sum(-1, keepdims=True))
    yield found["o_ptr"], maximum(wide(x) - tau, 0.0)


@case("liger", "dynamic tanh")
def dyt(sources, assay, rng):
    kernel = sources.module("liger", "dyt.py")._dyt_fwd_kernel
    x, alpha = normal(rng, ROWS, COLUMNS), np.array([0.7], F32)
    gamma, beta = normal(rng, COLUMNS), normal(rng, COLUMNS)
    arguments = dict(X=x, Y=Out(x.shape, F32), Alpha=alpha, Gamma=gamma, Beta=beta, HAVE_BETA=True, N=COLUMNS, BLOCK_N=512)
    found = assay.triton(kernel, (2, ROWS), arguments)
    yield found["Y"], tanh(wide(alpha) * wide(x)) * wide(gamma) + wide(beta)


@case("liger", "dynamic tanh backward")
def dyt_backward(sources, assay, rng):
    kernel = sources.module("liger", "dyt.py")._dyt_bwd_kernel
    x, dy, alpha, gamma = normal(rng, ROWS, 300), normal(rng, ROWS, 300), np.array([0.7], F32), normal(rng, 300)
    arguments = dict(DY=dy, DX=Out(x.shape, F32), DA=InOut(np.zeros((2, 1), F32)), DG=Out((2, 300), F32), DB=Out((2, 300), F32), X=x,
                     Alpha=alpha, Gamma=gamma, HAVE_BETA=True, M=ROWS, N=300, BLOCK_N=512)
    found = assay.triton(kernel, (1, 2), arguments)
    x, dy, alpha = wide(x), wide(dy), wide(alpha)
    t = tanh(alpha * x)
    inner = (1.0 - t * t) * dy * wide(gamma)
    halves = lambda v: v.reshape(3, 2, 300).sum(0, keepdims=False)
    yield found["DX"], alpha * inner
    yield found["DG"], halves(dy * t)
    yield found["DB"], halves(dy)
    yield found["DA"], halves(x * inner).sum(-1)


@case("liger", "RMS norm f16")
def rms_norm(sources, assay, rng):
    kernel = sources.module("liger", "rms_norm.py")._rms_norm_forward_kernel
    x, w = normal(rng, ROWS, COLUMNS, dtype=F16), normal(rng, COLUMNS, dtype=F16)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F16), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, W_ptr=w,
                                       W_row_stride=1, RSTD_ptr=Out(ROWS, F32), RSTD_row_stride=1, n_cols=COLUMNS, eps=1e-6,
                                       offset=0.5, casting_mode=1, elementwise_affine=True))
    x = wide(x)
    rstd = rsqrt((x * x).mean(-1) + 1e-6)
    yield found["RSTD_ptr"], rstd.reshape(ROWS)
    # The casting mode of Gemma: everything in f32.
    yield found["Y_ptr"], (x * rstd * (0.5 + wide(w))).cast(F16)


@case("liger", "add and RMS norm")
def fused_add_rms_norm(sources, assay, rng):
    kernel = sources.module("liger", "fused_add_rms_norm.py")._fused_add_rms_norm_forward_kernel
    x, r, w = normal(rng, ROWS, COLUMNS), normal(rng, ROWS, COLUMNS), normal(rng, COLUMNS)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F32), Y_row_stride=COLUMNS, S_ptr=Out(x.shape, F32), S_row_stride=COLUMNS,
                                       X_ptr=x, X_row_stride=COLUMNS, R_ptr=r, R_row_stride=COLUMNS, W_ptr=w, W_row_stride=1,
                                       RSTD_ptr=Out(ROWS, F32), RSTD_row_stride=1, n_cols=COLUMNS, eps=1e-6, offset=0.0,
                                       casting_mode=1))
    s = wide(x) + wide(r)
    rstd = rsqrt((s * s).mean(-1) + 1e-6)
    yield found["S_ptr"], s
    yield found["RSTD_ptr"], rstd.reshape(ROWS)
    yield found["Y_ptr"], s * rstd * (0.0 + wide(w))


@case("liger", "polynomial norm")
def poly_norm(sources, assay, rng):
    kernel = sources.module("liger", "poly_norm.py")._poly_norm_forward_kernel
    x, w, b = normal(rng, ROWS, COLUMNS), normal(rng, 3), normal(rng, 1)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F32), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, W_ptr=w, B_ptr=b,
                                       RSTD_ptr=Out((ROWS, 3), F32), RSTD_row_stride=3, n_cols=COLUMNS, eps=1e-6))
    x1 = wide(x)
    unit = lambda v: v * rsqrt((v * v).mean(-1) + 1e-6)
    terms = [wide(w[i]) * unit(v) for i, v in enumerate([x1 * x1 * x1, x1 * x1, x1])]
    yield found["Y_ptr"], terms[0] + terms[1] + terms[2] + wide(b)


@case("liger", "rotary embedding")
def rope(sources, assay, rng):
    kernel = sources.module("liger", "rope.py")._triton_rope
    tokens, qh, kh, d = 5, 16, 8, 64
    q, k = normal(rng, tokens, qh, d), normal(rng, tokens, kh, d)
    angle = rng.uniform(0, 6, (tokens, d))
    c, s = np.cos(angle).astype(F32), np.sin(angle).astype(F32)
    arguments = dict(q_ptr=InOut(q), q_row_stride=qh * d, k_ptr=InOut(k), k_row_stride=kh * d, cos=c, cos_row_stride=d, sin=s,
                     sin_row_stride=d, sl=tokens, bs=1, cos_bs=1, n_qh=qh, n_kh=kh, hd=d, pad_n_qh=16, pad_n_kh=8, pad_hd=64, pad_rd=64,
                     rd=64, BLOCK_SIZE=64, BACKWARD_PASS=False)
    found = assay.triton(kernel, (tokens,), arguments)
    c, s = wide(c[:, None, : d // 2]), wide(s[:, None, : d // 2])
    for name, x in (("q_ptr", q), ("k_ptr", k)):
        a, b = wide(x[..., : d // 2]), wide(x[..., d // 2 :])
        yield found[name][..., : d // 2], a * c - b * s
        yield found[name][..., d // 2 :], b * c + a * s


@case("liger", "KL divergence")
def kl_div(sources, assay, rng):
    theirs = sources.module("liger", "kl_div.py")
    y, t = normal(rng, ROWS, COLUMNS), rng.random((ROWS, COLUMNS), F32)
    arguments = dict(y_ptr=y, y_stride=COLUMNS, gt_ptr=t, gt_stride=COLUMNS, loss_ptr=Out((ROWS, COLUMNS), F32), loss_stride=COLUMNS,
                     n_cols=COLUMNS, eps=1e-10, BLOCK_SIZE=512, reduction=theirs._REDUCTION_MODE_NONE.value, log_target=False)
    found = assay.triton(theirs._kldiv_kernel_forward, (ROWS,), arguments)
    yield found["loss_ptr"], wide(t) * (log(maximum(wide(t), 1e-10)) - wide(y))


@case("liger", "KL divergence backward")
def kl_div_backward(sources, assay, rng):
    theirs = sources.module("liger", "kl_div.py")
    t = normal(rng, ROWS, COLUMNS)
    arguments = dict(target_ptr=t, target_stride=COLUMNS, new_grads_ptr=Out(t.shape, F32), new_grads_stride=COLUMNS, n_cols=COLUMNS,
                     BLOCK_SIZE=256, log_target=True)
    yield assay.triton(theirs._kldiv_kernel_backward, (ROWS,), arguments)["new_grads_ptr"], -exp(wide(t))


@case("liger", "softmax of one block")
def softmax_single(sources, assay, rng):
    kernel = sources.module("liger", "softmax.py")._softmax_single_block_forward_kernel
    x = normal(rng, ROWS, COLUMNS)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F32), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, n_cols=COLUMNS))
    yield found["Y_ptr"], softmax(wide(x))


@case("liger", "softmax backward of one block")
def softmax_backward(sources, assay, rng):
    kernel = sources.module("liger", "softmax.py")._softmax_single_block_backward_kernel
    y, dy = rng.random((ROWS, COLUMNS), F32), normal(rng, ROWS, COLUMNS)
    found = _block(kernel, assay, dict(dy_ptr=dy, dy_stride=COLUMNS, y_ptr=y, y_stride=COLUMNS, dx_ptr=Out(y.shape, F32),
                                       dx_stride=COLUMNS, n_cols=COLUMNS))
    y, dy = wide(y), wide(dy)
    yield found["dx_ptr"], y * (dy - (dy * y).sum(-1))


@case("liger", "cross entropy with gradients")
def cross_entropy(sources, assay, rng):
    kernel = sources.module("liger", "cross_entropy.py").liger_cross_entropy_kernel
    x = normal(rng, ROWS, COLUMNS)
    y = rng.integers(0, COLUMNS, ROWS)
    arguments = dict(X_ptr=InOut(x), X_stride=COLUMNS, Y_ptr=y, Y_stride=1, weight_ptr=x, loss_ptr=Out(ROWS, F32), z_loss_ptr=None,
                     loss_stride=1, token_accuracy_ptr=None, token_accuracy_stride=0, predicted_tokens_ptr=Out(ROWS, np.int64),
                     predicted_tokens_stride=1, n_cols=COLUMNS, n_non_ignore=ROWS, sum_non_ignore_weight=ROWS, weight_sum=0.0,
                     ignore_index=-100, lse_square_scale=0.0, label_smoothing=0.1, reduction="mean", softcap=0.0, RETURN_Z_LOSS=False,
                     RETURN_TOKEN_ACCURACY=False, RETURN_PREDICTED_TOKENS=True, BLOCK_SIZE=256, HAS_WEIGHT=False,
                     HAS_SOFTCAPPING=False, HAS_GRADIENTS=True)
    found = assay.triton(kernel, (ROWS,), arguments)
    logits = wide(x)
    p = softmax(logits)
    eps = 0.1 / COLUMNS
    hot = np.eye(COLUMNS)[y]
    n = wide(ROWS)
    top = logits.max(-1)
    # Rescaled once per block.
    e = exp(logits - top)
    e = Real(e.value, 4 * e.error)
    lse = top + log(e.sum(-1))
    chosen = wide(x[np.arange(ROWS), y][:, None])
    loss = (lse - chosen) * 0.9 + ((-eps * logits).sum(-1) + 0.1 * lse)
    p = e / e.sum(-1)
    yield found["loss_ptr"], (loss / n).reshape(ROWS)
    yield found["X_ptr"], (p - eps - 0.9 * wide(hot)) / n
    yield found["predicted_tokens_ptr"], Real(x.argmax(-1))


@case("liger", "layer norm f16")
def layer_norm(sources, assay, rng):
    kernel = sources.module("liger", "layer_norm.py")._layer_norm_forward_kernel
    x, w, b = normal(rng, ROWS, COLUMNS, dtype=F16), normal(rng, COLUMNS, dtype=F16), normal(rng, COLUMNS, dtype=F16)
    found = _block(kernel, assay, dict(Y_ptr=Out(x.shape, F16), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, W_ptr=w,
                                       W_row_stride=1, B_ptr=b, B_row_stride=1, Mean_ptr=Out(ROWS, F32), Mean_row_stride=1,
                                       RSTD_ptr=Out(ROWS, F32), RSTD_row_stride=1, n_cols=COLUMNS, eps=1e-5))
    centred = wide(x) - wide(x).mean(-1)
    rstd = rsqrt((centred * centred).mean(-1) + 1e-5)
    yield found["RSTD_ptr"], rstd.reshape(ROWS)
    yield found["Y_ptr"], (centred * rstd * wide(w) + wide(b)).cast(F16)


@case("liger", "layer norm backward")
def layer_norm_backward(sources, assay, rng):
    kernel = sources.module("liger", "layer_norm.py")._layer_norm_backward_kernel
    x, dy, w = normal(rng, ROWS, COLUMNS), normal(rng, ROWS, COLUMNS), normal(rng, COLUMNS)
    mean, rstd = x.mean(-1), (1 / np.sqrt(x.var(-1) + 1e-5)).astype(F32)
    found = _block(kernel, assay, dict(X_ptr=x, stride_x=COLUMNS, W_ptr=w, Mean_ptr=mean, stride_mean=1, RSTD_ptr=rstd, stride_rstd=1,
                                       DX_ptr=Out(x.shape, F32), stride_dx=COLUMNS, DW_ptr=Out((2, COLUMNS), F32), stride_dw=COLUMNS,
                                       DB_ptr=Out((2, COLUMNS), F32), stride_db=COLUMNS, DY_ptr=dy, stride_dy=COLUMNS, n_rows=ROWS,
                                       n_cols=COLUMNS, rows_per_program=3), rows=2)
    unit = (wide(x) - wide(mean)[:, None]) * wide(rstd)[:, None]
    wdy = wide(w) * wide(dy)
    yield found["DX_ptr"], (wdy - (unit * (unit * wdy).mean(-1) + wdy.mean(-1))) * wide(rstd)[:, None]
    halves = lambda v: v.reshape(2, 3, COLUMNS).sum(1, keepdims=False)
    yield found["DW_ptr"], halves(wide(dy) * unit)
    yield found["DB_ptr"], halves(wide(dy))


@case("liger", "product with a scalar in memory")
def element_mul(sources, assay, rng):
    kernel = sources.module("liger", "utils.py").element_mul_kernel
    x, g = normal(rng, ROWS, COLUMNS), np.array([1.7], F32)
    found = _block(kernel, assay, dict(X_ptr=InOut(x), X_stride=COLUMNS, grad_output_ptr=g, n_cols=COLUMNS, BLOCK_SIZE=256))
    yield found["X_ptr"], wide(x) * wide(g)


@case("liger", "embedding")
def embedding(sources, assay, rng):
    kernel = sources.module("liger", "experimental/embedding.py").embedding_forward_kernel
    table, indices = normal(rng, 50, 100), rng.integers(0, 50, 37)
    arguments = dict(embeddings_ptr=table, indices_ptr=indices, output_ptr=Out((37, 100), F32), n_elements=37, embedding_dim=100,
                     BLOCK_SIZE_M=32, BLOCK_SIZE_N=64)
    yield assay.triton(kernel, (2, 2), arguments)["output_ptr"], wide(table[indices])


@case("liger", "embedding backward, by atomics")
def embedding_backward(sources, assay, rng):
    kernel = sources.module("liger", "experimental/embedding.py").embedding_backward_kernel
    grad, indices = normal(rng, 37, 100), rng.integers(0, 5, 37)
    arguments = dict(grad_output_ptr=grad, grad_weight_ptr=InOut(np.zeros((5, 100), F32)), indices_ptr=indices, n_elements=37,
                     embedding_dim=100, BLOCK_SIZE_M=32, BLOCK_SIZE_N=64)
    hot = np.eye(5)[indices].T
    yield assay.triton(kernel, (2, 2), arguments)["grad_weight_ptr"], wide(hot) @ wide(grad)
