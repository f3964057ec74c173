/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rule-book.h"

#include <glib.h>
#include <string.h>

/* Makes "PVC-21" of "PVC-21.3", and "RSZ-54.1" of "RSZ-54.1a". Returns: FALSE if @id has no parent
 */
static gboolean
to_parent(char *id)
{
    gsize length = strlen(id);
    char *dot = strrchr(id, '.');

    if (length > 0 && g_ascii_islower(id[length - 1]))
        id[length - 1] = '\0';
    else if (dot != NULL)
        *dot = '\0';
    else
        return FALSE;
    return TRUE;
}

const RuleBookEntry *
rule_book_find(const char *id)
{
    g_autofree char *name = g_strdup(id);

    do {
        for (const RuleBookEntry *entry = rule_book; entry->id != NULL; entry++)
            if (strcmp(entry->id, name) == 0)
                return entry;
    } while (to_parent(name));
    return NULL;
}

const char *
rule_book_words(const char *id)
{
    const RuleBookEntry *rule = rule_book_find(id);

    for (const RulePlainWords *entry = rule_plain_words; entry->id != NULL; entry++)
        if (strcmp(entry->id, id) == 0)
            return entry->words;
    return rule != NULL ? rule->sentence : NULL;
}
