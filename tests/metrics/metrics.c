/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/strings.h"

/* Compares the metrics.prom of a run with scrapes of real components: metrics RUN FILE.prom...
 *
 * Of each family that both have: its HELP and TYPE, the names of its labels, and its buckets, must
 * be those of the real one. Labels that only say whose the series are aside: job here,
 * system_client of the scraped API server. A family of the scrapes that the run has not is skipped:
 * nothing of it happened, or the model does not know it. One of the run that no scrape has is
 * skipped too. */

typedef struct {
    char *name, *help, *type;
    GPtrArray *labels;  /* set of "a,b,c" (owned): labels of its series, in order */
    GPtrArray *buckets; /* set of "0.1 0.25 +Inf" (owned) */
    GString *bounds;    /* of the series being read */
} ScrapedFamily;

static void
family_free(void *data)
{
    ScrapedFamily *family = data;

    g_free(family->name);
    g_free(family->help);
    g_free(family->type);
    g_ptr_array_unref(family->labels);
    g_ptr_array_unref(family->buckets);
    g_string_free(family->bounds, TRUE);
    g_free(family);
}

/* Returns: the family of a sample: its name without a histogram's suffix */
static ScrapedFamily *
family_of(GHashTable *families, const char *sample, gsize length)
{
    static const char *const suffixes[] = {"", "_bucket", "_sum", "_count"};
    g_autofree char *name = g_strndup(sample, length);

    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (!g_str_has_suffix(name, suffixes[i]))
            continue;
        g_autofree char *base = g_strndup(name, strlen(name) - strlen(suffixes[i]));
        ScrapedFamily *family = g_hash_table_lookup(families, base);
        if (family != NULL)
            return family;
    }
    return NULL;
}

static ScrapedFamily *
add_family(GHashTable *families, const char *name)
{
    ScrapedFamily *family = g_hash_table_lookup(families, name);

    if (family != NULL)
        return family;
    family = g_new0(ScrapedFamily, 1);
    family->name = g_strdup(name);
    family->labels = g_ptr_array_new_with_free_func(g_free);
    family->buckets = g_ptr_array_new_with_free_func(g_free);
    family->bounds = g_string_new(NULL);
    g_hash_table_insert(families, family->name, family);
    return family;
}

static void
add_to_set(GPtrArray *set, const char *text)
{
    if (!g_ptr_array_find_with_equal_func(set, text, g_str_equal, NULL))
        g_ptr_array_add(set, g_strdup(text));
}

/* Reads name="value", ... up to the closing brace. Values may hold anything, escaped. Returns: the
 * bound of a bucket (owned), or NULL */
static char *
read_labels(const char *text, GString *names)
{
    char *bound = NULL;

    while (*text != '}' && *text != '\0') {
        const char *equals = strchr(text, '=');
        g_autofree char *name = g_strndup(text, (gsize)(equals - text));
        const char *value = equals + 2, *end = value;
        while (*end != '"' && *end != '\0')
            end += *end == '\\' && end[1] != '\0' ? 2 : 1;
        if (g_str_equal(name, "le"))
            bound = g_strndup(value, (gsize)(end - value));
        else if (!g_str_equal(name, "job") && !g_str_equal(name, "system_client"))
            g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ",", name);
        text = end + 1;
        text += *text == ',';
    }
    return bound;
}

static void
read_sample(GHashTable *families, const char *line)
{
    gsize length = strcspn(line, "{ ");
    ScrapedFamily *family = family_of(families, line, length);
    g_autoptr(GString) names = g_string_new(NULL);
    g_autofree char *bound = line[length] == '{' ? read_labels(line + length + 1, names) : NULL;

    if (family == NULL)
        return;
    add_to_set(family->labels, names->str);
    if (bound == NULL)
        return;
    g_string_append_printf(family->bounds, "%s ", bound);
    if (g_str_equal(bound, "+Inf")) {
        add_to_set(family->buckets, family->bounds->str);
        g_string_truncate(family->bounds, 0);
    }
}

static gboolean
metrics_read_file(GHashTable *families, const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", 4);
        unsigned n = g_strv_length(words);
        if (n == 4 && g_str_equal(words[0], "#") &&
            (g_str_equal(words[1], "HELP") || g_str_equal(words[1], "TYPE"))) {
            ScrapedFamily *family = add_family(families, words[2]);
            char **place = g_str_equal(words[1], "HELP") ? &family->help : &family->type;
            g_free(*place);
            *place = g_strdup(words[3]);
        } else if (lines[i][0] != '#' && lines[i][0] != '\0') {
            read_sample(families, lines[i]);
        }
    }
    return TRUE;
}

static gboolean
same(const char *name, const char *what, const char *ours, const char *theirs)
{
    if (g_strcmp0(ours, theirs) == 0)
        return TRUE;
    printf("%s: %s: \"%s\", not \"%s\"\n", name, what, ours, theirs);
    return FALSE;
}

/* Each item of ours must be one of theirs. */
static gboolean
all_known(const char *name, const char *what, const GPtrArray *ours, GPtrArray *theirs)
{
    gboolean is_known = TRUE;

    for (unsigned i = 0; i < ours->len; i++) {
        if (g_ptr_array_find_with_equal_func(theirs, ours->pdata[i], g_str_equal, NULL))
            continue;
        printf("%s: %s: \"%s\", not \"%s\"\n", name, what, (const char *)ours->pdata[i],
               theirs->len == 0 ? "" : (const char *)theirs->pdata[0]);
        is_known = FALSE;
    }
    return is_known;
}

static gboolean
metrics_compare(const ScrapedFamily *ours, const ScrapedFamily *theirs)
{
    gboolean is_same = same(ours->name, "HELP", ours->help, theirs->help);

    is_same &= same(ours->name, "TYPE", ours->type, theirs->type);
    is_same &= all_known(ours->name, "labels", ours->labels, theirs->labels);
    is_same &= all_known(ours->name, "buckets", ours->buckets, theirs->buckets);
    return is_same;
}

int
main(int argc, char **argv)
{
    g_autoptr(GHashTable) ours = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, family_free);
    g_autoptr(GHashTable) theirs =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, family_free);
    unsigned n_passed = 0, n_failed = 0, n_skipped = 0, n = 0;

    if (argc < 3) {
        fprintf(stderr, "Usage: metrics RUN FILE.prom...\n");
        return 2;
    }
    g_autofree char *path = g_build_filename(argv[1], "metrics.prom", NULL);
    if (!metrics_read_file(ours, path))
        return 2;
    for (int i = 2; i < argc; i++)
        if (!metrics_read_file(theirs, argv[i]))
            return 2;

    g_autofree char **names = (char **)g_hash_table_get_keys_as_array(ours, &n);
    qsort(names, n, sizeof *names, strings_compare);
    for (unsigned i = 0; i < n; i++) {
        const ScrapedFamily *theirs_too = g_hash_table_lookup(theirs, names[i]);
        if (theirs_too == NULL)
            n_skipped++;
        else if (metrics_compare(g_hash_table_lookup(ours, names[i]), theirs_too))
            n_passed++;
        else
            n_failed++;
    }
    g_autofree char **all = (char **)g_hash_table_get_keys_as_array(theirs, &n);
    for (unsigned i = 0; i < n; i++)
        n_skipped += !g_hash_table_contains(ours, all[i]);
    printf("%u passed, %u failed, %u skipped\n", n_passed, n_failed, n_skipped);
    return n_failed > 0;
}
