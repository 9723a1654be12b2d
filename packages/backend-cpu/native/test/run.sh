#!/bin/sh
# Builds the kernels and their tests with g++ alone, checks that no ISA object exports a weak symbol, and runs the tests.
#   native/test/run.sh          FLAGS="-O1 -g -fsanitize=address,undefined" native/test/run.sh
#   native/test/run.sh bench    speed of each kernel
# CXX: another compiler. RUN: a command that starts the programs. run-arm.sh sets both.
# AMX is tested with a model of its instructions if this processor lacks AMX.
# Objects of the addon (cmake-js build) that are newer than every source serve here too: they take minutes to compile.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-$(mktemp -d)}
program=kernels-${1:-test}
cxx=${CXX:-g++}
flags="-std=c++20 -ffp-contract=off -Wall -Wextra ${FLAGS:--O3 -Werror=frame-larger-than=16384}"
: >"$build/commands"

compile() { # folder, flags, suffix of its objects
  for file in "$1"/*.cc; do
    echo "$cxx $flags $2 -c $file -o $build/isa-$(basename "$1")-$(basename "$file" .cc)${3:-.o}" >>"$build/commands"
  done
}

# Is the addon's build current, and by the same compiler and flags?
addon=../build/CMakeFiles/backend_cpu.dir/native
is_current() {
  [ -z "${FLAGS:-}" ] && [ "$cxx" = g++ ] && [ -f "../build/Release/backend_cpu.node" ] && [ -d "$addon/kernels" ] || return 1
  oldest=$(ls -tr $(find "$addon/kernels" -name '*.o') | head -n 1)
  [ -z "$(find . ../CMakeLists.txt ../../native-runtime/native -type f ! -path './test/*' -newer "$oldest" | head -n 1)" ]
}

compile_or_take() { # as compile
  is_current && [ -d "$addon/$1" ] || { compile "$@"; return; }
  for object in "$addon/$1"/*.o; do
    cp "$object" "$build/isa-$(basename "$1")-$(basename "$object" .cc.o)${3:-.o}"
  done
}

compile_x86() {
  flags="$flags -DQUERN_X86"
  grep -qsw amx_int8 /proc/cpuinfo || flags="$flags -DQUERN_EMULATE_AMX"
  compile_or_take kernels/x86/avx2 "-mavx2 -mfma -mf16c"
  # g++ 12 warns about undefined registers in its own AVX-512 header
  avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized"
  compile_or_take kernels/x86/avx512 "$avx512"
  compile_or_take kernels/x86/vnni "$avx512 -mavx512vnni"
  compile_or_take kernels/x86/bf16 "$avx512 -mavx512vnni -mavx512bf16"
  amx="$avx512 -mavx512vnni -mavx512bf16"
  if grep -qsw avx512f /proc/cpuinfo; then
    compile kernels/x86/amx "$amx"
    compile_or_take kernels/x86/amx "$amx -UQUERN_EMULATE_AMX" .real # these only have to compile
  else
    compile_or_take kernels/x86/amx "$amx -UQUERN_EMULATE_AMX" # also a model of the tile instructions needs AVX-512
  fi
}

compile_arm() {
  flags="$flags -DQUERN_ARM"
  # scheduling before register allocation makes g++ spill the tiles of products
  compile kernels/arm/neon "-march=armv8-a -fno-schedule-insns"
  compile kernels/arm/dotprod "-march=armv8.2-a+dotprod -fno-schedule-insns"
  compile kernels/arm/i8mm "-march=armv8.2-a+dotprod+i8mm -fno-schedule-insns"
}

no_weak_symbols() {
  for object in "$build"/isa-*; do
    if nm -C "$object" | grep -E ' [WVu] '; then
      echo "FAIL $object exports weak symbols" >&2
      exit 1
    fi
  done
}

compile kernels/packed ""
compile kernels/scalar ""
case $($cxx -dumpmachine) in
  x86_64*) compile_x86 ;;
  aarch64*) compile_arm ;;
esac
echo "$cxx $flags -I. -c runtime/cpu-features.cc -o $build/cpu-features.o" >>"$build/commands"
echo "$cxx $flags -c test/$program.cc -o $build/$program.o" >>"$build/commands"
tr '\n' '\0' <"$build/commands" | xargs -0 -P 2 -I {} sh -c '{}'
[ -n "${FLAGS:-}" ] || no_weak_symbols
$cxx $flags "$build"/*.o ${LDFLAGS:-} -o "$build/$program"
cd test
if [ "$program" = kernels-test ]; then
  ${RUN:-} "$build/$program" --tables | xargs -P 2 -I {} ${RUN:-} "$build/$program" {}
else
  ${RUN:-} "$build/$program"
fi
