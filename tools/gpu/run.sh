#!/bin/sh
# Runs parts of the proof on a GPU with what bring.mjs prepared. Needs sh, gzip, tar, coreutils or busybox; no network, no Node.
#   sh tools/gpu/run.sh [--small] PART…        parts: check sanitize ceilings kernels models peers
# OUT: folder of results-PART.json and results.tar (default gpu-results). QUERN_GPU_KIT: the prepared folder (default gpu-kit).
# QUERN_GPU_SECONDS: limit of the whole command, all parts together (default 540).
# --small: tiny shapes, to rehearse on an emulated GPU.
set -eu
began=$(date +%s)
root=$(cd "$(dirname "$0")/../.." && pwd)
kit=${QUERN_GPU_KIT:-$root/gpu-kit}
export OUT="${OUT:-$root/gpu-results}"
if [ "${1:-}" = --small ]; then
  export QUERN_GPU_SMALL=1
  shift
fi
if [ ! -f "$kit/kit.json" ]; then
  echo "run.sh: $kit is not there; make it where there is nvcc: node tools/gpu/bring.mjs" >&2
  exit 2
fi
if [ $# = 0 ]; then
  echo "run.sh: name parts, such as: sh tools/gpu/run.sh check" >&2
  exit 2
fi
for part; do
  if [ ! -f "$kit/parts/$part.mjs" ]; then
    echo "run.sh: there is no part '$part'" >&2
    exit 2
  fi
done
mkdir -p "$OUT"
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
gzip -dc "$kit/node.gz" > "$own/node"
chmod +x "$own/node"
# Copies may have lost the right to run.
if [ -f "$kit/probe" ]; then
  cp "$kit/probe" "$own/probe"
  chmod +x "$own/probe"
  export QUERN_GPU_PROBE="$own/probe"
fi
# Where containers have NVIDIA's driver.
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/local/nvidia/lib"
# An emulated GPU takes the place of NVIDIA's driver.
if [ -f "$kit/libcuda.so" ]; then export QUERN_CUDA_LIBRARY="$kit/libcuda.so"; fi
export QUERN_GPU_END=$((began + ${QUERN_GPU_SECONDS:-540}))
export QUERN_GPU_DETAILS="$own/results"
mkdir "$QUERN_GPU_DETAILS"

# All results and reports as one file, whole at any time.
pack() {
  for results in "$OUT"/results-*.json; do
    if [ -f "$results" ]; then cp "$results" "$own/results/"; fi
  done
  tar -cf "$OUT/results.tar.new" -C "$own/results" .
  mv "$OUT/results.tar.new" "$OUT/results.tar"
}

child=
trap 'if [ -n "$child" ]; then kill "$child"; fi; pack; exit 1' INT TERM
QUERN_GPU_FOLLOWING=$#
export QUERN_GPU_FOLLOWING
status=0
for part; do
  QUERN_GPU_FOLLOWING=$((QUERN_GPU_FOLLOWING - 1))
  left=$((QUERN_GPU_END - $(date +%s)))
  echo "== $part"
  if [ $left -lt 10 ]; then
    echo "$part was not started: the time is up" >&2
    status=1
    continue
  fi
  rm -f "$OUT/results-$part.json"
  # A part ends by itself; a kernel that hangs does not.
  timeout -k 5 $((left + 20)) "$own/node" --no-warnings "$kit/parts/$part.mjs" &
  child=$!
  ended=0
  wait $child || ended=$?
  child=
  case $ended in
    0) ;;
    124 | 137) echo "$part was stopped: it did not end in time" >&2 && status=1 ;;
    *) status=1 ;;
  esac
  pack
done
exit $status
