#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `make dist` packs is what git tracks, and what `make install` puts down works wherever it is moved to, and goes again.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
needs import study teach loop
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"
unset MAKEFLAGS MFLAGS MAKELEVEL TESTS
command -v make >/dev/null || skip_all "no make"

# ---- The tarball ----
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    make -C "$builddir" distdir distdir="$scratch/dist" >"$scratch/out" 2>&1
    result $? "make distdir" "$scratch/out"
    (cd "$scratch/dist" && find . -type f | sed 's|^\./||') | sort >"$scratch/packed"
    tree_files | sort | comm -23 - "$scratch/packed" >"$scratch/out"
    case_result "every file that git tracks is in the tarball" "$scratch/out"
    # What autoreconf makes, so that a user needs no autotools.
    tree_files | sort | comm -13 - "$scratch/packed" |
        grep -vxE 'Makefile\.in|aclocal\.m4|config\.h\.in|configure|build-aux/.*' >"$scratch/out"
    case_result "nothing else is, but the build system" "$scratch/out"
else
    case_skip "the tarball" "no git"
fi

# ---- Installed, moved, uninstalled ----
prefix=$(sed -n 's/^prefix = //p' "$builddir/Makefile")
make -C "$builddir" install DESTDIR="$scratch/stage" >"$scratch/out" 2>&1
result $? "make install DESTDIR=" "$scratch/out"
mv "$scratch/stage$prefix" "$scratch/moved"
moved=$scratch/moved/bin/kvolsim
cd "$scratch" || exit 1
"$moved" run scenarios/wait-for-first-consumer.yaml >out 2>err
result $? "moved elsewhere, it finds its scenarios"
"$moved" profiles show generic >out 2>err && "$moved" teach >out 2>err && "$moved" teach --lang zh >zh 2>err
result $? "... its profiles and lessons"
! cmp -s out zh
result $? "... and its other languages"
"$moved" validate --help >out 2>err
result $? "... and the program for networks" err
mkdir -p "$scratch/stage${prefix%/*}" && mv "$scratch/moved" "$scratch/stage$prefix"
make -C "$builddir" uninstall DESTDIR="$scratch/stage" >"$scratch/out" 2>&1
result $? "make uninstall DESTDIR=" "$scratch/out"
(cd "$scratch/stage$prefix" && find . -mindepth 1 ! -path ./bin ! -path ./share ! -path ./share/man) >"$scratch/out"
case_result "nothing is left but bin, share and share/man" "$scratch/out"

# ---- The program names no folder of this machine ----
LC_ALL=C tr -c '[:print:]' '\n' <"$builddir/kvolsim" | grep -F -e "$KVOLSIM_SRCDIR" -e "$builddir" | sort -u | head >"$scratch/out"
case_result "no folder of the build is in the program" "$scratch/out"
cases_end
