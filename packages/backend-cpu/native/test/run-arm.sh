#!/bin/sh
# Cross-builds the kernel tests for 64-bit Arm and runs them with qemu: scalar and neon on a processor without extensions,
# the other tables on a processor with all extensions.
# Without compiler or qemu: prints a message and skips.
set -eu
cd "$(dirname "$0")"
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool (apt-get install g++-aarch64-linux-gnu qemu-user-static)"
    exit 0
  fi
done

export BUILD="$(mktemp -d)"
trap 'rm -rf "$BUILD"' EXIT
CXX=aarch64-linux-gnu-g++ LDFLAGS=-static RUN="qemu-aarch64-static -cpu cortex-a57" sh run.sh
printf '%s\n' dotprod i8mm | xargs -P 2 -I {} qemu-aarch64-static -cpu max "$BUILD/kernels-test" {}
