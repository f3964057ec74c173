#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A validator of OpenAPI and a generator of types take all documents of four releases: openapi-tools.mjs. ./check fetches both.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the documents of the plain build are the same"
tools=${KVOLSIM_OPENAPI_TOOLS:-$KVOLSIM_SRCDIR/build/tools/openapi}
command -v node >/dev/null || skip_all "node is not here"
[ -d "$tools/node_modules" ] || skip_all "no validator is in build/tools/openapi (./check fetches it)"
cp "$KVOLSIM_SRCDIR/tests/serve/openapi-tools.mjs" . && ln -s "$tools/node_modules" node_modules || exit 1
print=$KVOLSIM_BUILDDIR/tests/serve/print-document
for minor in 18 25 32 36; do
    node openapi-tools.mjs "$print" $minor >out 2>err
    result $? "both programs take all documents of 1.$minor"
done
cases_end
