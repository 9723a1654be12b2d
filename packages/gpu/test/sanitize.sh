#!/bin/sh
# Jest tests with the addon and the emulated GPU under the address and undefined sanitizers. The first report ends the run.
#   sh packages/gpu/test/sanitize.sh cuda [pattern]…     or metal; default: the conformance kit and the failures
# Node has no instrumentation of its own: the sanitizer's library comes first by LD_PRELOAD. Leaks are not looked for.
set -eu
cd "$(dirname "$0")/../../.."
name=${1:?cuda or metal}
shift
[ $# -gt 0 ] || set -- "packages/backend-$name/test/conformance" "packages/backend-$name/test/failure"
export QUERN_TEST=all QUERN_SANITIZE=1
node --input-type=module -e "(await import('./packages/backend-$name/test/build-emulated.mjs')).buildEmulated()"
library() { ${CXX:-c++} -print-file-name="$1"; }
export ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
LD_PRELOAD="$(library libasan.so) $(library libstdc++.so)" exec node --experimental-vm-modules --no-warnings \
  node_modules/jest/bin/jest.js --runInBand --testTimeout=600000 "$@"
