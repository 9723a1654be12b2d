#!/bin/sh
# Builds the tests of the emulated device, runs them, and compiles the kernels with nvcc where there is one.
#   native/test/run.sh          the emulated device: that of backend-cuda's tests
#   FLAGS="-O1 -g -fsanitize=address,undefined" native/test/run.sh     all of it is built with these flags
#   native/test/run.sh 1 2 3    the tests alone, with these seeds of thread order; else with one that is drawn
#   ARCHITECTURES="80 86 89 90a 100 120" native/test/run.sh     before a release: every architecture of the addon; "": none
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$(mktemp -d)}
cxx=${CXX:-g++}
flags="-std=c++20 -Wall -Wextra -I."

# Runs a command for each line of the input, two at a time; {} is the line.
each() { xargs -P 2 -I {} sh -c "$1"; }

# Of these, compiling takes longest: they run each of very many kernels once.
brief="blocks experts products"
if [ -n "${FLAGS:-}" ]; then
  flags="$flags $FLAGS"
  level() { :; }
  ls emulated/*.cc emulated/cuda/*.cc | each "$cxx $flags -c {} -o $build/\$(basename -s .cc {}).o"
  emulated=$build/libemulated.a
  ar rcs "$emulated" "$build"/*.o
else
  node --input-type=module -e "(await import('../../backend-cuda/test/build-emulated.mjs')).buildEmulated()"
  emulated=../../backend-cuda/build/emulated/libemulated.a
  level() { case " $brief " in *" $1 "*) echo "-O0" ;; *) echo "-O1" ;; esac; }
fi
for name in $(ls test/*-test.cc | xargs -n 1 basename -s -test.cc); do
  echo "$(level "$name") test/$name-test.cc -o $build/$name-test"
done | each "$cxx $flags {} -Wl,--whole-archive $emulated -Wl,--no-whole-archive"
# Metal's classes have no part in the other tests: they take the place of NVIDIA's driver.
metal="-I../../backend-metal/native -I../../native-runtime/native"
mkdir -p "$build/metal"
ls emulated/metal/*.cc ../../native-runtime/native/quern/failure.cc | grep -v kernels.cc |
  each "$cxx $flags $metal -c {} -o $build/metal/\$(basename -s .cc {}).o"
$cxx $flags $metal test/metal/classes-test.cc "$build"/metal/*.o "$emulated" -o "$build/classes-test"
"$build/classes-test"

for seed in ${*:-${QUERN_EMULATED_SEED:-$(date +%s)}}; do
  echo "QUERN_EMULATED_SEED=$seed"
  export QUERN_EMULATED_SEED="$seed"
  ls test/*-test.cc | xargs -n 1 basename -s .cc | each "$build/{}"
done
[ $# -eq 0 ] || exit 0

if grep -rnE '^([^/]|/[^/])*\blong\b' kernels dialect | grep -vE ':typedef |long long'; then
  echo "FAIL kernels and their arguments take int64_t and uint64_t: long has 32 bits on Windows" >&2
  exit 1
fi
echo "PASS kernels and their arguments have no long"

clang=$(command -v clang++ || ls /usr/bin/clang++-* 2>/dev/null | tail -n 1)
if [ -n "$clang" ]; then
  CLANG="$clang" node test/metal/check.mjs
  CLANG="$clang" node test/metal/rules-test.mjs
else
  echo "SKIP clang is not installed: Metal's rules are not checked"
fi

node ../../../tools/gpu/sass/test.mjs

header=$(ls "${CUDA_HOME:-/usr/local/cuda}/include/cuda.h" /usr/local/cuda-*/include/cuda.h 2>/dev/null | tail -n 1)
if [ -n "$header" ]; then
  $cxx $flags -fsyntax-only -I../../backend-cuda/native -I../../native-runtime/native -isystem "$(dirname "$header")" test/driver-types.cc
  echo "PASS numbers, structures and functions of the driver are those of $header"
else
  echo "SKIP cuda.h is not installed: numbers and functions of the driver are not compared with it"
fi

architectures=${ARCHITECTURES-80 120}
if [ -z "$architectures" ]; then
  echo "SKIP no architectures: kernels are not compiled for NVIDIA's GPUs here"
elif command -v nvcc >/dev/null; then
  echo '#include "kernels/all.h"' > "$build/kernels.cu" # g++ warns of a header that is compiled by itself
  printf '%s\n' $architectures | each "nvcc -std=c++17 -I. -Werror all-warnings -Xptxas -warn-spills -arch=sm_{} -cubin -o $build/kernels-{}.cubin $build/kernels.cu"
  echo "PASS nvcc compiles every kernel for sm $architectures, without spills"
  node ../../../tools/gpu/sass-lint.mjs "$build"/kernels-*.cubin
else
  echo "SKIP nvcc is not installed: kernels are not compiled for NVIDIA's GPUs"
fi
