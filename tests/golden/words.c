/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "words.h"

#define UID "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

struct GoldenWords {
    GRegex *names; /* one alternative, and so one group, for each of the kinds below */
};

/* Letters of generated names and hashes. */
#define DRAWN "[bcdfghjklmnpqrstvwxz2456789]"

enum { VOLUME = 1, SNAPSHOT, ATTACHMENT, NODE, UID_ALONE, VERSION, GENERATED };

GoldenWords *
words_new(const char *const *nodes)
{
    GoldenWords *self = g_new0(GoldenWords, 1);
    g_autoptr(GString) pattern =
        g_string_new("(pvc-" UID ")|(snap[a-z]*-" UID ")|(csi-[0-9a-f]{64})|\\b(");
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; nodes[i] != NULL; i++) {
        g_autofree char *node = g_regex_escape_string(nodes[i], -1);
        g_string_append_printf(pattern, "%s%s", i == 0 ? "" : "|", node);
    }
    g_string_append(pattern, ")\\b|(" UID
                             ")|((?i)resource ?version\\W{1,4}\\d+)|\\b([a-z0-9][-a-z0-9]*-" DRAWN
                             "{6,10}(?:-" DRAWN "{5})?)\\b");
    self->names = g_regex_new(pattern->str, G_REGEX_OPTIMIZE, 0, &error);
    g_assert_no_error(error);
    return self;
}

void
words_free(GoldenWords *self)
{
    if (self == NULL)
        return;
    g_regex_unref(self->names);
    g_free(self);
}

static gboolean
replace_name(const GMatchInfo *match, GString *result, void *data)
{
    GHashTable *labels = data;
    g_autofree char *name = g_match_info_fetch(match, 0);
    const char *label = g_hash_table_lookup(labels, name);
    int start;

    if (g_match_info_fetch_pos(match, VOLUME, &start, NULL) && start >= 0)
        g_string_append_printf(result, "<volume of %s>", label == NULL ? "nobody" : label);
    else if (g_match_info_fetch_pos(match, SNAPSHOT, &start, NULL) && start >= 0)
        g_string_append_printf(result, "<snapshot %s>", label == NULL ? "of nobody" : label);
    else if (g_match_info_fetch_pos(match, VERSION, &start, NULL) && start >= 0)
        g_string_append(result, "<resource version>");
    else if (g_match_info_fetch_pos(match, ATTACHMENT, &start, NULL) && start >= 0)
        g_string_append(result, "<attachment>");
    else if (g_match_info_fetch_pos(match, NODE, &start, NULL) && start >= 0)
        g_string_append(result, "<node>");
    else if (g_match_info_fetch_pos(match, GENERATED, &start, NULL) && start >= 0)
        g_string_append(result, label == NULL ? name : label);
    else
        g_string_append(result, "<uid>");
    return FALSE;
}

char *
words_without_names(const GoldenWords *self, const char *text, GHashTable *labels)
{
    return g_regex_replace_eval(self->names, text, -1, 0, 0, replace_name, labels, NULL);
}
