#!/bin/sh
# Rebuilds the objects of this folder from their sources, byte for byte, and records the hashes of both. Needs clang++-19 and lld-19.
# With --check it leaves the tree alone and fails if a rebuilt object differs from the one that is there. The object of triton_rms_norm.py is
# made by that file, and only its hash is recorded here.
set -eu
cd "$(dirname "$0")"
out=objects
if [ "${1:-}" = --check ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
for source in *.hip; do
    stem=${source%.hip}
    "${CLANG:-clang++-19}" -x hip --offload-arch=gfx942 --cuda-device-only --no-gpu-bundle-output \
        -nogpulib -nogpuinc -std=c++17 -O3 -ffp-contract=off -gline-tables-only -fhip-kernel-arg-name -fuse-cuid=none \
        -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -Qn -o "$out/$stem.hsaco" "$source"
    [ "$out" = objects ] || cmp "objects/$stem.hsaco" "$out/$stem.hsaco"
done
if [ "$out" = objects ]; then
    chmod 644 objects/*
    sha256sum ./*.h ./*.hip ./*.py objects/* | sed 's, \./, ,' >SHA256SUMS
fi
