#!/bin/sh
# Rebuilds every test object from its source, byte for byte, and records the hashes of both.
# Needs clang++-19 and lld-19. With --check it leaves the tree alone and fails if a rebuilt
# object differs from the one that is there.
set -eu
cd "$(dirname "$0")"
out=.
if [ "${1:-}" = --check ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
for source in *.hip; do
    stem=${source%.hip}
    "${CLANG:-clang++-19}" -x hip --offload-arch=gfx942 --cuda-device-only --no-gpu-bundle-output \
        -nogpulib -nogpuinc -std=c++17 -O3 -ffp-contract=fast -gline-tables-only -fhip-kernel-arg-name -fuse-cuid=none -mprintf-kind=buffered \
        -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -Qn -o "$out/$stem.hsaco" "$source"
    [ "$out" = . ] || cmp "$stem.hsaco" "$out/$stem.hsaco"
done
if [ "$out" = . ]; then
    chmod 644 ./*.hsaco
    sha256sum device.h ./*.hip ./*.hsaco | sed 's, \./, ,' >SHA256SUMS
fi
