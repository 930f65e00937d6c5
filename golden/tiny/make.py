"""Makes the tiny models of golden/tiny and what they should answer.

    python3.11 -m venv venv && venv/bin/pip install gguf==0.19.0 numpy==2.4.6 safetensors
    PYTHONPATH=golden venv/bin/python golden/tiny/make.py

Four models with random weights, small enough to run in a test, together with a byte-level BPE vocabulary that was trained
on the sentences below:

    llama    f16, grouped queries, tied embeddings, head length apart from the width
    mixed    llama with another format for each of its 16 matrices, rope factors, linear scaling, an output matrix
    qwen2    q8_0, biases, NeoX pairs, YaRN, an output matrix
    qwen3    q8_0, norms on q and k, tied embeddings

<name>.safetensors holds what <name>.gguf gives: `ids`, the f64 `logits` after each of them, and the `greedy` continuation.
The forward pass is numpy in float64 on the weights as the package gguf decodes them; nothing in between is rounded.
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import cycle

import numpy as np
from blocks import FORMATS, tensor
from capsule import stable
from gguf import GGUFWriter, RopeScalingType, TokenType
from gguf.constants import GGMLQuantizationType as Type
from safetensors.numpy import save

SEED = 41
HERE = "golden/tiny"
TEXT = (
    "the quick brown fox jumps over the lazy dog. the cat sat on the mat, and the dog sat on the cat. "
    "one two three four five; what is the answer to the question? there is no answer, there is only the question. "
)
MERGES = 40
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
PROMPT, STEPS = 24, 16
# Greedy steps whose best two logits are closer than this would make the expected tokens a matter of rounding.
MARGIN = 1e-3


@dataclass
class Model:
    arch: str
    n_embd: int
    n_ff: int
    n_head: int
    n_kv_head: int
    head_dim: int = 32
    n_layer: int = 2
    eps: float = 1e-5
    base: float = 10000.0
    neox: bool = False
    linear: float | None = None
    yarn: tuple | None = None  # factor, original context
    weights: dict = field(default_factory=dict)  # name -> float64
    stored: list = field(default_factory=list)  # name, bytes, type


def vocabulary():
    """Byte-level tokens, then merges learnt from TEXT, then special tokens."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in printable]
    letter = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    tokens, merges = [letter[b] for b in range(256)], []
    words = ["".join(letter[b] for b in (" " * (i > 0) + w).encode()) for i, w in enumerate(TEXT.split())]
    words = [list(word) for word in words]
    for _ in range(MERGES):
        pairs = Counter(pair for word in words for pair in zip(word, word[1:]))
        (a, b), _ = min(pairs.items(), key=lambda item: (-item[1], item[0]))
        merges.append(f"{a} {b}")
        tokens.append(a + b)
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == (a, b):
                    word[at : at + 2] = [a + b]
                at += 1
    return tokens, merges


def random_weights(model, vocab, formats, rng):
    """Fills the model; the matrices have the `formats` in turn."""
    m = model
    formats = cycle(formats)

    def matrix(name, rows, columns, spread):
        dtype = next(formats)
        raw, values = tensor(rng, dtype, rows, columns, spread)
        m.weights[name] = values.astype(np.float64)
        m.stored.append((name, raw, FORMATS[dtype]))

    def vector(name, values):
        values = values.astype(np.float32)
        m.weights[name] = values.astype(np.float64)
        m.stored.append((name, values, Type.F32))

    def norm(name, size):
        vector(name, rng.uniform(0.5, 1.5, size))

    q, kv = m.n_head * m.head_dim, m.n_kv_head * m.head_dim
    matrix("token_embd.weight", vocab, m.n_embd, 0.2)
    for layer in range(m.n_layer):
        blk = f"blk.{layer}."
        norm(blk + "attn_norm.weight", m.n_embd)
        # Sharp enough for attention to prefer some positions.
        for name, rows, spread in [("q", q, 1.5), ("k", kv, 1.5), ("v", kv, 1.0)]:
            matrix(f"{blk}attn_{name}.weight", rows, m.n_embd, spread / np.sqrt(m.n_embd))
            if m.arch == "qwen2":
                vector(f"{blk}attn_{name}.bias", rng.standard_normal(rows) * 0.3)
        if m.arch == "qwen3":
            norm(blk + "attn_q_norm.weight", m.head_dim)
            norm(blk + "attn_k_norm.weight", m.head_dim)
        matrix(blk + "attn_output.weight", m.n_embd, q, 4 / np.sqrt(q))
        norm(blk + "ffn_norm.weight", m.n_embd)
        matrix(blk + "ffn_gate.weight", m.n_ff, m.n_embd, 1 / np.sqrt(m.n_embd))
        matrix(blk + "ffn_up.weight", m.n_ff, m.n_embd, 1 / np.sqrt(m.n_embd))
        matrix(blk + "ffn_down.weight", m.n_embd, m.n_ff, 4 / np.sqrt(m.n_ff))
    norm("output_norm.weight", m.n_embd)
    if m.linear:
        vector("rope_freqs.weight", rng.uniform(1.0, 8.0, m.head_dim // 2))
    if m.arch == "qwen2" or m.linear:
        matrix("output.weight", vocab, m.n_embd, 1 / np.sqrt(m.n_embd))


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float64(np.float32(eps))) * weight


def rotate(m, x):
    """RoPE of `[positions, heads, head_dim]`, in the formulas of the papers."""
    n, d = x.shape[0], m.head_dim
    pair = np.arange(d // 2)
    angle = np.arange(n)[:, None] * np.float64(np.float32(m.base)) ** (-2.0 * pair / d)
    angle = angle / m.weights.get("rope_freqs.weight", 1.0)
    magnitude = 1.0
    if m.linear:
        angle = angle / m.linear
    if m.yarn:
        factor, context = m.yarn
        turns = lambda beta: d * np.log(context / (beta * 2 * np.pi)) / (2 * np.log(m.base))
        low, high = max(np.floor(turns(32.0)), 0), min(np.ceil(turns(1.0)), d - 1)
        keep = 1 - np.clip((pair - low) / max(high - low, 0.001), 0, 1)
        angle = angle / factor * (1 - keep) + angle * keep
        magnitude = 1 + 0.1 * np.log(factor)
    cos, sin = np.cos(angle)[:, None] * magnitude, np.sin(angle)[:, None] * magnitude
    out = np.empty_like(x)
    first, second = (slice(0, d // 2), slice(d // 2, d)) if m.neox else (slice(0, d, 2), slice(1, d, 2))
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def forward(m, ids):
    """Logits after each of `ids`."""
    w, n = m.weights, len(ids)
    x = w["token_embd.weight"][ids]
    causal = np.triu(np.full((n, n), -np.inf), 1)
    for layer in range(m.n_layer):
        blk = lambda name: w[f"blk.{layer}.{name}"]
        bias = lambda name: w.get(f"blk.{layer}.attn_{name}.bias", 0.0)
        h = rms_norm(x, blk("attn_norm.weight"), m.eps)
        q = (h @ blk("attn_q.weight").T + bias("q")).reshape(n, m.n_head, m.head_dim)
        k = (h @ blk("attn_k.weight").T + bias("k")).reshape(n, m.n_kv_head, m.head_dim)
        v = (h @ blk("attn_v.weight").T + bias("v")).reshape(n, m.n_kv_head, m.head_dim)
        if m.arch == "qwen3":
            q = rms_norm(q, blk("attn_q_norm.weight"), m.eps)
            k = rms_norm(k, blk("attn_k_norm.weight"), m.eps)
        q, k = rotate(m, q), rotate(m, k)
        out = np.empty_like(q)
        for head in range(m.n_head):
            group = head // (m.n_head // m.n_kv_head)
            scores = q[:, head] @ k[:, group].T / np.sqrt(m.head_dim) + causal
            p = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[:, head] = p / p.sum(axis=-1, keepdims=True) @ v[:, group]
        x = x + out.reshape(n, -1) @ blk("attn_output.weight").T
        h = rms_norm(x, blk("ffn_norm.weight"), m.eps)
        gate = h @ blk("ffn_gate.weight").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ blk("ffn_up.weight").T)) @ blk("ffn_down.weight").T
    return rms_norm(x, w["output_norm.weight"], m.eps) @ w.get("output.weight", w["token_embd.weight"]).T


def expected(m, vocab, rng):
    """Ids, the logits after each, and the greedy continuation."""
    ids = list(rng.integers(0, vocab, PROMPT))
    logits, greedy = forward(m, ids), []
    for _ in range(STEPS):
        last = forward(m, ids + greedy)[-1]
        second, best = np.sort(last)[-2:]
        assert best - second > MARGIN, f"{m.arch}: a near-tie, {best - second}; choose another seed"
        greedy.append(int(last.argmax()))
    return {"ids": np.array(ids, np.uint32), "logits": logits, "greedy": np.array(greedy, np.uint32)}


def write_gguf(name, m, tokens, merges):
    writer = GGUFWriter(f"{HERE}/{name}.gguf", m.arch)
    writer.add_name(f"tiny {name}")
    writer.add_context_length(256)
    writer.add_block_count(m.n_layer)
    writer.add_embedding_length(m.n_embd)
    writer.add_feed_forward_length(m.n_ff)
    writer.add_head_count(m.n_head)
    writer.add_head_count_kv(m.n_kv_head)
    writer.add_key_length(m.head_dim)
    writer.add_value_length(m.head_dim)
    writer.add_layer_norm_rms_eps(m.eps)
    writer.add_rope_freq_base(m.base)
    writer.add_vocab_size(len(tokens))
    if m.linear or m.yarn:
        writer.add_rope_scaling_type(RopeScalingType("linear" if m.linear else "yarn"))
        writer.add_rope_scaling_factor(m.linear or m.yarn[0])
    if m.yarn:
        writer.add_rope_scaling_orig_ctx_len(m.yarn[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * (len(tokens) - len(SPECIALS)) + [TokenType.CONTROL] * len(SPECIALS))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(tokens) - 3)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for tensor_name, raw, qtype in m.stored:
        if raw.dtype == np.uint8:
            writer.add_tensor(tensor_name, raw, raw_shape=raw.shape, raw_dtype=qtype)
        else:
            writer.add_tensor(tensor_name, raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


MODELS = {
    "llama": (Model("llama", 64, 96, 4, 2), ["f16"]),
    "mixed": (
        Model("llama", 256, 256, 8, 2, base=500000.0, linear=2.0),
        "q6_k q4_0 f32 f16 q4_1 q5_0 q5_1 q2_k q3_k q8_0 iq4_xs q4_k q5_k iq4_nl mxfp4 bf16".split(),
    ),
    "qwen2": (Model("qwen2", 64, 96, 4, 2, base=1000000.0, eps=1e-6, neox=True, yarn=(4.0, 64)), ["q8_0"]),
    "qwen3": (Model("qwen3", 64, 96, 4, 2, base=1000000.0, eps=1e-6, neox=True), ["q8_0"]),
}


def main():
    tokens, merges = vocabulary()
    tokens += SPECIALS
    used = ", ".join(f"{package} {version(package)}" for package in ["gguf", "numpy", "safetensors"])
    python = ".".join(map(str, sys.version_info[:3]))
    for name, (model, formats) in MODELS.items():
        rng = np.random.default_rng([SEED, *name.encode()])
        random_weights(model, len(tokens), formats, rng)
        write_gguf(name, model, tokens, merges)
        answers = expected(model, len(tokens), rng)
        metadata = {"generator": f"golden/tiny/make.py: {used}, Python {python}, seed {SEED}"}
        with open(f"{HERE}/{name}.safetensors", "wb") as file:
            file.write(stable(save(answers, metadata)))
        print(name, np.abs(answers["logits"]).max(), answers["greedy"])


main()
