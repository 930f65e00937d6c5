#!/bin/sh
# Assembles every instruction that the tests name (in string literals, `;` separates them) into words.txt.
# Needs llvm-mc-19. With --check it fails if the file there differs.
set -eu
cd "$(dirname "$0")"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
    grep -hoE '"[^"]*"' ./*.rs | tr -d '"' | tr ';' '\n' | sed 's/^[ {}a-zA-Z]*}//; s/^ *//; s/ *$//' |
        grep -E '^(v|s|ds|global|flat|scratch|buffer)_[a-z0-9_]+( |$)' | grep -v '[{\]'
    for n in $(seq 0 63); do echo "s_waitcnt vmcnt($n)"; done
    for n in $(seq 0 15); do echo "s_waitcnt lgkmcnt($n)"; done
    for n in $(seq 0 7); do echo "s_waitcnt expcnt($n)"; done
} | grep . | LC_ALL=C sort -u | while read -r text; do
    words=$(printf '%s\n' "$text" | "${LLVM_MC:-llvm-mc-19}" -triple=amdgcn -mcpu=gfx942 -show-encoding 2>/dev/null |
        sed -n 's/.*encoding: \[\(.*\)\].*/\1/p' | sed 's/0x//g; s/,//g')
    [ -n "$words" ] || { echo "cannot assemble: $text" >&2; exit 1; }
    echo "$words $text"
done >"$out"
if [ "${1:-}" = --check ]; then
    cmp "$out" words.txt
else
    cp "$out" words.txt
fi
