#!/bin/sh
# In the place of nvcc, whose kernels take minutes: a version, and a file that is no kernels.
[ "$1" != --version ] || { echo "Cuda compilation tools, release 13.0, V0.0"; exit 0; }
while [ "$1" != -o ]; do shift; done
echo "no kernels" >"$2"
