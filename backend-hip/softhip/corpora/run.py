"""Runs kernels that this project did not write on the software device, with all checks, against numpy in f64.

    python3 -m venv V && V/bin/pip install triton==3.9.0 numpy ml_dtypes msgpack
    V/bin/pip install --no-deps -t PACKAGES liger-kernel==0.8.5 conch-triton-kernels==1.3 bitsandbytes==0.50.2
    git clone --depth 1 https://github.com/triton-lang/triton TRITON; git clone --depth 1 https://github.com/ROCm/aiter AITER
    V/bin/python run.py --assay target/release/assay --packages PACKAGES --triton TRITON --aiter AITER

Exit code 1 if a kernel is accused or wrong. What is not there is left out, and said so.
"""

import argparse
import pathlib
import sys
import time
import traceback
import zlib

import numpy as np

import cases
import cases_aiter  # noqa: F401  (registers)
import cases_bitsandbytes  # noqa: F401
import cases_conch  # noqa: F401
import cases_liger  # noqa: F401
import cases_triton  # noqa: F401
from kernels import Assay, Missing, Wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="assay", help="the command")
    parser.add_argument("--packages", help="a folder with Python packages of Triton kernels")
    parser.add_argument("--triton", help="a clone of triton-lang/triton")
    parser.add_argument("--aiter", help="a clone of ROCm/aiter")
    parser.add_argument("--only", help="run cases whose names contain this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trace", action="store_true", help="say where in a case something went wrong")
    options = parser.parse_args()
    below = lambda folder, path: folder and pathlib.Path(folder) / path
    sources = cases.Sources({
        "triton": below(options.triton, "python/tutorials"),
        "liger": below(options.packages, "liger_kernel/ops"),
        "conch": below(options.packages, "conch/kernels"),
        "aiter": options.aiter,
        "bitsandbytes": below(options.packages, "bitsandbytes"),
    })
    right, wrong, left_out = 0, [], []
    print(f"{'corpus':14}{'kernel':48}{'error/bound':>12}{'instructions':>14}{'notes':>6}{'s':>7}")
    for case in cases.CASES:
        name = f"{case.corpus}: {case.name}"
        if options.only and options.only not in name:
            continue
        assay = Assay(options.assay, options.threads)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        begin = time.monotonic()
        try:
            worst = cases.judge(list(case.function(sources, assay, rng)))
        except Missing as missing:
            left_out.append(f"{name}: {missing} is not there")
            continue
        except Exception as error:
            wrong.append(name)
            text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
            print(f"{case.corpus:14}{case.name:48} WRONG  {text.strip()[:1500]}")
            if options.trace:
                traceback.print_exc()
            continue
        right += 1
        seconds = time.monotonic() - begin
        print(f"{case.corpus:14}{case.name:48}{worst:12.3f}{assay.instructions:14}{assay.notes:6}{seconds:7.1f}", flush=True)
    for line in left_out:
        print(f"left out: {line}")
    print(f"{right} kernels right, {len(wrong)} wrong, {len(left_out)} left out")
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main())
