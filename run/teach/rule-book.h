/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The rules of docs/rules at the time of the build, from scripts/rule-book.awk. */
typedef struct {
    const char *id;       /* "PVC-25"; NULL: the end */
    const char *sentence; /* its sentence, in English */
    const char *book;     /* "pv-controller.md" */
} RuleBookEntry;

/* Sorted by id. */
extern const RuleBookEntry rule_book[];

/* Translatable sentences of docs/plain-words.md for readers without the rule books. Sorted by id.
 */
typedef struct {
    const char *id; /* NULL: the end */
    const char *words;
} RulePlainWords;

extern const RulePlainWords rule_plain_words[];

/* @id: from a trace; if no book has "PVC-21.3" or "RSZ-54.1a", the table or rule around it is
 * found. Returns: (borrowed): NULL if no book has it */
const RuleBookEntry *rule_book_find(const char *id);
/* Returns: (static): the plain words for a rule, otherwise the book's sentence; NULL if no book has
 * it */
const char *rule_book_words(const char *id);
