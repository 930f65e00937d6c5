#!/usr/bin/env python3
"""Measures Assay and llama.cpp alternately, in one run on one machine, and prints medians, spread and ratios.

    benches/compare_llama.py --assay target/release/assay --model SmolLM2-135M-Instruct.Q4_1.gguf --work DIR

DIR is outside the repository. In it the script makes a virtual environment, builds llama.cpp for this machine through
PyPI's `llama-cpp-python`, and requantises the model to the formats asked for. Both programs then run the same files with the same
number of threads and an f16 cache: a prompt (pp) and tokens one by one from an empty context (tg). One round measures both
programs on one format, theirs and ours by turns first, after a warm-up each; what counts is the median of all rounds.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

FORMATS = ["Q4_1", "Q4_K_M", "Q5_1", "Q4_0", "Q8_0", "Q6_K", "F16"]

# Ratios that were asked for: decode, prefill.
WANTED = {
    "Q4_1": (1.5, 2.0), "Q4_K_M": (1.3, 1.4), "Q5_1": (1.3, 2.0), "Q4_0": (1.2, 1.1), "Q8_0": (1.2, 1.1),
    "Q6_K": (1.2, 1.4), "F16": (1.1, 1.1),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", type=Path, help="the program")
    parser.add_argument("--model", type=Path, help="the model to requantise, a GGUF file")
    parser.add_argument("--work", type=Path, help="folder for the environment and the requantised models")
    parser.add_argument("--formats", nargs="*", default=FORMATS)
    parser.add_argument("-p", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("-n", type=int, default=128, help="tokens to generate")
    parser.add_argument("-t", type=int, default=2, help="threads")
    parser.add_argument("-r", type=int, default=5, help="rounds")
    parser.add_argument("--json", type=Path, help="every measurement")
    parser.add_argument("--theirs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--quantize", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.theirs:
        print(json.dumps(measure_llama(args.theirs, args.p, args.n, args.t)))
    elif args.quantize:
        quantize(*args.quantize)
    elif args.assay and args.model and args.work:
        compare(args)
    else:
        parser.error("--assay, --model and --work are needed")


def compare(args):
    python = environment(args.work)
    rows, runs = [], []
    for format in args.formats:
        model = requantised(python, args.model, format, args.work)
        ours, theirs = [], []
        for round in range(args.r):
            pair = [lambda: ours.append(run_assay(args, model)), lambda: theirs.append(run_llama(python, args, model))]
            for measure in pair if round % 2 else reversed(pair):
                measure()
            print(f"{format}: round {round + 1} of {args.r}", file=sys.stderr)
        rows.append((format, ours, theirs))
        runs.append({"format": format, "assay": ours, "llama.cpp": theirs})
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps(runs, indent=1) + "\n")


def print_table(rows):
    print("| format | decode: assay | llama.cpp | ratio | wanted | prefill: assay | llama.cpp | ratio | wanted "
          "| first token: assay | llama.cpp | peak MB: assay | llama.cpp |")
    print("|---" * 13 + "|")
    for format, ours, theirs in rows:
        cells = [format]
        for test, wanted in zip(["tg", "pp"], WANTED.get(format, (None, None))):
            a, b = [[run[test] for run in side] for side in (ours, theirs)]
            ratio = statistics.median(a) / statistics.median(b)
            cells += [shown(a), shown(b), f"{ratio:.2f}", f"{wanted}" if wanted else ""]
        for what, unit in [("first", "{:.3f} s"), ("peak", "{:.0f}")]:
            cells += [unit.format(statistics.median(run[what] for run in side)) for side in (ours, theirs)]
        print("| " + " | ".join(cells) + " |")


def shown(values):
    return f"{statistics.median(values):.1f} ({min(values):.0f}–{max(values):.0f})"


def run_assay(args, model):
    """One run of our bench, and one of a short prompt for the first token and the memory."""
    out = args.work / "assay.json"
    command = [args.assay, "bench", "-m", model, "-p", args.p, "-n", args.n, "-t", args.t, "-r", 1, "--no-peaks", "--json", out]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    rates = {test["test"][:2]: test["tokens_per_second"] for test in json.loads(out.read_text())["tests"]}
    command = [args.assay, "run", "-m", model, "-p", "The capital of France is", "-n", 1, "-t", args.t, "--ctx", args.p + args.n]
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return {**rates, "first": time.monotonic() - begin, "peak": usage.ru_maxrss / 1024}


def run_llama(python, args, model):
    command = [python, __file__, "--theirs", model, "-p", args.p, "-n", args.n, "-t", args.t]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def environment(work):
    """The Python of an environment with llama.cpp in it, built for this machine."""
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
    if subprocess.run([python, "-c", "import llama_cpp"], capture_output=True).returncode:
        native = {**os.environ, "CMAKE_ARGS": "-DGGML_NATIVE=ON"}
        subprocess.run([python, "-m", "pip", "install", "llama-cpp-python"], check=True, env=native)
    return python


def requantised(python, model, format, work):
    if f".{format}." in model.name:
        return model
    to = work / f"{model.stem.split('.')[0]}.{format}.gguf"
    if not to.exists():
        subprocess.run([python, __file__, "--quantize", model, to, format], check=True, stderr=subprocess.DEVNULL)
    return to


def quantize(source, to, format):
    import llama_cpp

    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{format}")
    params.allow_requantize = True
    if llama_cpp.llama_model_quantize(source.encode(), to.encode(), ctypes.byref(params)):
        sys.exit(f"{to}: llama.cpp could not make it")


def measure_llama(path, prompt, generated, threads):
    """Tokens per second of a prompt and of tokens one by one; time from loading to the first token; memory beyond Python's."""
    import llama_cpp as ll

    silence = ll.llama_log_callback(lambda *_: None)
    ll.llama_log_set(silence, None)
    ll.llama_backend_init()
    before = peak_memory()
    begin = time.monotonic()
    params = ll.llama_model_default_params()
    model = ll.llama_model_load_from_file(str(path).encode(), params)
    params = ll.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = prompt + generated, 512, 512
    params.n_threads = params.n_threads_batch = threads
    context = ll.llama_init_from_model(model, params)
    vocabulary = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(model))
    tokens = [i * 7919 % vocabulary for i in range(max(prompt, generated))]

    def run(tokens):
        for first in range(0, len(tokens), 512):
            part = tokens[first:first + 512]
            # The batch points into it.
            ids = (ctypes.c_int * len(part))(*part)
            if ll.llama_decode(context, ll.llama_batch_get_one(ids, len(part))):
                sys.exit("llama_decode failed")
        ll.llama_get_logits(context)[0]

    def timed(work, count):
        rates = []
        for _ in range(2):
            ll.llama_memory_clear(ll.llama_get_memory(context), False)
            begin = time.monotonic()
            work()
            rates.append(count / (time.monotonic() - begin))
        return rates[-1]

    run(tokens[:5])
    first, peak = time.monotonic() - begin, peak_memory() - before
    pp = timed(lambda: run(tokens[:prompt]), prompt)
    tg = timed(lambda: [run([token]) for token in tokens[:generated]], generated)
    return {"pp": pp, "tg": tg, "first": first, "peak": peak}


def peak_memory():
    """Largest resident size of this process so far, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    main()
