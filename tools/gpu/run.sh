#!/bin/sh
# Runs parts of the proof on a GPU with what bring.mjs prepared. Needs sh, gzip, tar, coreutils or busybox; no network, no Node.
#   sh tools/gpu/run.sh [--small] PART…        parts: check sanitize ceilings kernels choices models peers
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
own=
trap 'if [ -n "$own" ]; then rm -rf "$own"; fi' EXIT

# A folder for programs: OUT or the kit where the system's temporary folder forbids to run them.
make_own() {
  own=$(mktemp -d "$1/quern-XXXXXX") || return 1
  printf '#!/bin/sh\n' > "$own/try"
  chmod +x "$own/try"
  if "$own/try" 2> /dev/null; then return 0; fi
  rm -rf "$own"
  own=
  return 1
}
for folder in "${TMPDIR:-/tmp}" "$OUT" "$kit"; do
  if make_own "$folder"; then break; fi
  echo "run.sh: programs cannot run in $folder" >&2
done
if [ -z "$own" ]; then exit 2; fi
if [ "$folder" != "${TMPDIR:-/tmp}" ]; then echo "programs run in $own"; fi
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
# node and the addon, with the system's libraries if they do, otherwise with the kit's.
starts() {
  "$own/node" -e 'process.dlopen({ exports: {} }, process.argv[1])' \
    "$kit/node_modules/@quern/backend-cuda/build/Release/backend_cuda.node"
}
if ! starts 2> /dev/null; then
  export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$kit/lib"
  echo "with libstdc++ and libgcc_s of $kit/lib"
  if ! starts; then
    echo "run.sh: node or the addon does not start; bring.mjs tells the glibc that they need" >&2
    exit 2
  fi
fi
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
