"""Makes golden/rope/rope.safetensors with numpy in extended precision.

Run from the top of the repository: PYTHONPATH=golden python golden/rope/make.py
"""

import numpy as np
from capsule import SHORT, Case, Floats, write

SEED = 20_004
REAL, COMPLEX = np.longdouble, np.clongdouble
TAU = REAL("6.283185307179586476925286766559")


def frequencies(n_rot, base, factors, scaling):
    """Angles per position, and the magnitude of the rotation."""
    pairs = np.arange(n_rot // 2, dtype=REAL)
    turning = np.exp(-2 * pairs / n_rot * np.log(REAL(base)))
    if factors is not None:
        turning /= factors.astype(REAL)
    if scaling == "none":
        return turning, REAL(1)
    ((kind, form),) = scaling.items()
    slow = turning / REAL(form["factor"])
    if kind == "linear":
        return slow, REAL(1)
    context = REAL(form["original_context"])
    # The pair whose wavelength fits `turns` times into the original context.
    pair_of = lambda turns: n_rot * np.log(context / (REAL(turns) * TAU)) / (2 * np.log(REAL(base)))
    low = max(np.floor(pair_of(form["beta_fast"])), 0)
    high = min(np.ceil(pair_of(form["beta_slow"])), n_rot - 1)
    share_kept = REAL(form["extrapolation"]) * np.where(
        pairs <= low, 1, np.where(pairs >= high, 0, (high - pairs) / max(high - low, REAL("0.001")))
    )
    grows = np.log(REAL(form["factor"])) / 10 if form["extrapolation"] else 0
    return slow + (turning - slow) * share_kept, REAL(form["attention"]) * (1 + grows)


def rope(x, positions, pairing, n_rot, base, factors, scaling):
    """By complex multiplication."""
    turning, magnitude = frequencies(n_rot, base, factors, scaling)
    angle = np.asarray(positions, dtype=REAL)[:, None, None] * turning
    rotation = magnitude * (np.cos(angle) + 1j * np.sin(angle)).astype(COMPLEX)
    first, second = {
        "interleaved": (slice(0, n_rot, 2), slice(1, n_rot, 2)),
        "neox": (slice(0, n_rot // 2), slice(n_rot // 2, n_rot)),
    }[pairing]
    y = x.astype(REAL)
    turned = (y[..., first] + 1j * y[..., second]) * rotation
    y[..., first], y[..., second] = turned.real, turned.imag
    return y


def case(rng, name, positions, heads=2, head_dim=16, n_rot=None, pairing="interleaved", base=1e4, factors=None, scaling="none", in_place=False, types=("f32", "f32")):
    n_rot, base = n_rot or head_dim, float(np.float32(base))
    held = Floats(rng.standard_normal((len(positions), heads, head_dim)), types[0])
    x = held.values
    made = Case(f"{name},{pairing}", "rope", pairing=pairing, n_rot=n_rot, base=base, scaling=scaling, max_positions=1 << 20)
    if not in_place:
        made.floats("x", held)
    made.indices("positions", positions)
    if factors is not None:
        factors = np.asarray(factors, dtype=np.float32)
        made.input("factors", factors)
    return made.output("out", rope(x, positions, pairing, n_rot, base, factors, scaling), before=x if in_place else None, dtype=types[1])


def yarn(factor, context, beta_fast=32.0, beta_slow=1.0, extrapolation=1.0, attention=1.0):
    single = lambda value: float(np.float32(value))
    return {
        "yarn": {
            "factor": single(factor),
            "original_context": context,
            "beta_fast": single(beta_fast),
            "beta_slow": single(beta_slow),
            "extrapolation": single(extrapolation),
            "attention": single(attention),
        }
    }


def llama3(n_rot, base, factor=8.0, low=1.0, high=4.0, context=8192):
    """The factors that converted Llama 3 models carry."""
    wavelength = 2 * np.pi * base ** (2 * np.arange(n_rot // 2) / n_rot)
    smooth = (context / wavelength - low) / (high - low)
    between = 1 / ((1 - smooth) / factor + smooth)
    return np.where(wavelength < context / high, 1, np.where(wavelength > context / low, factor, between))


def cases(rng):
    far = [0, 1, 7, 4095, 131_071, 1_048_575]
    for pairing in ["interleaved", "neox"]:
        yield case(rng, "smallest", [0, 5], head_dim=2, pairing=pairing)
        yield case(rng, "positions", far, head_dim=64, pairing=pairing)
        yield case(rng, "partial", [3, 1000], head_dim=20, n_rot=12, pairing=pairing)
        yield case(rng, "linear", [9, 20_000], scaling={"linear": {"factor": 4.0}}, pairing=pairing)
        yield case(rng, "yarn", [11, 70_000], head_dim=64, scaling=yarn(16, 4096), pairing=pairing)
        yield case(rng, "llama3", [2, 100_000], head_dim=64, base=5e5, factors=llama3(64, 5e5), pairing=pairing)
        yield case(rng, "in place", [6, 6], heads=3, n_rot=6, pairing=pairing, in_place=True)
    yield case(rng, "base=1e6", far, heads=1, head_dim=128, base=1e6, pairing="neox")
    yield case(rng, "base=0.5", [3, 17], base=0.5)
    yield case(rng, "yarn half", [33, 9000], head_dim=32, scaling=yarn(4, 2048, 16, 2, 0.5, 1.25))
    yield case(rng, "yarn off", [33, 9000], head_dim=32, scaling=yarn(4, 2048, extrapolation=0.0, attention=0.75))
    yield case(rng, "yarn step", [33, 9000], head_dim=32, scaling=yarn(4, 2048, 1, 32))
    yield case(rng, "yarn shrinks", [33, 900], head_dim=32, scaling=yarn(0.25, 2048))
    yield case(rng, "yarn with factors", [5, 9000], head_dim=32, factors=rng.uniform(0.5, 9, 16), scaling=yarn(8, 1024), pairing="neox")
    yield case(rng, "negative factors", [5, 400], head_dim=8, factors=[1, -2, 3, np.inf])
    for types in SHORT:
        yield case(rng, ",".join(types[:2]), far, head_dim=64, types=types)


write("golden/rope/rope.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
