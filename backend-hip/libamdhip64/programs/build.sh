#!/bin/sh
# Compiles the programs of this folder with a HIP toolchain without ROCm, and records the hashes of sources and programs. The programs
# are committed, so only a changed one needs this. Debian's clang-19, lld-19, llvm-19, clang-tools-19, rocm-device-libs and
# libamdhip64-dev are all that it takes.
#   build.sh           builds every program and SHA256SUMS
#   build.sh NAME...   builds these programs alone, and SHA256SUMS
#   build.sh --check   leaves the tree alone; fails if the device code of a rebuilt program differs from the one that is there
set -eu
cd "$(dirname "$0")"
mode= only=
case ${1:-} in
--check) mode=$1 ;;
-*) echo "unknown option '$1'; there is --check" >&2; exit 2 ;;
*) only=$* ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=.
[ -z "$mode" ] || { out=$work/out && mkdir "$out"; }

# Debian's device libraries are of ROCm 5.2: two constants are younger, and a function was in a library for OpenCL alone.
bitcode=$work/rocm/amdgcn/bitcode
mkdir -p "$bitcode"
cp /usr/lib/x86_64-linux-gnu/amdgcn/bitcode/*.bc "$bitcode"
constant() {
    { cat "$work/functions.ll"; echo "@$1 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 $2"; } |
        llvm-as-19 - -o "$bitcode/$3.bc"
}
: >"$work/functions.ll"
constant __oclc_ABI_version 500 oclc_abi_version_500
constant __oclc_ABI_version 600 oclc_abi_version_600
llvm-extract-19 -recursive -func=__printf_alloc "$bitcode/opencl.bc" | llvm-dis-19 -o "$work/functions.ll"
constant __oclc_ISA_version 9402 oclc_isa_version_942
mkdir "$work/bin"
ln -s "$(command -v clang-offload-bundler-19)" "$work/bin/clang-offload-bundler"
PATH=$work/bin:$PATH

# Links $1.o as $2 with a library of the name $3 that has what the program calls; $4 is a version script or nothing.
link() {
    mkdir -p "$work/stub"
    nm -u "$work/$1.o" | sed -n '/hipblas/d; s/^ *U \(_*hip.*\)$/void \1(void) {}/p' >"$work/stub/stub.c"
    clang-19 -shared -nostdlib "-Wl,-soname,$3" ${4:+"-Wl,--version-script=$4"} -o "$work/stub/libamdhip64.so" "$work/stub/stub.c" \
        -Wno-incompatible-library-redeclaration
    nm -u "$work/$1.o" | sed -n 's/^ *U \(hipblas.*\)$/void \1(void) {}/p' >"$work/stub/blas.c"
    clang-19 -shared -nostdlib -Wl,-soname,libhipblas.so.2 -o "$work/stub/libhipblas.so" "$work/stub/blas.c"
    clang++-19 "$work/$1.o" -nostdlib++ -fuse-ld=lld-19 -Wl,--compress-debug-sections=zlib -Wl,--build-id=none "-L$work/stub" -lamdhip64 \
        -Wl,--as-needed -lhipblas -o "$out/$2"
}

# Compiles $1.hip as $2.o; $3 is a macro or nothing, and more options follow.
compile() {
    source=$1.hip object=$work/$2.o macro=$3
    shift 3
    clang++-19 -x hip "$source" ${macro:+"-D$macro"} "$@" --offload-arch=gfx942 "--rocm-path=$work/rocm" "--rocm-device-lib-path=$bitcode" \
        -D__HIP_PLATFORM_AMD__=1 -include __clang_hip_runtime_wrapper.h -nogpuinc -O2 -gline-tables-only -std=c++17 -fno-exceptions \
        -fhip-kernel-arg-name -fuse-cuid=none -Wno-linker-warnings "-ffile-prefix-map=$PWD=." -fdebug-compilation-dir=. -Qn \
        -c -o "$object"
}

for source in *.hip; do
    name=${source%.hip}
    case " $only " in "  " | *" $name "*) ;; *) continue ;; esac
    compile "$name" "$name" ""
    link "$name" "$name" libamdhip64.so.6
    # A program with a bug has a twin without it.
    if grep -q CLEAN "$source"; then
        compile "$name" "$name-clean" CLEAN
        link "$name-clean" "$name-clean" libamdhip64.so.6
    fi
    # What its kernels print in a buffer, where otherwise they ask the host.
    if grep -q printf-kind "$source"; then
        compile "$name" "$name-buffered" CLEAN -mprintf-kind=buffered
        link "$name-buffered" "$name-buffered" libamdhip64.so.6
    fi
    # Its kernels in a file of their own, for this model and for another one.
    if grep -q ANOTHER_MODEL "$source"; then
        for model in "" ANOTHER_MODEL; do
            compile "$name" device "$model" --cuda-device-only --no-gpu-bundle-output
            mv "$work/device.o" "$out/$name${model:+-another}.hsaco"
        done
    fi
done
# Libraries with symbol versions: Debian's, of ROCm 5.2, and two that stand for ROCm 6 and 7.
case " $only " in "  " | *" saxpy "*)
    clang++-19 "$work/saxpy.o" -nostdlib++ -fuse-ld=lld-19 -s -Wl,--build-id=none -lamdhip64 -o "$out/saxpy-rocm5"
    for release in 6.0 7.1; do
        echo "hip_$release { global: *; };" >"$work/versions.map"
        link saxpy "saxpy-rocm${release%.*}" "libamdhip64.so.${release%.*}" "$work/versions.map"
    done
    ;;
esac

if [ -n "$mode" ]; then
    # The rest comes from the machine's compiler driver and C library.
    for program in "$out"/*; do
        name=$(basename "$program")
        case $name in *.hsaco) cmp "$name" "$program" || exit 1 ;; esac
        llvm-objcopy-19 --dump-section ".hip_fatbin=$work/rebuilt" "$program" /dev/null 2>/dev/null || continue
        llvm-objcopy-19 --dump-section ".hip_fatbin=$work/committed" "$name" /dev/null
        cmp "$work/committed" "$work/rebuilt" || { echo "$name: run programs/build.sh" >&2; exit 1; }
    done
else
    sha256sum $(ls | grep -v -e '^SHA256SUMS$' -e '^build.sh$') >SHA256SUMS
fi
