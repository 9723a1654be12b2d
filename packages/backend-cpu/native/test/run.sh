#!/bin/sh
# Builds the kernels and their tests with g++ alone, checks that no ISA object exports a weak symbol, and runs the tests.
#   native/test/run.sh [bench]          FLAGS="-O1 -g -fsanitize=address,undefined" native/test/run.sh
# CXX: another compiler. RUN: a command that starts the programs. run-arm.sh sets both.
# AMX is tested with a model of its instructions if this processor lacks AMX; code with the real instructions is compiled
# anyway.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$(mktemp -d)}
program=kernels-${1:-test}
cxx=${CXX:-g++}
flags="-std=c++20 -ffp-contract=off -Wall -Wextra ${FLAGS:--O3 -Werror=frame-larger-than=16384}"

compile() { # folder, flags
  for file in "$1"/*.cc; do
    object=$build/$(basename "$1")-$(basename "$file" .cc).o
    $cxx $flags $2 -c "$file" -o "$object"
    if [ -z "${FLAGS:-}" ] && nm -C "$object" | grep -E ' [WVu] '; then
      echo "FAIL $file exports weak symbols" >&2
      exit 1
    fi
  done
}

compile_x86() {
  flags="$flags -DQUERN_X86"
  grep -qsw amx_int8 /proc/cpuinfo || flags="$flags -DQUERN_EMULATE_AMX"
  compile kernels/x86/avx2 "-mavx2 -mfma -mf16c"
  # g++ 12 warns about undefined registers in its own AVX-512 header
  compile kernels/x86/avx512 "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized"
  compile kernels/x86/vnni "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized"
  compile kernels/x86/bf16 "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16 -mavx2 -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized"
  amx="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16 -mavx2 -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized"
  compile kernels/x86/amx "$amx -UQUERN_EMULATE_AMX"
  compile kernels/x86/amx "$amx" # overwrites the objects above; those only had to compile
  $cxx $flags -I. -c runtime/cpu-features.cc -o "$build/cpu-features.o"
}

compile_arm() {
  flags="$flags -DQUERN_ARM"
  # scheduling before register allocation makes g++ spill the tiles of products
  compile kernels/arm/neon "-march=armv8-a -fno-schedule-insns"
  compile kernels/arm/dotprod "-march=armv8.2-a+dotprod -fno-schedule-insns"
  compile kernels/arm/i8mm "-march=armv8.2-a+dotprod+i8mm -fno-schedule-insns"
}

compile kernels/packed ""
compile kernels/scalar ""
case $($cxx -dumpmachine) in
  x86_64*) compile_x86 ;;
  aarch64*) compile_arm ;;
esac
$cxx $flags "test/$program.cc" "$build"/*.o ${LDFLAGS:-} -o "$build/$program"
cd test
${RUN:-} "$build/$program"
