#!/bin/sh
# Builds the gfx942 object of every kernel from its source, byte for byte, and records the hashes of both. Needs clang++-19 and
# lld-19 alone, and uses all processors.
#   build.sh               builds objects/*.hsaco and SHA256SUMS
#   build.sh --check       leaves the tree alone; fails if a rebuilt object differs from the one that is there
#   build.sh --arch A...   compiles every source for each architecture A, to see that it does; keeps nothing
set -eu
cd "$(dirname "$0")"
mode=${1:-} archs=gfx942 out=objects
case $mode in
'') ;;
--check | --arch)
    if [ "$mode" = --arch ]; then
        shift
        archs=${*:?--arch needs an architecture}
    fi
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    ;;
*) echo "unknown option '$mode'; there are --check and --arch" >&2; exit 2 ;;
esac
# The largest sources first, so that the slowest compilation is not the last to start.
for source in $(ls -S ./*.hip); do
    for arch in $archs; do echo "$arch ${source#./} $out/$([ "$mode" = --arch ] && echo "$arch-")$(basename "$source" .hip).hsaco"; done
done | xargs -P "$(nproc)" -L 1 sh -euc '
    "${CLANG:-clang++-19}" -x hip "--offload-arch=$1" --cuda-device-only --no-gpu-bundle-output \
        -nogpulib -nogpuinc -std=c++17 -O3 -ffp-contract=off -gline-tables-only -fhip-kernel-arg-name -fuse-cuid=none \
        -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -Qn -o "$3" "$2" ||
        { echo "$2 does not compile for $1" >&2; exit 1; }
' build.sh
case $mode in
--check) for object in "$out"/*.hsaco; do cmp "objects/$(basename "$object")" "$object"; done ;;
'')
    chmod 644 objects/*.hsaco
    sha256sum ./*.h ./*.hip objects/*.hsaco | sed 's, \./, ,' >SHA256SUMS
    ;;
esac
