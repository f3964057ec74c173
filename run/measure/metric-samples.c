/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what clusters export */
/* Reads samples of metrics in Prometheus' text format or in the JSON of its query API, and hands
 * over those with wanted names. A line that is not of the format is an error with its number, but
 * is not shown: the file may be anybody's. NUL bytes, which one label of kube-controller-manager
 * has, are no end of the text. */
#include "metric-samples.h"

#include <jansson.h>
#include <string.h>

#include "models/api/fields.h"
#include "sim/sim-time.h"

typedef struct {
    const char *const *names;
    MetricSampleSeen seen;
    void *data;
} MetricSamplesReader;

static gboolean
metric_samples_is_wanted(const MetricSamplesReader *self, const char *name)
{
    for (const char *const *wanted = self->names; *wanted != NULL; wanted++)
        if (g_str_has_prefix(name, *wanted))
            return TRUE;
    return FALSE;
}

/* The whole @text must be a number; a time stamp may follow a space. */
static gboolean
parse_value(const char *text, double *value)
{
    char *end;

    *value = g_ascii_strtod(text, &end);
    return end != text && (*end == '\0' || g_ascii_isspace(*end));
}

/* ---- Text ---- */

/* {a="b",c="d"}; returns what follows; NULL: it is not of that form */
static const char *
parse_labels(const char *text, GHashTable *labels)
{
    while (*text != '}') {
        size_t length = strcspn(text, "=");
        if (text[length] != '=' || text[length + 1] != '"')
            return NULL;
        char *name = g_strndup(text, length);
        GString *value = g_string_new(NULL);
        for (text += length + 2; *text != '"' && *text != '\0'; text++) {
            if (*text == '\\' && text[1] != '\0')
                text++;
            g_string_append_c(value, *text);
        }
        g_hash_table_insert(labels, g_strstrip(name), g_string_free(value, FALSE));
        if (*text != '"')
            return NULL;
        text++;
        text += *text == ',' ? 1 : 0;
        text += strspn(text, " ");
    }
    return text + 1;
}

static gboolean
metric_samples_read_line(const MetricSamplesReader *self, const char *line)
{
    size_t length = strspn(line, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_:");

    if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0')
        return TRUE;
    if (length == 0 || (line[length] != '{' && line[length] != ' '))
        return FALSE;
    if (!metric_samples_is_wanted(self, line))
        return TRUE;
    g_autofree char *name = g_strndup(line, length);
    g_autoptr(GHashTable) labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    MetricSample sample = {.name = name, .labels = labels};
    const char *rest =
        line[length] == '{' ? parse_labels(line + length + 1, labels) : line + length;
    return rest != NULL && parse_value(rest, &sample.value) && self->seen(&sample, self->data);
}

static gboolean
metric_samples_read_text(
    const MetricSamplesReader *self, const char *file, char *text, gsize length, GError **error)
{
    unsigned number = 1;

    /* kube-controller-manager's label of a zone has one: node.GetZoneKey() */
    for (char *nul; (nul = memchr(text, '\0', length)) != NULL;)
        *nul = '?';
    for (char *line = text, *next; line != NULL; line = next, number++) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (metric_samples_read_line(self, line))
            continue;
        /* The line is not shown: it may be anybody's file. */
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s:%u: no sample of Prometheus' text format (such as: name{label=\"value\"} "
                    "12)",
                    file, number);
        return FALSE;
    }
    return TRUE;
}

/* ---- JSON ---- */

/* {"metric": {"__name__": ..., "le": ...}, "value": [when, "12"]} */
static gboolean
read_result(const MetricSamplesReader *self, const json_t *result)
{
    g_autoptr(GHashTable) labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    json_t *metric = json_object_get(result, "metric"), *value = json_object_get(result, "value"),
           *label;
    MetricSample sample = {.labels = labels};
    const char *count = json_string_value(json_array_get(value, 1)), *key;

    json_object_foreach(metric, key, label)
        if (json_is_string(label))
            g_hash_table_insert(labels, g_strdup(key), g_strdup(json_string_value(label)));
    sample.name = json_path_string(metric, "__name__");
    return sample.name != NULL && count != NULL && parse_value(count, &sample.value) &&
           (!metric_samples_is_wanted(self, sample.name) || self->seen(&sample, self->data));
}

static gboolean
metric_samples_read_json(const MetricSamplesReader *self,
                         const char *file,
                         const char *text,
                         GError **error)
{
    json_error_t why;
    json_auto_t *root = json_loads(text, 0, &why);
    const json_t *results = json_object_get(json_object_get(root, "data"), "result");

    if (root == NULL)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s:%d:%d: %s", file, why.line, why.column,
                    why.text);
    else if (!json_is_array(results))
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s: no data.result: give what Prometheus' query API answers", file);
    if (!json_is_array(results))
        return FALSE;
    for (gsize i = 0; i < json_array_size(results); i++)
        if (!read_result(self, json_array_get(results, i))) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s: data.result[%u]: no sample of an instant vector", file, (unsigned)i);
            return FALSE;
        }
    return TRUE;
}

gboolean
metric_samples_read(const char *file,
                    char *text,
                    gsize length,
                    const char *const *names,
                    MetricSampleSeen seen,
                    void *data,
                    GError **error)
{
    const MetricSamplesReader self = {names, seen, data};

    return text[strspn(text, " \t\r\n")] == '{'
               ? metric_samples_read_json(&self, file, text, error)
               : metric_samples_read_text(&self, file, text, length, error);
}
