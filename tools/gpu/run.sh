#!/bin/sh
# Runs the proof on a GPU with what bring.mjs prepared. Needs sh, tar, coreutils or busybox, and xz or python3; no network, no Node.
#   sh tools/gpu/run.sh [--small] first | figures | PART…
# OUT: folder of results-PART.json and results.tar (default gpu-results). QUERN_GPU_KIT: the prepared folder (default gpu-kit).
# QUERN_GPU_SECONDS: limit of the whole command (default: of a call, its own; of parts, 540).
# --small: tiny shapes, for a dry run on an emulated GPU.
set -eu
QUERN_GPU_BEGAN=$(date +%s)
export QUERN_GPU_BEGAN
root=$(cd "$(dirname "$0")/../.." && pwd)
kit=${QUERN_GPU_KIT:-$root/gpu-kit}
OUT=${OUT:-$root/gpu-results}
if [ "${1:-}" = --small ]; then
  export QUERN_GPU_SMALL=1
  shift
fi
if [ ! -f "$kit/kit.json" ]; then
  echo "run.sh: $kit is not there; make it where there is nvcc: node tools/gpu/bring.mjs" >&2
  exit 2
fi
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
export OUT
own=
trap 'if [ -n "$own" ]; then rm -rf "$own"; fi' EXIT

# kit.tar, however it is packed.
unpacked() {
  if [ -f "$kit/kit.tar.gz" ]; then gzip -dc "$kit/kit.tar.gz"
  elif command -v xz > /dev/null; then xz -dc "$kit/kit.tar.xz"
  elif command -v python3 > /dev/null; then
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer, 1 << 20)' "$kit/kit.tar.xz"
  else
    echo 'run.sh: neither xz nor python3 is there; make the kit with: node tools/gpu/bring.mjs --gzip' >&2
    return 2
  fi
}
# A folder with the kit, whose programs run: OUT or the kit's where the system's temporary folder forbids to run programs, or is full.
make_own() {
  own=$(mktemp -d "$1/quern-XXXXXX") || return 1
  printf '#!/bin/sh\n' > "$own/try"
  chmod +x "$own/try"
  if ! "$own/try" 2> /dev/null; then echo "run.sh: programs cannot run in $1" >&2
  elif unpacked | tar -xf - -C "$own" && "$own/node" --version > /dev/null; then return 0
  else echo "run.sh: the kit could not be unpacked in $1" >&2
  fi
  rm -rf "$own"
  own=
  return 1
}
for folder in "${TMPDIR:-/tmp}" "$OUT" "$kit"; do
  if make_own "$folder"; then break; fi
done
if [ -z "$own" ]; then exit 2; fi
if [ "$folder" != "${TMPDIR:-/tmp}" ]; then echo "programs run in $own"; fi
# Where containers have NVIDIA's driver.
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/local/nvidia/lib"
# Where CUDA's tools are, if not in PATH.
PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
for tools in /opt/nvidia/nsight-compute/*; do PATH="$PATH:$tools"; done
export PATH
# node and the addon, with the system's libraries if they do, otherwise with the kit's.
starts() {
  "$own/node" -e 'process.dlopen({ exports: {} }, process.argv[1])' \
    "$own/node_modules/@quern/backend-cuda/build/Release/backend_cuda.node"
}
if ! starts 2> /dev/null; then
  export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$own/lib"
  echo "with libstdc++ and libgcc_s of the kit"
  if ! starts; then
    echo "run.sh: node or the addon does not start; bring.mjs prints the glibc that they need" >&2
    exit 2
  fi
fi
# An emulated GPU takes the place of NVIDIA's driver.
if [ -f "$own/libcuda.so" ]; then export QUERN_CUDA_LIBRARY="$own/libcuda.so"; fi
export QUERN_GPU_DETAILS="$own/results"
mkdir "$QUERN_GPU_DETAILS"
child=
trap 'if [ -n "$child" ]; then kill "$child"; fi' INT TERM
"$own/node" --no-warnings "$own/parts/run.mjs" "$@" &
child=$!
status=0
wait $child || status=$?
# After a signal the child still packs.
wait $child || status=$?
exit $status
