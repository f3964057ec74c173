/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "labels.h"

#include <string.h>

static const char *
labels_value_of(const StringMap *labels, const char *key)
{
    for (unsigned i = 0; labels != NULL && i < labels->n_pairs; i++)
        if (strcmp(labels->pairs[i].key, key) == 0)
            return labels->pairs[i].value;
    return NULL;
}

/* "app=web", "app==web", "app!=web", "app", "!app" */
static gboolean
meets(const char *requirement, const StringMap *labels)
{
    gboolean is_absent = requirement[0] == '!';
    const char *text = requirement + is_absent;
    gsize length = strcspn(text, "!=");
    g_autofree char *key = g_strndup(text, length);
    const char *value = labels_value_of(labels, key);

    if (text[length] == '\0')
        return (value == NULL) == is_absent;
    gboolean differs = text[length] == '!';
    const char *wanted = text + length + strspn(text + length, "!=");
    return (value != NULL && strcmp(value, wanted) == 0) != differs;
}

gboolean
labels_match(const char *text, const StringMap *labels)
{
    g_auto(GStrv) requirements = g_strsplit(text, ",", -1);

    for (unsigned i = 0; requirements[i] != NULL; i++)
        if (!meets(g_strstrip(requirements[i]), labels))
            return FALSE;
    return TRUE;
}

const char *
labels_text_fault(const char *text)
{
    g_auto(GStrv) requirements = g_strsplit(text, ",", -1);

    if (strpbrk(text, "()") != NULL)
        return "sets are not known here: write app=web, app!=web, app or !app";
    for (unsigned i = 0; requirements[i] != NULL; i++) {
        const char *requirement = g_strstrip(requirements[i]);
        if (requirement[strspn(requirement, "!")] == '\0' || requirement[0] == '=')
            return "such as app=web,tier!=front";
    }
    return NULL;
}
