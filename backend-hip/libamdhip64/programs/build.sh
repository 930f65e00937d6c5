#!/bin/sh
# Compiles the programs of this folder with a HIP toolchain without ROCm. They are committed, so only a changed program
# needs this.
#
#   build.sh ROCM LIBRARY
#
# ROCM has amdgcn/bitcode; LIBRARY is the folder of the libamdhip64.so that this crate builds.
set -eu
cd "$(dirname "$0")"
rocm=$1
library=$2
for source in *.hip; do
    name=${source%.hip}
    clang++-19 -x hip "$source" --offload-arch=gfx942 --rocm-path="$rocm" --rocm-device-lib-path="$rocm/amdgcn/bitcode" \
        -D__HIP_PLATFORM_AMD__=1 -include __clang_hip_runtime_wrapper.h -nogpuinc -O2 -g1 -std=c++17 -fno-exceptions \
        -Wno-linker-warnings -fdebug-compilation-dir=. -c -o "$name.o"
    clang++-19 "$name.o" -s -nostdlib++ -L"$library" -lamdhip64 -o "$name"
done
# The library of Debian has symbol versions.
clang++-19 saxpy.o -s -nostdlib++ -lamdhip64 -o saxpy-rocm5
rm ./*.o
