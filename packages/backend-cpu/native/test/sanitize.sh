#!/bin/sh
# Builds the native tests with a sanitizer and runs them.
#   native/test/sanitize.sh [address | thread | none]…     address includes undefined; default: address, thread
# Objects stay in ${BUILD:-build/sanitize} for the next run. If the compiler lacks the sanitizer's library, the script says
# so and runs the tests without a sanitizer.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${BUILD:-build/sanitize}"
build=$(cd "${BUILD:-build/sanitize}" && pwd)
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

works() { # does the compiler have what these flags need?
  echo 'int main() { return 0; }' >"$build/probe.cc"
  ${CXX:-c++} $1 "$build/probe.cc" -o "$build/probe" >"$build/probe.log" 2>&1 && "$build/probe"
}

check() { # name, flags
  mkdir -p "$build/$1"
  cmake -S . -B "$build/$1" -DQUERN_NATIVE_TESTS=ON -DQUERN_ONLY_THIS_MACHINE=true -DCMAKE_JS_INC=unused -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_FLAGS="-O1 -g1 $2" >/dev/null
  cmake --build "$build/$1" --target native-tests --parallel "$(nproc 2>/dev/null || echo 2)" >"$build/$1/log" 2>&1 ||
    { cat "$build/$1/log" >&2; exit 1; }
  echo "── $1"
  { "$build/$1/kernels-test" --tables | tac | sed 's/^/kernels-test /'; echo runtime-test; } >"$build/$1/programs"
  (cd native/test && xargs -P 2 -I {} sh -c "$build/$1/{} >'$build/$1/{}.log' 2>&1 || { cat '$build/$1/{}.log' >&2; exit 1; }") <"$build/$1/programs"
  for program in kernels-test runtime-test; do
    cat "$build/$1/$program"*.log | grep -cE '^PASS' | sed "s/$/ tests of $program passed/"
  done
}

[ $# -gt 0 ] || set -- address thread
for sanitizer in "$@"; do
  case $sanitizer in
    address) flags="-fsanitize=address,undefined -fno-sanitize-recover=all" ;;
    thread) flags="-fsanitize=thread" ;;
    none) flags="" ;;
    *) echo "sanitize.sh: '$sanitizer' is none of address, thread, none" >&2; exit 2 ;;
  esac
  if works "$flags"; then check "$sanitizer" "$flags"; continue; fi
  echo "SKIP the $sanitizer sanitizer: ${CXX:-c++} has no library for $flags; the tests run without it"
  check none ""
done
