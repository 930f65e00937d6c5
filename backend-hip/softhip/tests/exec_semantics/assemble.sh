#!/bin/sh
# Assembles every snippet that the tests name (string literals that begin with an instruction) into words.txt.
# Needs llvm-mc-19. With --check it fails if the file there differs.
set -eu
cd "$(dirname "$0")"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
grep -hoE '"(v|s|ds|global|flat|scratch|t?buffer)_[a-z0-9_]+ [^"]*"' ./*.rs | tr -d '"'
    # The compares, and the 8-bit formats, are named by loops.
    for ty in f16 f32 f64 i16 u16 i32 u32 i64 u64; do
        case $ty in *64) regs="v[0:1], v[2:3]" ;; *) regs="v0, v2" ;; esac
        case $ty in
        f*)
            for name in f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru; do
                echo "v_cmp_${name}_${ty}_e32 vcc, $regs"
                echo "v_cmpx_${name}_${ty}_e32 vcc, $regs"
            done
            ;;
        *)
            for name in f lt eq le gt ne ge t; do
                echo "v_cmp_${name}_${ty}_e64 s[30:31], $regs"
                echo "v_cmpx_${name}_${ty}_e32 vcc, $regs"
            done
            ;;
        esac
    done
    for name in fp8 bf8; do
        echo "v_cvt_f32_${name}_e32 v6, v0"
        echo "v_cvt_pk_${name}_f32 v6, v0, v2"
        echo "v_cvt_pk_${name}_f32 v6, v0, v2 op_sel:[0,0,1]"
        echo "v_cvt_pk_f32_${name}_e32 v[6:7], v0"
        echo "v_cvt_sr_${name}_f32 v6, v0, v2"
    done
} | LC_ALL=C sort -u | while read -r text; do
    listing=$(printf '%s\n' "$text" | tr ';' '\n' | "${LLVM_MC:-llvm-mc-19}" -triple=amdgcn -mcpu=gfx942 -show-encoding 2>/dev/null) ||
        { echo "cannot assemble: $text" >&2; exit 1; }
    words=$(printf '%s\n' "$listing" |
        sed -n 's/.*encoding: \[\(.*\)\].*/\1/p' | tr -d ' ' | tr '\n' ',' | sed 's/0x//g; s/,//g')
    [ -n "$words" ] || { echo "cannot assemble: $text" >&2; exit 1; }
    echo "$words $text"
done >"$out"
if [ "${1:-}" = --check ]; then
    cmp "$out" words.txt
else
    cp "$out" words.txt
fi
