"""AITER's hand-written assembly (repository ROCm/aiter, `hsa/gfx942`).

Arguments stand at the offsets of the structs in `csrc/py_itfs_cu/asm_*.cu`: each has a slot of 16 bytes.
"""

import csv
import math
import struct

import ml_dtypes
import msgpack
import numpy as np

from bounds import F32 as UNIT
from bounds import Real, exp, real, sigmoid, softmax
from cases import case, normal, wide
from kernels import InOut, Out

F16, BF16, F32 = np.float16, ml_dtypes.bfloat16, np.float32
FP8 = ml_dtypes.float8_e4m3fnuz


def metadata(data):
    """The kernels' metadata in the notes of an ELF file."""
    (offset,), (size, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
    for index in range(count):
        kind, _, _, begin, length = struct.unpack_from("<IQQQQ", data, offset + index * size + 4)
        if kind != 7:
            continue
        at = begin
        while at < begin + length:
            name, content, note = struct.unpack_from("<III", data, at)
            start = at + 12 + (name + 3) // 4 * 4
            if note == 32:
                return msgpack.unpackb(data[start : start + content])
            at = start + (content + 3) // 4 * 4
    raise ValueError("no metadata")


def launch(sources, assay, path, kernel, grid, block, slots, lds=0):
    """Runs an object's kernel; `slots` are arguments, one for each 16 bytes."""
    data = sources.path("aiter", f"hsa/gfx942/{path}").read_bytes()
    described = next(k for k in metadata(data)["amdhsa.kernels"] if k[".name"] == kernel)
    arguments = []
    for number, argument in enumerate(described[".args"]):
        slot, rest = divmod(argument[".offset"], 16)
        pointer = argument[".value_kind"] == "global_buffer"
        value = slots[slot] if rest == 0 and slot < len(slots) else None
        if value is None or (isinstance(value, int) and value == 0):
            value = None if pointer else bytes(argument[".size"])
        elif isinstance(value, float):
            value = struct.pack("<f", value)
        elif isinstance(value, int):
            value = struct.pack("<I", value)
        elif not pointer:
            raise ValueError(f"slot {slot} is no pointer: {argument}")
        name = f"slot{slot}" if rest == 0 else f"pad{number}"
        arguments.append((name, value))
    return assay.run(data, kernel, grid, block, arguments, lds=lds)


def _top_k(tokens, experts, k, dtype, path, kernel, per_group):
    def run(sources, assay, rng):
        logits = normal(rng, tokens, experts, dtype=dtype)
        slots = [Out((tokens, k), np.int32), Out((tokens, k), F32), logits, tokens, experts, k, 1, 4 * k]
        grid = (-(-tokens // per_group), 1, 1)
        found = launch(sources, assay, f"topksoftmax/{path}", kernel, grid, (256, 1, 1), slots)
        x = logits.astype(np.float64)
        chosen = found["slot0"]
        ordered = np.sort(x, axis=-1)[:, ::-1][:, :k]
        # Whichever of equal ones it takes: the values are those of the k largest, in order.
        yield np.take_along_axis(x, chosen.astype(np.int64), -1), Real(ordered)
        yield np.array([len(set(row)) for row in chosen]), Real(np.full(tokens, k))
        p = softmax(wide(logits))
        top = Real(np.take_along_axis(p.value, chosen.astype(np.int64), -1), np.take_along_axis(p.error, chosen.astype(np.int64), -1))
        yield found["slot1"], top / top.sum(-1)

    return run


def _register_top_k():
    # The names say tokens per group, experts, k; the table in the repository has the symbols.
    for per_group, experts, k in [(4, 128, 4), (4, 128, 6), (4, 128, 8), (4, 256, 6), (4, 256, 8), (4, 384, 8), (4, 640, 8),
                                  (12, 128, 4), (12, 128, 6), (12, 128, 8), (12, 256, 6), (12, 256, 8)]:
        for dtype, suffix in ((F32, ""), (BF16, "_bf16")):
            stem = f"topksoftmax_{per_group}x{experts}x{k}{suffix}"
            kernel = f"_ZN5aiter{len(stem)}{stem}E"
            run = _top_k(2 * per_group + 1, experts, k, dtype, f"{stem}.co", kernel, per_group)
            case("aiter", f"top-k softmax, {experts} experts, k {k}, {per_group} rows{suffix.replace('_', ', ')}")(run)


_register_top_k()


def shuffle(weight):
    """The order of weights for the matrix unit: tiles of 16 rows and 32 bytes, 16 bytes of each row at a time."""
    lanes = 16 // weight.dtype.itemsize
    n, k = weight.shape[-2:]
    depth = 32 if weight.dtype.itemsize == 1 else 32
    tiles = weight.reshape(-1, n // 16, 16, k // depth, depth // lanes, lanes)
    return np.ascontiguousarray(tiles.transpose(0, 1, 3, 4, 2, 5)).reshape(weight.shape)


def _bf16_gemm(path, rows, shuffled, shape, bias=False):
    def run(sources, assay, rng):
        m, n, k = shape
        a, b = normal(rng, m, k, dtype=BF16), normal(rng, n, k, dtype=BF16)
        offset = normal(rng, n, dtype=BF16)
        stem = path.removesuffix(".co")
        slots = [Out((m, n), BF16), 0, a, shuffle(b) if shuffled else b, 1.0, 0.0, n * 2, 0, n * 2, 0, k * 2, 0, k * 2, 0, m, n, k,
                 1, 1, offset if bias else 0, int(bias), 0]
        found = launch(sources, assay, f"bf16gemm/{path}", f"_ZN5aiter{len(stem)}{stem}E", (-(-n // 64), -(-m // rows), 1),
                       (256, 1, 1), slots)
        want = wide(a) @ wide(b).T
        yield found["slot0"], (want + wide(offset) if bias else want).cast(BF16)

    return run


for _rows in (32, 48, 64, 96):
    _stem = f"bf16gemm_fp32bf16_tn_{_rows}x64_pf3_splitk.co"
    case("aiter", f"bf16 GEMM, tiles of {_rows} x 64")(_bf16_gemm(_stem, _rows, False, (_rows + 5, 128, 192)))
for _rows in (32, 64, 128, 160):
    _stem = f"bf16gemm_fp32bf16_tn_{_rows}x64_bshuffle_splitk.co"
    case("aiter", f"bf16 GEMM, shuffled weights, {_rows} x 64")(_bf16_gemm(_stem, _rows, True, (_rows, 64, 128), bias=_rows == 64))


def _fp8_gemm(rows):
    def run(sources, assay, rng):
        m, n, k = rows + 3, 256, 384
        a, b = normal(rng, m, k, dtype=FP8), normal(rng, n, k, dtype=FP8)
        a_scale, b_scale = rng.random((m, k // 128), F32), rng.random((n // 128, k // 128), F32)
        stem = f"fp8gemm_bf16_blockscale_BpreShuffle_{rows}x128"
        slots = [InOut(np.zeros((m, n), BF16)), a, shuffle(b), np.ascontiguousarray(a_scale.T), b_scale, np.zeros(n, F32), m, n, k, k, k, n * 2, 1,
                 m, n // 128, k // 128]
        found = launch(sources, assay, f"fp8gemm_blockscale/{stem}.co", f"_ZN5aiter{len(stem)}{stem}E",
                       (n // 128, -(-m // rows), 1), (256, 1, 1), slots)
        total = real(np.zeros((m, n)))
        for block in range(k // 128):
            columns = slice(128 * block, 128 * block + 128)
            scale = wide(a_scale[:, block : block + 1]) * wide(np.repeat(b_scale[:, block], 128))
            total = total + (wide(a[:, columns]) @ wide(b[:, columns]).T) * scale
        # The kernel drops the low half of the f32 instead of rounding it.
        yield found["slot0"], total.rounded(2.0**-7, 2.0**-133)

    return run


for _rows in (32, 48, 64, 128):
    case("aiter", f"fp8 GEMM, scaled by blocks, {_rows} x 128")(_fp8_gemm(_rows))


def _paged_attention(stem, group, dtype, cache):
    def run(sources, assay, rng):
        sequences, kv_heads, size, page = 2, 2, 128, 16
        lengths = np.array([37, 90], np.int32)
        pages = [-(-int(length) // page) for length in lengths]
        blocks = sum(pages) + 3
        table = np.zeros((sequences, max(pages)), np.int32)
        order = rng.permutation(blocks)
        for row, count in enumerate(pages):
            table[row, :count] = order[sum(pages[:row]) :][:count]
        q = normal(rng, sequences, kv_heads * group, size, dtype=dtype)
        k = normal(rng, blocks, kv_heads, page, size, dtype=cache)
        v = normal(rng, blocks, kv_heads, page, size, dtype=cache)
        lanes = 16 // k.dtype.itemsize
        k_cache = np.ascontiguousarray(k.reshape(blocks, kv_heads, page, size // lanes, lanes).transpose(0, 1, 3, 2, 4))
        v_cache = np.ascontiguousarray(v.reshape(blocks, kv_heads, page // lanes, lanes, size).transpose(0, 1, 2, 4, 3))
        head = page * size * k.dtype.itemsize
        scale = float(np.float32(math.log2(math.e) / math.sqrt(size)))
        quantised = k.dtype.itemsize == 1
        k_scale = rng.uniform(0.5, 1, (blocks, kv_heads, page)).astype(F32)
        v_scale = rng.uniform(0.5, 1, (blocks, kv_heads, page)).astype(F32)
        if quantised:
            # One scale for each token of a head; the kernel looks them up by head, then by token.
            scales = [np.ascontiguousarray(s.transpose(1, 0, 2)) for s in (k_scale, v_scale)]
        else:
            scales = [0, 0]
        slots = [Out(q.shape, dtype), q, k_cache, v_cache, table, lengths, *scales, scale, table.shape[1], kv_heads,
                 kv_heads * group * size * q.dtype.itemsize, kv_heads * head, head, 0, group, 0]
        found = launch(sources, assay, f"pa/{stem}.co", f"_ZN5aiter{len(stem)}{stem}E", (kv_heads, sequences, 1), (256, 1, 1), slots)
        for row, length in enumerate(lengths):
            keys, values = ([x[b, :, :] for b in table[row, : pages[row]]] for x in (k, v))
            for head_index in range(kv_heads):
                take = lambda parts: wide(np.concatenate([p[head_index] for p in parts])[:length])
                gk, gv = take(keys), take(values)
                if quantised:
                    per = lambda s: wide(np.concatenate([s[b, head_index] for b in table[row, : pages[row]]])[:length])[:, None]
                    gk, gv = gk * per(k_scale), gv * per(v_scale)
                queries = wide(q[row, head_index * group : (head_index + 1) * group])
                scores = (queries @ gk.T) * (1 / math.sqrt(size))
                weights = softmax(scores)
                # The weights are rounded to the type of the second product before they are divided by their sum.
                weights = Real(weights.value, weights.error + 2.0**-8 * weights.value * 2)
                out = (weights @ gv).cast(dtype)
                yield found["slot0"][row, head_index * group : (head_index + 1) * group], out

    return run


for _stem, _group, _dtype, _cache in [
    ("pa_bf16_noquant_gqa8_1tg_4w", 8, BF16, BF16),
    ("pa_bf16_noquant_gqa16_1tg_4w", 16, BF16, BF16),
]:
    case("aiter", f"paged attention, {_stem.removeprefix('pa_')}")(_paged_attention(_stem, _group, _dtype, _cache))


def _sorted_tokens(chosen, weight, experts, tile):
    """Tokens by expert, in tiles: token and its rank, weight, and the expert of each tile."""
    tokens, k = chosen.shape
    ids, weights, owners = [], [], []
    for expert in range(experts):
        pairs = [(t, j) for t in range(tokens) for j in range(k) if chosen[t, j] == expert]
        for begin in range(0, len(pairs), tile):
            part = pairs[begin : begin + tile]
            ids += [t | j << 24 for t, j in part] + [tokens | k << 24] * (tile - len(part))
            weights += [weight[t, j] for t, j in part] + [0.0] * (tile - len(part))
            owners.append(expert)
    return np.array(ids, np.int32), np.array(weights, F32), np.array(owners, np.int32)


def _fused_moe(stem, inner):
    """Experts in fp8 with one scale for each token and each row of weights; SiLU of the gate times the other half."""

    def run(sources, assay, rng):
        tokens, experts, k, size, tile = 5, 3, 2, 512, 32
        x, x_scale = normal(rng, tokens, size, dtype=FP8), rng.uniform(0.5, 1, tokens).astype(F32)
        up = normal(rng, experts, 2 * inner, size, dtype=FP8)
        up_scale = (rng.uniform(0.5, 1, (experts, 2 * inner)) / size**0.5).astype(F32)
        down = normal(rng, experts, size, inner, dtype=FP8)
        down_scale = (rng.uniform(0.5, 1, (experts, size)) / inner**0.5).astype(F32)
        chosen = np.array([rng.permutation(experts)[:k] for _ in range(tokens)])
        weight = rng.random((tokens, k), F32)
        ids, weights, owners = _sorted_tokens(chosen, weight, experts, tile)
        slots = [InOut(np.zeros((tokens, size), BF16)), x, shuffle(up), np.array([len(ids), tokens], np.int32), shuffle(down), x_scale,
                 up_scale, down_scale, 0, ids, weights, owners, size, inner, tokens, experts, size, size, inner, size * 2,
                 2 * size * inner, size * inner, 2 * inner * 4, size * 4, inner * 4, k, 0, 1]
        found = launch(sources, assay, f"fmoe/silu/{stem}.co", f"_ZN5aiter{len(stem)}{stem}E", (1, len(owners), 1), (256, 1, 1), slots)
        for token in range(tokens):
            total = real(np.zeros((1, size)))
            for j in range(k):
                expert = chosen[token, j]
                rows = (wide(x[token : token + 1]) @ wide(up[expert]).T) * wide(x_scale[token]) * wide(up_scale[expert])
                gate, other = rows[:, :inner], rows[:, inner:]
                hidden = gate * sigmoid(gate) * other
                # Quantised to fp8 again, by the largest of the token: 240 is the largest number of the format.
                step = np.abs(hidden.value).max() / 240 * 1.01
                hidden = hidden.rounded(2.0**-4, step * 2.0**-10)
                part = (hidden @ wide(down[expert]).T) * wide(down_scale[expert]) * wide(weight[token, j])
                total = (total + part.cast(BF16)).cast(BF16)
            yield found["slot0"][token : token + 1], total

    return run


for _stem, _inner in [
    ("fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x320", 320),
    ("fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x192", 192),
    ("fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256", 256),
]:
    case("aiter", f"fused MoE, {_stem.removeprefix('fmoe_')}")(_fused_moe(_stem, _inner))
