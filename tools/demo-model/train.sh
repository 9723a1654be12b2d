#!/bin/sh
# Makes the demo model from nothing: grammar → tokenizer → training → GGUF. Training state goes to $1.
#
#   ./train.sh [folder for training state] [steps]
#
# PYTHON names an interpreter that has PyTorch and NumPy.
set -eu
cd "$(dirname "$0")"
out=${1:-${TMPDIR:-/tmp}/quern-demo-model}
steps=${2:-2200}
python=${PYTHON:-python3}

nice -n 19 "$python" train.py --out "$out" --steps "$steps"
"$python" export.py --out "$out" --package ../../packages/demo-model
"$python" sample.py --out "$out" "Once upon a time" "In the village of" "chat: Tell me a story about a fox."
