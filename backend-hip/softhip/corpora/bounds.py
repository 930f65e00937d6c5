"""Numbers that carry the bound of their error: what a kernel may compute instead of the exact value.

A reference is written once, in f64, with these numbers. Each operation adds what one rounding of the kernel's own type can
add, and carries on what its operands had (a running error analysis, Higham, "Accuracy and Stability of Numerical Algorithms",
3.3). The order of a sum does not matter, nor does contraction into fused operations: both stay below the bound.
"""

import numpy as np

# Unit roundoff and the smallest subnormal of the types that kernels round to.
UNITS = {
    "float32": (2.0**-24, 2.0**-149),
    "float16": (2.0**-11, 2.0**-24),
    "bfloat16": (2.0**-8, 2.0**-133),
    "float8_e4m3fnuz": (2.0**-4, 2.0**-10),
    "float8_e5m2fnuz": (2.0**-3, 2.0**-17),
    "float64": (2.0**-53, 2.0**-1074),
}
F32, TINY = UNITS["float32"]


def gamma(n, unit=F32):
    """The error of n roundings in a row."""
    return n * unit / (1 - n * unit)


class Real:
    """Exact values, and how far the kernel's may be from them."""

    # numpy leaves operations with arrays to this class.
    __array_ufunc__ = None

    def __init__(self, value, error=0.0):
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)

    def rounded(self, unit=F32, tiny=TINY):
        """After one rounding."""
        return Real(self.value, self.error + unit * (np.abs(self.value) + self.error) + tiny)

    def cast(self, dtype):
        """Rounded to a type."""
        return self.rounded(*UNITS[np.dtype(dtype).name])

    def __add__(self, other):
        other = real(other)
        return Real(self.value + other.value, self.error + other.error).rounded()

    __radd__ = __add__

    def __neg__(self):
        return Real(-self.value, self.error)

    def __sub__(self, other):
        return self + -real(other)

    def __rsub__(self, other):
        return real(other) + -self

    def __mul__(self, other):
        other = real(other)
        error = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return Real(self.value * other.value, error).rounded()

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self * real(other).reciprocal()

    def __rtruediv__(self, other):
        return real(other) / self

    def reciprocal(self):
        # 2.5 units for the quotient of a fast division.
        least = np.abs(self.value) - self.error
        error = np.where(least > 0, self.error / (np.abs(self.value) * np.maximum(least, 1e-300)), np.inf)
        return Real(1 / self.value, error + 2.5 * F32 / np.abs(self.value))

    def __getitem__(self, key):
        return Real(self.value[key], self.error[key])

    def reshape(self, *shape):
        return Real(self.value.reshape(*shape), self.error.reshape(*shape))

    @property
    def T(self):
        return Real(self.value.T, self.error.T)

    @property
    def shape(self):
        return self.value.shape

    def sum(self, axis=None, keepdims=True, unit=F32):
        n = self.value.size if axis is None else self.value.shape[axis]
        total = self.value.sum(axis, keepdims=keepdims)
        error = self.error.sum(axis, keepdims=keepdims)
        spread = (np.abs(self.value) + self.error).sum(axis, keepdims=keepdims)
        return Real(total, error + gamma(n, unit) * spread + TINY * n)

    def cumsum(self, axis):
        n = self.value.shape[axis]
        spread = (np.abs(self.value) + self.error).cumsum(axis)
        return Real(self.value.cumsum(axis), self.error.cumsum(axis) + gamma(n) * spread + TINY * n)

    def mean(self, axis=None, keepdims=True):
        n = self.value.size if axis is None else self.value.shape[axis]
        return self.sum(axis, keepdims) / n

    def max(self, axis=None, keepdims=True):
        return Real(self.value.max(axis, keepdims=keepdims), self.error.max(axis, keepdims=keepdims))

    def __matmul__(self, other):
        """Products are exact in f32 or rounded once; sums in f32."""
        other = real(other)
        n = self.value.shape[-1]
        a, b = np.abs(self.value), np.abs(other.value)
        error = a @ other.error + self.error @ b + self.error @ other.error
        # One more for the product's own rounding, and the matrix unit's sums of products truncate: two units each.
        spread = gamma(2 * n + 2) * ((a + self.error) @ (b + other.error))
        return Real(self.value @ other.value, error + spread + TINY * n)


def real(value):
    return value if isinstance(value, Real) else Real(value)


def _carry(value, exact, slope):
    """`exact` of the values; `slope` bounds the derivative around them."""
    return Real(exact, slope * value.error)


def exp(x):
    """2 to the power of x times log2 e: the product's rounding, at most |x| units, and the result's."""
    x = real(x)
    value = np.exp(x.value)
    relative = np.expm1(np.minimum(x.error, 700)) + (2 * np.abs(x.value) + 4) * F32
    return Real(value, value * relative + 2.0**-126)


def log(x):
    x = real(x)
    value = np.log(x.value)
    return Real(value, x.error / np.maximum(x.value - x.error, 1e-300) + 4 * F32 * np.abs(value) + 2 * F32)


def tanh(x):
    """By exponentials: a few units of 1."""
    x = real(x)
    return Real(np.tanh(x.value), x.error + 8 * F32)


def sigmoid(x):
    return 1.0 / (1.0 + exp(-real(x)))


def erf(x):
    import math

    x = real(x)
    return Real(np.vectorize(math.erf)(x.value), 1.13 * x.error + 8 * F32)


def sqrt(x):
    x = real(x)
    value = np.sqrt(x.value)
    least = np.sqrt(np.maximum(x.value - x.error, 0))
    return Real(value, x.error / np.maximum(value + least, 1e-300)).rounded(2 * F32)


def rsqrt(x):
    return (1.0 / sqrt(x)).rounded(2 * F32)


def cos(x):
    x = real(x)
    return Real(np.cos(x.value), x.error + 4 * F32)


def sin(x):
    x = real(x)
    return Real(np.sin(x.value), x.error + 4 * F32)


def where(mask, a, b):
    a, b = real(a), real(b)
    return Real(np.where(mask, a.value, b.value), np.where(mask, a.error, b.error))


def maximum(a, b):
    a, b = real(a), real(b)
    return Real(np.maximum(a.value, b.value), np.maximum(a.error, b.error))


def absolute(a):
    return Real(np.abs(a.value), a.error)


def softmax(x, axis=-1):
    e = exp(x - x.max(axis))
    return e / e.sum(axis)


def share(found, want):
    """The largest error as a share of its bound; infinite where a value is no number, or wrong without a bound."""
    want = real(want)
    found = np.asarray(found).astype(np.float64)
    if found.shape != want.value.shape:
        raise ValueError(f"shape {found.shape} instead of {want.value.shape}")
    error = np.abs(found - want.value)
    error = np.where(found == want.value, 0.0, error)
    parts = np.divide(error, want.error, out=np.where(error == 0, 0.0, np.inf), where=want.error > 0)
    parts = np.where(np.isnan(parts), np.inf, parts)
    return float(parts.max(initial=0.0))
