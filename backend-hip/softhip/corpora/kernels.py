"""Kernels of other people's sources: read where they stand, compiled by Triton for gfx942, run by `assay gpu run`.

Only the functions that Triton compiles are taken out of a file, with the constants and imports that they name: PyTorch and a
GPU are not needed.
"""

import ast
import hashlib
import json
import math
import pathlib
import subprocess
import tempfile
import types

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("hip", "gfx942", 64)

TYPES = {
    np.dtype(np.float32): "fp32",
    np.dtype(np.float64): "fp64",
    np.dtype(np.float16): "fp16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fnuz): "fp8e4b8",
    np.dtype(ml_dtypes.float8_e5m2fnuz): "fp8e5b16",
    np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "u8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "u32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint64): "u64",
    np.dtype(bool): "i1",
}


class Missing(Exception):
    """A source that this machine does not have."""


class Wrong(Exception):
    """A kernel was accused, or its result is out of its bound."""


def _is_compiled(node):
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)


def _flat(body):
    """Statements, also those under a condition or a `try`: imports with substitutes, of which the first that works counts."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            handlers = [inner for handler in getattr(node, "handlers", []) for inner in handler.body]
            yield from _flat(node.body + handlers + node.orelse)
        else:
            yield node


_modules = {}


def module(path):
    """The compiled functions of a file, with what they need from files beside it."""
    path = pathlib.Path(path)
    if path in _modules:
        return _modules[path]
    if not path.exists():
        raise Missing(str(path))
    space = types.ModuleType(path.stem)
    _modules[path] = space
    space.__file__ = str(path)
    space.__dict__.update(triton=triton, tl=tl, math=math)
    for node in _flat(ast.parse(path.read_text()).body):
        if _is_compiled(node):
            node.decorator_list = [ast.parse("triton.jit", mode="eval").body]
            for inner in ast.walk(node.decorator_list[0]):
                ast.copy_location(inner, node)
        elif isinstance(node, ast.ImportFrom) and _import_beside(space, path, node):
            continue
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            continue
        elif isinstance(node, ast.ImportFrom) and all(hasattr(space, name.asname or name.name) for name in node.names):
            continue
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef)):
            continue
        try:
            exec(compile(ast.Module([node], []), str(path), "exec"), space.__dict__)
        except Exception:
            # It needs PyTorch or the like; a kernel that needs it will say so.
            continue
    return space


def _import_beside(space, path, node):
    """Takes names from a Python file of the same package."""
    parts = (node.module or "").split(".")
    folders = [path.parents[node.level - 1]] if node.level else list(path.parents)
    for folder in folders:
        file = folder.joinpath(*parts).with_suffix(".py")
        if file.exists() and file != path:
            theirs = module(file)
            for name in node.names:
                if hasattr(theirs, name.name):
                    setattr(space, name.asname or name.name, getattr(theirs, name.name))
            return True
    return False


class Out:
    """A buffer that nothing has written before the launch."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(np.atleast_1d(shape)), np.dtype(dtype)


class InOut:
    """A buffer that is saved after the launch."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)


class Assay:
    """Runs kernels with all checks, and keeps count."""

    def __init__(self, command, threads=1):
        self.command, self.threads = command, threads
        self.instructions = self.notes = 0
        self.last = {}

    def run(self, objects, kernel, grid, block, arguments, lds=0, budget=None):
        """Runs one launch; answers the arrays of `Out` and `InOut` arguments, by their names."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path = folder / "kernel.co"
            path.write_bytes(objects)
            command = [self.command, "gpu", "run", str(path), kernel]
            command += ["--grid", ",".join(map(str, grid)), "--block", ",".join(map(str, block))]
            command += ["--lds", str(lds), "--threads", str(self.threads), "--json", str(folder / "run.json")]
            if budget:
                command += ["--budget", str(budget)]
            saved = {}
            for index, (name, value) in enumerate(arguments):
                command += ["--arg", self._argument(folder, index, name, value, saved)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Wrong(f"exit code {done.returncode}: {(done.stdout + done.stderr).strip()}")
            report = json.loads((folder / "run.json").read_text())
            self.last = report
            self.instructions += report["counters"]["instructions"]
            self.notes += len(report.get("notes", []))
            return {
                name: np.frombuffer(file.read_bytes(), dtype).reshape(shape)
                for name, (file, shape, dtype) in saved.items()
            }

    @staticmethod
    def _argument(folder, index, name, value, saved):
        file, save = folder / f"{index}.in", folder / f"{index}.out"
        if value is None:
            return "null"
        if isinstance(value, Out):
            saved[name] = (save, value.shape, value.dtype)
            return f"out:{math.prod(value.shape) * value.dtype.itemsize}:{save}"
        if isinstance(value, InOut):
            file.write_bytes(value.array.tobytes())
            saved[name] = (save, value.array.shape, value.array.dtype)
            return f"inout:{file}:{save}"
        if isinstance(value, np.ndarray):
            file.write_bytes(np.ascontiguousarray(value).tobytes())
            return f"buf:{file}"
        if isinstance(value, bytes):
            file.write_bytes(value)
            return f"bytes:{file}"
        kind, number = value
        return f"{kind}:{number}"

    def triton(self, function, grid, arguments, warps=4, stages=2, **options):
        """Compiles a Triton function and runs it. `arguments` are all of them by name; numbers given as `constexpr` are
        constants."""
        signature, constants, attributes, given = {}, {}, {}, []
        for index, parameter in enumerate(function.params):
            name = parameter.name
            value = arguments.get(name, parameter.default if parameter.has_default else Missing)
            if value is Missing:
                raise TypeError(f"no argument {name}")
            if parameter.is_constexpr or value is None:
                signature[name], constants[name] = "constexpr", value
                continue
            if isinstance(value, (Out, InOut, np.ndarray)):
                dtype = value.array.dtype if isinstance(value, InOut) else value.dtype
                signature[name] = "*" + TYPES[np.dtype(dtype)]
                attributes[(index,)] = [["tt.divisibility", 16]]
                given.append((name, value))
            elif isinstance(value, bool):
                signature[name] = "u1"
                given.append((name, ("u8", int(value))))
            elif isinstance(value, (int, np.integer)):
                value = int(value)
                if value == 1 and not parameter.do_not_specialize:
                    signature[name], constants[name] = "constexpr", 1
                    continue
                kind = "i32" if -(2**31) <= value < 2**31 else "i64"
                signature[name] = kind
                if value % 16 == 0 and not parameter.do_not_specialize:
                    attributes[(index,)] = [["tt.divisibility", 16]]
                given.append((name, (kind, value)))
            else:
                signature[name] = "fp32"
                given.append((name, ("f32", repr(float(np.float32(value))))))
        source = ASTSource(function, signature, constants, attributes)
        compiled = triton.compile(source, target=TARGET, options={"num_warps": warps, "num_stages": stages, **options})
        meta = compiled.metadata
        # Triton's launcher passes memory for globals and for profiles behind the arguments.
        scratch = getattr(meta, "global_scratch_size", 0) * math.prod(grid)
        given.append(("global_scratch", np.zeros(scratch, np.uint8) if scratch else None))
        given.append(("profile_scratch", None))
        grid = tuple(grid) + (1,) * (3 - len(grid))
        return self.run(compiled.asm["hsaco"], meta.name, grid, (64 * meta.num_warps, 1, 1), given, lds=meta.shared)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:12]
