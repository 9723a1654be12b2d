#!/bin/sh
# Runs parts of the proof on a GPU with what bring.mjs prepared. Needs sh and gzip; no network, no Node.
#   sh tools/gpu/run.sh [--small] PART…        parts: check sanitize ceilings kernels models peers
# OUT: folder of results-PART.json (default gpu-results). QUERN_GPU_KIT: the prepared folder (default gpu-kit).
# --small: tiny shapes, to rehearse on an emulated GPU.
set -eu
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
status=0
for part; do
  echo "== $part"
  "$own/node" --no-warnings "$kit/parts/$part.mjs" || status=1
done
exit $status
