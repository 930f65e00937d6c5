"""Kernels in Python, under the suite of Assay.

    import numpy as np
    import assay

    @assay.op
    def rms_norm(x, weight, out, eps):
        out[...] = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(eps)) * weight

    $ assay check --plugin mine.py

The function has the name of the op, and its arguments have the names that the op's page (kernels/src/ops/NAME.rs) gives to operands and
parameters; `scaling.factor` is `scaling_factor`. Tensors are numpy arrays over the memory of this process, strides and all: f32 as
float32, f16 as float16, indices as uint32, a block format as uint8 with whole blocks as the last dimension. numpy has no bf16: such a tensor
is uint16 with its bits, which `assay.from_bf16` and `assay.to_bf16` turn into float32 and back; `assay.f32` gives any of the three floats as
float32. Inputs cannot be written. An operand or parameter that the op does without is None; where the op runs in place, the input is a
copy of `out` as it was. What the function returns, if anything, is stored in the only output, rounded to its type.

A function is asked in f32 alone unless `@assay.op(types=...)` names more: types for all operands, `["f32", "f16", "bf16"]`, or operand by
operand, `{"weight": ["f32", "q8_0"]}`; indices are u32. In the same way it is asked with operands in rows alone unless
`@assay.op(layouts=...)` has "permuted" (head-major caches) or "transposed" (keys by slots, column-major weights). `@assay.op(supports=...)` says which forms of these types the function takes: a
function of the op (`op.name`, `op.dtypes`, `op.shapes`, `op.params`) that returns True, or a reason why not. `@assay.op(numerics={...})`
declares how it computes, with the names of `assay_numerics` in assay.h: `accumulator="f16"`, `lanes=64`, `function_ulps=4`. `assay.name` is
what reports call the plug-in.

This module is part of the command, which gives it to the file: nothing is to be installed but numpy.
"""

import ctypes
import inspect
import json
import os
import runpy
import sys
import traceback

name = None  # what reports call the plug-in; the file's name unless set
place = "host"  # "host", "software" or "gpu"

_ops = {}
_buffers = {}
_touched = []  # what launches did besides computing
_launching = False
_DTYPES = {"f32": "float32", "f16": "float16", "u32": "uint32", "bf16": "uint16"}


class Op:
    """The form of an op: what a function may ask before it says yes."""

    def __init__(self, call):
        self.name = call["name"]
        self.operands = {operand["name"]: operand for operand in call["operands"]}
        self.params = {key.replace(".", "_"): value for key, value in call["params"].items()}
        self.dtypes = {key: operand["dtype"] for key, operand in self.operands.items()}
        self.shapes = {key: tuple(operand["shape"]) for key, operand in self.operands.items()}
        self.layouts = {key: operand["layout"] for key, operand in self.operands.items()}
        self.strides = {key: tuple(operand["strides"]) for key, operand in self.operands.items()}


class _Function:
    def __init__(self, function, types, layouts, supports, numerics):
        self.function, self.types, self.layouts = function, types, layouts
        self.supports, self.numerics = supports, numerics
        parameters = inspect.signature(function).parameters.values()
        self.any = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.arguments = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]

    def refusal(self, op):
        """Why the function does not take the op; None where it does."""
        given = [*op.operands, *op.params]
        unknown = [key for key in given if key not in self.arguments and not self.any]
        if unknown:
            return f"{op.name}({', '.join(self.arguments)}) has no argument '{unknown[0]}'"
        for key, dtype in op.dtypes.items():
            types = self.types_of(key)
            if dtype != "u32" and dtype not in types:
                return f"'{key}' is {dtype}; {op.name} takes {' or '.join(types)} there"
            layout, layouts = op.layouts[key], self.layouts_of(key)
            if layout not in layouts:
                return f"'{key}' is {layout} in memory; {op.name} takes {' or '.join(layouts)} there"
        answer = True if self.supports is None else self.supports(op)
        return None if answer is True else str(answer or "declined")

    def types_of(self, operand):
        """The types that an operand may have, indices aside."""
        types = self.types.get(operand, "f32") if isinstance(self.types, dict) else self.types
        return [types] if isinstance(types, str) else types

    def layouts_of(self, operand):
        """How an operand may lie in memory."""
        layouts = self.layouts.get(operand, "rows") if isinstance(self.layouts, dict) else self.layouts
        return [layouts] if isinstance(layouts, str) else layouts


def op(function=None, *, types="f32", layouts="rows", supports=None, numerics=None):
    """Makes a function the kernel of the op of its name."""

    def register(function):
        _ops[function.__name__] = _Function(function, types, layouts, supports, numerics)
        return function

    return register if function is None else register(function)


def from_bf16(bits):
    """bf16, given as uint16 with its bits, as float32."""
    import numpy

    return (numpy.asarray(bits).astype(numpy.uint32) << 16).view(numpy.float32)


def to_bf16(values):
    """The nearest bf16, ties to even, as uint16 with its bits."""
    import numpy

    values = numpy.ascontiguousarray(values, numpy.float32)
    bits = values.view(numpy.uint32).astype(numpy.uint64)
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    # Adding could turn a NaN into an infinity: it keeps its upper bits, and is made quiet.
    return numpy.where(numpy.isnan(values), bits >> 16 | 0x40, nearest).astype(numpy.uint16)


def f32(tensor):
    """A tensor of f32, f16 or bf16 as float32."""
    return from_bf16(tensor) if tensor.dtype == "uint16" else tensor.astype("float32", copy=False)


def _array(operand):
    import numpy

    memory = _buffers[operand["buffer"]]
    shape, strides = list(operand["shape"]), list(operand["strides"])
    elements, size = operand["block"]
    if elements > 1:
        kind = numpy.dtype("uint8")
        shape[-1] = shape[-1] // elements * size
        strides = [stride // elements * size for stride in strides[:-1]] + [1]
    else:
        kind = numpy.dtype(_DTYPES[operand["dtype"]])
        strides = [stride * size for stride in strides]
    array = numpy.ndarray(shape, kind, memory, operand["offset"], strides)
    array.flags.writeable = operand["role"] == "output"
    return array


def _launch(op, in_place):
    function = _ops[op.name]
    arrays = {key: _array(operand) for key, operand in op.operands.items()}
    outputs = [arrays[key] for key, operand in op.operands.items() if operand["role"] == "output"]
    given = {**arrays, **op.params}
    if in_place is not None and in_place not in given:
        given[in_place] = outputs[0].copy()
    if not function.any:
        given = {key: given.get(key) for key in function.arguments}
    result = function.function(**given)
    if result is not None:
        if len(outputs) != 1:
            raise TypeError(f"{op.name} has {len(outputs)} outputs: store them, and return nothing")
        short = outputs[0].dtype == "uint16" and result.dtype != "uint16"
        outputs[0][...] = to_bf16(result) if short else result


# What Python tells of before it does it, and computing does not need: names of audit events, up to the dot.
_OUTSIDE = {"open", "os", "shutil", "socket", "subprocess"}


def _watch(event, arguments):
    if _launching and event.split(".")[0] in _OUTSIDE:
        _touched.append(" ".join([event, *(repr(argument)[:80] for argument in arguments[:1])]))


def _numerics(op):
    declared = _ops[op.name].numerics
    return (declared(op) if callable(declared) else declared) or {}


def _answer(request, payload):
    """The answer to a request, and bytes behind it."""
    what = request["do"]
    if what == "supports":
        op = Op(request["op"])
        if op.name not in _ops:
            return f"no function called {op.name}", b""
        return _ops[op.name].refusal(op), b""
    if what == "numerics":
        return _numerics(Op(request["op"])), b""
    if what == "alloc":
        handle = max(_buffers, default=0) + 1
        _buffers[handle] = bytearray(request["size"])
        return handle, b""
    if what == "free":
        del _buffers[request["buffer"]]
    elif what == "write":
        at = request["offset"]
        _buffers[request["buffer"]][at : at + len(payload)] = payload
    elif what == "read":
        at = request["offset"]
        return None, bytes(_buffers[request["buffer"]][at : at + request["size"]])
    elif what == "touched":
        touched = list(dict.fromkeys(_touched))
        _touched.clear()
        return touched, b""
    elif what == "launch":
        global _launching
        _launching = True
        try:
            _launch(Op(request["op"]), request["in_place"])
        finally:
            _launching = False
    else:
        raise ValueError(f"unknown request {what}")
    return None, b""


def _exactly(stream, count):
    payload = stream.read(count)
    if len(payload) != count:
        sys.exit(0)
    return payload


def _serve(path):
    # Messages have descriptors of their own; what the file prints goes to standard error.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if sys.platform == "linux":
        # A process that nobody asks any more ends, also in the middle of a kernel: PR_SET_PDEATHSIG, SIGKILL.
        ctypes.CDLL(None).prctl(1, 9)

    def say(message, payload=b""):
        answers.write(json.dumps({**message, "bytes": len(payload)}).encode() + b"\n" + payload)
        answers.flush()

    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = [path]
    sys.addaudithook(_watch)
    try:
        runpy.run_path(path, run_name="assay_plugin")
        if not _ops:
            raise SystemExit("the file has no function with @assay.op")
        say({"ok": {"name": name or os.path.basename(path), "place": place}})
    except (Exception, SystemExit):
        say({"error": traceback.format_exc()})
        return
    for line in requests:
        request = json.loads(line)
        payload = _exactly(requests, request.get("bytes", 0))
        try:
            say({"ok": None}) if request["do"] == "synchronize" else _reply(say, request, payload)
        except Exception as error:
            say({"error": traceback.format_exc(), "memory": isinstance(error, MemoryError)})


def _reply(say, request, payload):
    answer, content = _answer(request, payload)
    say({"ok": answer}, content)


if __name__ == "__main__":
    sys.modules["assay"] = sys.modules["__main__"]
    _serve(sys.argv[1])
