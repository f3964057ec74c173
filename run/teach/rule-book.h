/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The rules of docs/rules, as the program was built with them: made by scripts/rule-book.awk. */
typedef struct {
    const char *id;       /* "PVC-25"; NULL: the end */
    const char *sentence; /* what it says, in English */
    const char *book;     /* "pv-controller.md" */
} RuleBookEntry;

/* Sorted by id. */
extern const RuleBookEntry rule_book[];

/* What docs/plain-words.md says of some of them, for who does not know the books; these are
 * translated. Sorted by id. */
typedef struct {
    const char *id; /* NULL: the end */
    const char *words;
} RulePlainWords;

extern const RulePlainWords rule_plain_words[];

/* @id: as a trace has it: of "PVC-21.3" and "RSZ-54.1a" the table or rule that it is a part of will
 * do. Returns: (borrowed): NULL: no book has it */
const RuleBookEntry *rule_book_find(const char *id);
/* One sentence: in plain words if there are any, else the book's. Returns: static: NULL: no book
 * has it */
const char *rule_book_words(const char *id);
