#!/usr/bin/env bash
# Remakes every golden file with the Python on the PATH (numpy, safetensors, gguf). With --check, compares the bytes with those
# that are committed, for the same versions of the packages; other versions may differ in the last bit.
set -euo pipefail
cd "$(dirname "$0")/.."
# The same instructions on every machine: numpy's sums have another order with AVX-512 than with AVX2.
export OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"
for script in golden/*/make.py; do
  PYTHONPATH=golden python "$script"
done
if [ "${1:-}" = --check ]; then
  git diff --exit-code --stat -- golden
fi
