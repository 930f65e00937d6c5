"""Writes cases in the capsule format (see conformance/forensics/src/capsule/mod.rs) for the generators in golden/<op>/make.py.

Deterministic: the same cases give the same bytes. Needs numpy and safetensors only.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import safetensors
from safetensors.numpy import save

DTYPES = {"float32": "f32", "float16": "f16", "uint32": "u32"}

# Types of an op's floats, for as many as it has: all of one type, and each of another.
SHORT = [("f16",) * 4, ("bf16",) * 4, ("f16", "bf16", "f32", "bf16"), ("f32", "f16", "bf16", "f16")]


class Floats:
    """Numbers rounded to f32, f16 or bf16, to nearest and ties to even: `raw` as they are stored, `values` in float32."""

    def __init__(self, numbers, dtype):
        numbers = np.ascontiguousarray(numbers, np.float32)
        self.dtype, self.shape = dtype, numbers.shape
        if dtype == "bf16":
            bits = numbers.view(np.uint32)
            upper = ((bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint32)
            self.raw, self.values = upper.astype(np.uint16).view(np.uint8), (upper << 16).view(np.float32)
        else:
            self.raw = numbers.astype({"f32": np.float32, "f16": np.float16}[dtype])
            self.values = self.raw.astype(np.float32)


class Case:
    """One op with its operands and, from numpy, its right result."""

    def __init__(self, name, op, **params):
        self.form = {"name": name, "op": op, "params": params, "operands": [], "expected": []}
        self.tensors = {}

    def input(self, name, array, dtype=None, shape=None, role="input", strides=None, offset=0):
        """An input. A quantised or bf16 one comes as uint8 bytes with its `dtype` and `shape` given. Where `strides` (in
        elements) or an `offset` (in bytes) are given, `array` is the whole buffer and `shape` the tensor in it."""
        array = np.ascontiguousarray(array)
        layout = form(dtype or DTYPES[array.dtype.name], shape or array.shape, strides, offset)
        self.form["operands"].append({"name": name, "role": role, "layout": layout, "tensor": name})
        self.tensors[name] = array
        return self

    def floats(self, name, floats):
        return self.input(name, floats.raw, floats.dtype, floats.shape)

    def indices(self, name, values):
        return self.input(name, np.asarray(values, dtype=np.uint32), role="indices")

    def output(self, name, expected, shape=None, dtype="f32", before=None, strides=None, offset=0):
        """An output. `expected` in float64 or longdouble is met within the op's bound, in another type exactly;
        `before` (bytes) is what the buffer holds before the op, zeros where it is left out."""
        expected = np.ascontiguousarray(expected)
        layout = form(dtype, shape or expected.shape, strides, offset)
        if expected.dtype == np.longdouble:
            expected = expected.astype(np.float64)
        key = None if before is None else f"{name}.before"
        if before is not None:
            self.tensors[key] = np.ascontiguousarray(before)
        self.form["operands"].append({"name": name, "role": "output", "layout": layout, "tensor": key})
        self.form["expected"].append({"name": name, "tensor": f"{name}.expected"})
        self.tensors[f"{name}.expected"] = expected
        return self


def arranged(raw, shape, order):
    """The buffer of a tensor whose elements (or bytes), in row-major order, are `raw`, with its dimensions in memory in `order`, outermost
    first, and its strides in elements."""
    last = len(shape) - 1
    whole = order[-1] == last  # Rows stay in one piece, blocks and all.
    parts = np.ascontiguousarray(raw).reshape(*(shape[:-1] if whole else shape), -1)
    buffer = np.ascontiguousarray(parts.transpose(*order[: last + 1 - whole], last + 1 - whole))
    strides, span = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis], span = span, span * shape[axis]
    return buffer, strides


def form(dtype, shape, strides, offset):
    """A layout as capsules store it: dense strides and offset 0 are left out."""
    layout = {"dtype": dtype, "shape": list(shape)}
    if strides is not None:
        layout["strides"] = list(strides)
    if offset:
        layout["offset"] = offset
    return layout


def write(path, seed, cases, packages=()):
    """Writes the cases; `packages` are those besides numpy and safetensors that computed them."""
    tensors, forms = {}, []
    for at, case in enumerate(cases):
        rename = {key: f"{at}.{key}" for key in case.tensors}
        for part in case.form["operands"] + case.form["expected"]:
            if part["tensor"] is not None:
                part["tensor"] = rename[part["tensor"]]
        tensors.update({rename[key]: array for key, array in case.tensors.items()})
        forms.append(case.form)
    python = ".".join(map(str, sys.version_info[:3]))
    used = "".join(f"{package} {version(package)}, " for package in packages)
    used += f"numpy {np.__version__}, safetensors {safetensors.__version__}"
    generator = f"{sys.argv[0]}: {used}, Python {python}, seed {seed}"
    metadata = {"assay.capsule": "1", "generator": generator, "cases": json.dumps(forms, sort_keys=True)}
    with open(path, "wb") as file:
        file.write(stable(save(tensors, metadata)))


def stable(data):
    """The same file with the header's keys in a fixed order; safetensors itself hashes the metadata."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]
