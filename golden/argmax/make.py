"""Makes golden/argmax/argmax.safetensors with numpy's argmax, which finds the first of equals; NaN is taken out first, for numpy
puts it on top.

Run from the top of the repository: PYTHONPATH=golden python golden/argmax/make.py
"""

import numpy as np
from capsule import Case, Floats, write

SEED = 20_013


def argmax(x):
    """Over the numbers of each row; 0 where there are none."""
    found = []
    for row in x:
        numbers = np.flatnonzero(~np.isnan(row))
        found.append(numbers[np.argmax(row[numbers])] if len(numbers) else 0)
    return np.array(found, np.uint32)


def case(name, x):
    x = np.array(x, np.float32)
    return Case(f"{name},rows={x.shape[0]},n={x.shape[1]}", "argmax").input("x", x).output("out", argmax(x), dtype="u32")


def cases(rng):
    for rows, n in [(1, 1), (3, 2), (2, 31), (5, 64), (4, 65), (2, 1000), (1, 4099)]:
        yield case("gaussian", rng.standard_normal((rows, n)))
        yield case("few distinct values", rng.integers(-2, 3, (rows, n)))
    nan, inf = np.nan, np.inf
    yield case("zeros of both signs", [[-0.0, 0.0, -0.0], [0.0, -0.0, 0.0], [-1.0, -0.0, 0.0]])
    yield case("infinities", [[-inf, -inf, -inf], [1, inf, inf], [-inf, -3e38, -inf]])
    yield case("nan", [[nan, nan, nan], [nan, -inf, nan], [3, nan, 4], [nan, 5, 5]])
    yield case("subnormals", [[1e-45, 2e-45, 0], [-1e-45, -2e-45, -3e-45], [0, 1e-45, 1e-45]])
    largest_last, largest_first = np.arange(257)[None], np.arange(257)[None, ::-1]
    yield case("sorted", np.concatenate([largest_last, largest_first]))
    negative_nan = np.array([[0xFFC00000, 0xFF800000], [0x7FC00000, 0xFFC00000]], np.uint32).view(np.float32)
    yield case("nan of either sign", negative_nan)
    # Greater numbers stand in the padding.
    x = np.concatenate([rng.standard_normal((3, 8)), np.full((3, 8), 9.0)], axis=1).astype(np.float32)
    strided = Case("padded,rows=3,n=8", "argmax").input("x", x, shape=(3, 8), strides=(16, 1))
    yield strided.output("out", argmax(x[:, :8]), dtype="u32")
    for dtype in ["f16", "bf16"]:  # rounding makes ties
        x = Floats(rng.standard_normal((4, 1000)), dtype)
        yield Case(dtype, "argmax").floats("x", x).output("out", argmax(x.values), dtype="u32")


write("golden/argmax/argmax.safetensors", SEED, list(cases(np.random.default_rng(SEED))))
