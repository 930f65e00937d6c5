#!/bin/sh
# Builds the gfx942 object of every kernel from its source, byte for byte, and records the hashes of both.
# Needs clang++-19 and lld-19 alone.
#   build.sh            builds objects/*.hsaco and SHA256SUMS
#   build.sh --check    leaves the tree alone; fails if a rebuilt object differs from the one that is there
#   build.sh --arch A   compiles every source for architecture A, to see that it does; keeps nothing
set -eu
cd "$(dirname "$0")"
arch=gfx942 out=objects mode=${1:-}
case $mode in
'') ;;
--check | --arch)
    [ "$mode" = --check ] || arch=${2:?--arch needs an architecture}
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    ;;
*) echo "unknown option '$mode'; there are --check and --arch" >&2; exit 2 ;;
esac
for source in *.hip; do
    stem=${source%.hip}
    "${CLANG:-clang++-19}" -x hip "--offload-arch=$arch" --cuda-device-only --no-gpu-bundle-output \
        -nogpulib -nogpuinc -std=c++17 -O3 -ffp-contract=off -gline-tables-only -fhip-kernel-arg-name -fuse-cuid=none \
        -ffile-prefix-map="$PWD=." -fdebug-compilation-dir=. -Qn -o "$out/$stem.hsaco" "$source"
    [ "$mode" != --check ] || cmp "objects/$stem.hsaco" "$out/$stem.hsaco"
done
if [ -z "$mode" ]; then
    chmod 644 objects/*.hsaco
    sha256sum ./*.h ./*.hip objects/*.hsaco | sed 's, \./, ,' >SHA256SUMS
fi
