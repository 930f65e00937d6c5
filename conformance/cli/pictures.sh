#!/usr/bin/env bash
# Makes the pictures of the READMEs from real runs, in pictures/. Needs Chromium (Debian: apt-get install chromium) and a built assay.
#
#   conformance/cli/pictures.sh [ASSAY]     ASSAY is target/release/assay unless given
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
assay=$(realpath "${1:-$root/target/release/assay}")
pictures=$root/conformance/cli/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# picture NAME PAGE WIDTH HEIGHT light|dark
picture() {
  local scheme=1
  [[ $5 == dark ]] && scheme=0
  # A window of Chromium is at least 500 pixels wide, a frame inside it may be as narrow as a phone.
  printf '<body style="margin:0"><iframe src="%s" style="border:0;width:%spx;height:%spx"></iframe>' "$2" "$3" "$4" > frame.html
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
    --blink-settings=preferredColorScheme=$scheme --window-size="$3,$4" --screenshot="$pictures/$1.png" "file://$work/frame.html" 2> chromium.log ||
    { cat chromium.log >&2; exit 1; }
  local bytes
  bytes=$(stat -c %s "$pictures/$1.png")
  (( bytes < 150000 )) || { echo "$1.png has $bytes bytes, at most 150000 are wanted" >&2; exit 1; }
  echo "$1.png: $bytes bytes"
}

# A sweep in which one kernel is wrong on purpose; it ends with 1.
"$assay" check --backend cpu,soft,soft:matmul-nibbles-swapped --html report.html > report.txt || (( $? == 1 ))
picture report report.html 1000 1110 light
picture report-dark report.html 1000 1110 dark
picture report-phone report.html 390 844 light

# Two runs of a tiny model, of which one rotates by the wrong position in layer 1.
"$assay" diff -m "$root/golden/tiny/llama.gguf" -p 'the quick brown fox' --right mutant:rope-position-plus-one@layer=1 -n 4 --collect \
  --html diff.html > diff.txt || (( $? == 1 ))
picture diff diff.html 960 1040 light
