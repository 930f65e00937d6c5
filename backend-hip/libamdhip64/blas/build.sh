#!/bin/sh
# Builds the object of the GEMM kernel, byte for byte, and records the hashes of both. Needs clang++-19 and lld-19 alone.
#   build.sh           builds gemm.hsaco and SHA256SUMS
#   build.sh --check   leaves the tree alone; fails if the rebuilt object differs from the one that is there
set -eu
cd "$(dirname "$0")"
out=gemm.hsaco
case ${1:-} in
'') ;;
--check) out=$(mktemp); trap 'rm -f "$out"' EXIT ;;
*) echo "unknown option '$1'; there is --check" >&2; exit 2 ;;
esac
"${CLANG:-clang++-19}" -x hip --offload-arch=gfx942 --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -O3 \
    -gline-tables-only -fhip-kernel-arg-name -fuse-cuid=none -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -Qn \
    -o "$out" gemm.hip
if [ "$out" = gemm.hsaco ]; then
    chmod 644 gemm.hsaco
    sha256sum gemm.hip gemm.hsaco >SHA256SUMS
else
    cmp gemm.hsaco "$out"
fi
