#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints the program of another build, to compare with: BASE is its build folder, or a revision of git, which is then built.
#   base.sh SOURCE_DIR BUILD_DIR BASE
set -eu
source=$(cd "$1" && pwd)
base=$3
if [ -x "$base/kvolsim" ]; then
    (cd "$base" && echo "$PWD/kvolsim")
    exit
fi
revision=$(git -C "$source" rev-parse --verify --short "$base^{commit}") ||
    { echo "base.sh: $base is neither a build folder nor a revision" >&2; exit 1; }
folder=$2/bench-base/$revision
if [ ! -x "$folder/build/kvolsim" ]; then
    mkdir -p "$folder"
    git -C "$source" archive "$revision" | tar -x -C "$folder"
    (cd "$folder" && autoreconf -i && mkdir -p build && cd build && ../configure -q && make -s kvolsim) >&2
fi
(cd "$folder/build" && echo "$PWD/kvolsim")
