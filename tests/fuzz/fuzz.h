/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What targets of the fuzzer do with bytes beside giving them to a command. All run in the scratch
 * folder, which has the files of tests/fuzz/files/. @text ends with a zero byte, which @length does
 * not count. */

/* ---- takes.c ---- */

void take_json_path(const char *text, gsize length); /* a template */
void take_selector(const char *text, gsize length);  /* of labels or of fields */
/* A line of words after "kubectl", then JSON: the list of all objects. */
void take_kubectl(const char *text, gsize length);
void take_patch(const char *text, gsize length); /* lines: a stored object, a body */
void take_step(const char *text, gsize length);  /* lines of `kvolsim step` */
/* SQL, which changes db.sqlite and makes input.sqlite of it */
void take_sql(const char *text, gsize length);
/* A journal in which HASH stands for that of base.yaml becomes input.jsonl. */
void put_hash(const char *text, gsize length);
/* The ledger of the state folder "state". */
void put_ledger(const char *text, gsize length);
/* summary.json gets the digest of run/objects.csv */
void seal_results(const char *text, gsize length);

/* ---- http.c, csi.c: as far as these parts are built ---- */

/* Requests to a new cluster, one after the other. Each is "METHOD PATH?QUERY", a line with the type
 * of the body, one with the types that are accepted, and a body up to the next line "===". */
void take_http(const char *text, gsize length);
/* The number of a method, then its request. It is read as an answer, too. */
void take_csi(const char *text, gsize length);

/* ---- fuzz.c ---- */

/* A promise was not kept. */
void fuzz_fail(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;
/* Writes a file into the scratch folder. */
void fuzz_write(const char *name, const char *text, gsize length);
