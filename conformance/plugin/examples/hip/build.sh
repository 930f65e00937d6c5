#!/bin/sh
# Compiles the plug-in of this folder for gfx942 with a HIP toolchain without ROCm: Debian's clang-19, lld-19, llvm-19, clang-tools-19,
# rocm-device-libs and libamdhip64-dev.
#   build.sh OUT.so [-DBUG]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Debian's device libraries are of ROCm 5.2: some constants are younger.
bitcode=$work/rocm/amdgcn/bitcode
mkdir -p "$bitcode" "$work/bin"
cp /usr/lib/x86_64-linux-gnu/amdgcn/bitcode/*.bc "$bitcode"
constant() {
    echo "@$1 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 $2" | llvm-as-19 - -o "$bitcode/$3.bc"
}
constant __oclc_ISA_version 9402 oclc_isa_version_942
constant __oclc_ABI_version 500 oclc_abi_version_500
constant __oclc_ABI_version 600 oclc_abi_version_600
ln -s "$(command -v clang-offload-bundler-19)" "$work/bin/clang-offload-bundler"
PATH=$work/bin:$PATH clang++-19 -x hip "$here/rms_norm.hip" "-I$here/../.." ${2:+"$2"} --offload-arch=gfx942 "--rocm-path=$work/rocm" \
    "--rocm-device-lib-path=$bitcode" -D__HIP_PLATFORM_AMD__=1 -include __clang_hip_runtime_wrapper.h -nogpuinc -O2 -gline-tables-only \
    -std=c++17 -fhip-kernel-arg-name -Wno-linker-warnings -fPIC -c -o "$work/plugin.o"
clang++-19 -shared "$work/plugin.o" -fuse-ld=lld-19 -lamdhip64 -o "$1"
