#!/bin/sh
# Builds the emulated device and its tests with g++, runs them, and compiles the kernels with nvcc where there is one.
#   native/test/run.sh          FLAGS="-O1 -g -fsanitize=address,undefined" native/test/run.sh
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$(mktemp -d)}
cxx=${CXX:-g++}
flags="-std=c++20 -Wall -Wextra -I. ${FLAGS:--O2}"

for file in emulated/*.cc; do $cxx $flags -c "$file" -o "$build/$(basename "$file" .cc).o"; done
for test in test/*-test.cc; do
  program=$build/$(basename "$test" .cc)
  $cxx $flags "$test" "$build"/*.o -o "$program"
  "$program"
done

for file in kernels/*.h; do echo "#include \"$file\""; done >"$build/kernels.cu"

clang=$(command -v clang++ || ls /usr/bin/clang++-* 2>/dev/null | tail -n 1)
if [ -n "$clang" ]; then
  "$clang" -std=c++14 -fsyntax-only -Wall -Wextra -Werror -DQUERN_METAL_RULES -I. -x c++ "$build/kernels.cu"
  echo "PASS kernels keep Metal's rules"
else
  echo "SKIP clang is not installed: Metal's rules are not checked"
fi

if command -v nvcc >/dev/null; then
  for arch in 80 86 89 90a 100 120; do
    nvcc -std=c++17 -I. -Werror all-warnings -Xptxas -warn-spills -arch=sm_$arch -cubin -o "$build/kernels-$arch.cubin" "$build/kernels.cu"
  done
  echo "PASS nvcc compiles every kernel"
else
  echo "SKIP nvcc is not installed: kernels are not compiled for NVIDIA's GPUs"
fi
