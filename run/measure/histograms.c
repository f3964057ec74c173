/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what clusters export */
#include "histograms.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define SHOWN_BYTES 80 /* of a bad line */

typedef struct {
    GArray *upper, *cumulative; /* of double; by bound */
    const char *metric;
    double sum; /* seconds of all; of those whose samples have one */
} Histogram;

struct Histograms {
    Histogram kinds[CSI_N_LATENCIES];
    char *driver;
};

/* The labels of the operation, of its success and of the driver. */
static const struct {
    const char *name, *operation, *result, *good, *driver;
} metrics[] = {
    {"csi_sidecar_operations_seconds",     "method_name",    "grpc_status_code", "OK",      "driver_name"  },
    {"csi_operations_seconds",             "method_name",    "grpc_status_code", "OK",      "driver_name"  },
    {"storage_operation_duration_seconds", "operation_name", "status",           "success", "volume_plugin"},
};

/* Kubernetes' own names, each the operation around one call of the driver: longer than the call by
 * what the machinery takes. */
static const struct {
    const char *operation;
    CsiMethod method;
} operations[] = {
    {"volume_provision", CSI_CREATE_VOLUME              },
    {"provision",        CSI_CREATE_VOLUME              },
    {"volume_delete",    CSI_DELETE_VOLUME              },
    {"delete",           CSI_DELETE_VOLUME              },
    {"volume_attach",    CSI_CONTROLLER_PUBLISH_VOLUME  },
    {"volume_detach",    CSI_CONTROLLER_UNPUBLISH_VOLUME},
    {"volume_mount",     CSI_NODE_STAGE_VOLUME          },
    {"volume_unmount",   CSI_NODE_UNPUBLISH_VOLUME      },
    {"unmount_device",   CSI_NODE_UNSTAGE_VOLUME        },
    {"expand_volume",    CSI_CONTROLLER_EXPAND_VOLUME   },
    {"volume_fs_resize", CSI_NODE_EXPAND_VOLUME         },
};

static gboolean
find_kind(const char *operation, CsiLatency *kind)
{
    const char *slash = strrchr(operation, '/');
    CsiMethod method;

    if (csi_method_parse(slash != NULL ? slash + 1 : operation, &method)) {
        *kind = (CsiLatency)method;
        return TRUE;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(operations); i++) {
        if (strcmp(operations[i].operation, operation) == 0) {
            *kind = (CsiLatency)operations[i].method;
            return TRUE;
        }
    }
    return FALSE;
}

static void
add_bucket(Histogram *histogram, double upper, double count)
{
    unsigned i = 0;

    while (i < histogram->upper->len && g_array_index(histogram->upper, double, i) < upper)
        i++;
    if (i == histogram->upper->len || g_array_index(histogram->upper, double, i) > upper) {
        double none = 0;
        g_array_insert_val(histogram->upper, i, upper);
        g_array_insert_val(histogram->cumulative, i, none);
    }
    g_array_index(histogram->cumulative, double, i) += count;
}

/* "volume_plugin" is "kubernetes.io/csi:ebs.csi.aws.com" in newer releases. */
static gboolean
is_of_driver(const Histograms *self, const char *value)
{
    return self->driver == NULL || (value != NULL && (strcmp(value, self->driver) == 0 ||
                                                      g_str_has_suffix(value, self->driver)));
}

/* Adds a bucket or the sum to the histogram. */
static gboolean
add_to(Histogram *histogram, const char *suffix, const char *bound, double value)
{
    char *end = NULL;

    if (strcmp(suffix, "_sum") == 0) {
        histogram->sum += value;
        return TRUE;
    }
    double upper = strcmp(bound, "+Inf") == 0 ? HUGE_VAL : g_ascii_strtod(bound, &end);
    if (isnan(upper) || (isfinite(upper) && (end == bound || *end != '\0')))
        return FALSE;
    add_bucket(histogram, upper, value);
    return TRUE;
}

/* Adds a sample "NAME_bucket" or "NAME_sum"; ignores other samples. Returns: FALSE: its bound or
 * value is no number of a histogram */
static gboolean
add_sample(Histograms *self, const char *name, GHashTable *labels, double value)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(metrics); i++) {
        const char *bound = g_hash_table_lookup(labels, "le");
        const char *operation = g_hash_table_lookup(labels, metrics[i].operation);
        const char *result = g_hash_table_lookup(labels, metrics[i].result);
        const char *suffix =
            g_str_has_prefix(name, metrics[i].name) ? name + strlen(metrics[i].name) : "";
        CsiLatency kind;
        if (!((strcmp(suffix, "_bucket") == 0 && bound != NULL) || strcmp(suffix, "_sum") == 0) ||
            operation == NULL || (result != NULL && strcmp(result, metrics[i].good) != 0) ||
            !is_of_driver(self, g_hash_table_lookup(labels, metrics[i].driver)) ||
            !find_kind(operation, &kind))
            continue;
        Histogram *histogram = &self->kinds[kind];
        /* One metric per operation: the first of the table, which is nearest to the driver. */
        if (histogram->metric != NULL && strcmp(histogram->metric, metrics[i].name) != 0)
            return TRUE;
        histogram->metric = metrics[i].name;
        if (!(value >= 0) || !isfinite(value) || !add_to(histogram, suffix, bound, value))
            return FALSE;
    }
    return TRUE;
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

/* The whole @text must be a number; a time stamp may follow a space. */
static gboolean
parse_value(const char *text, double *value)
{
    char *end;

    *value = g_ascii_strtod(text, &end);
    return end != text && (*end == '\0' || g_ascii_isspace(*end));
}

static gboolean
read_line(Histograms *self, const char *line)
{
    size_t length = strcspn(line, "{ ");
    g_autofree char *name = g_strndup(line, length);
    g_autoptr(GHashTable) labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    double value;

    if (line[0] == '#' || line[0] == '\0' || line[length] != '{')
        return TRUE;
    const char *rest = parse_labels(line + length + 1, labels);
    return rest != NULL && parse_value(rest, &value) && add_sample(self, name, labels, value);
}

static gboolean
read_text(Histograms *self, const char *file, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (unsigned i = 0; lines[i] != NULL; i++) {
        if (read_line(self, lines[i]))
            continue;
        g_autofree char *shown = g_strndup(lines[i], SHOWN_BYTES);
        g_autofree char *printable = g_strescape(shown, "\"");
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s:%u: no sample of Prometheus' text format: %s", file, i + 1, printable);
        return FALSE;
    }
    return TRUE;
}

/* ---- JSON ---- */

/* {"metric": {"__name__": ..., "le": ...}, "value": [when, "12"]} */
static gboolean
read_result(Histograms *self, const json_t *result)
{
    g_autoptr(GHashTable) labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    json_t *metric = json_object_get(result, "metric"), *value = json_object_get(result, "value"),
           *label;
    const char *name = json_string_value(json_object_get(metric, "__name__"));
    const char *count = json_string_value(json_array_get(value, 1)), *key;

    double number;

    json_object_foreach(metric, key, label)
        if (json_is_string(label))
            g_hash_table_insert(labels, g_strdup(key), g_strdup(json_string_value(label)));
    return name != NULL && count != NULL && parse_value(count, &number) &&
           add_sample(self, name, labels, number);
}

static gboolean
read_json(Histograms *self, const char *file, const char *text, GError **error)
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

/* ---- All ---- */

/* Buckets are cumulative: a smaller count than in the bucket below means a broken or cut file. */
static gboolean
check_buckets(const Histograms *self, const char *file, GError **error)
{
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        const Histogram *histogram = &self->kinds[kind];
        unsigned n = histogram->upper->len;
        for (unsigned i = 1; i < n; i++) {
            double below = g_array_index(histogram->cumulative, double, i - 1);
            double count = g_array_index(histogram->cumulative, double, i);
            if (count >= below)
                continue;
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s: %s of %s: %g calls up to le=\"%g\", but %g up to the bucket below",
                        file, histogram->metric, csi_latency_name(kind), count,
                        g_array_index(histogram->upper, double, i), below);
            return FALSE;
        }
        if (n > 0 && isfinite(g_array_index(histogram->upper, double, n - 1))) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s: %s of %s has no bucket le=\"+Inf\"", file, histogram->metric,
                        csi_latency_name(kind));
            return FALSE;
        }
    }
    return TRUE;
}

Histograms *
histograms_read(const char *file, const char *driver, GError **error)
{
    g_autoptr(Histograms) self = g_new0(Histograms, 1);
    g_autofree char *text = NULL;

    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        self->kinds[i].upper = g_array_new(FALSE, FALSE, sizeof(double));
        self->kinds[i].cumulative = g_array_new(FALSE, FALSE, sizeof(double));
    }
    self->driver = g_strdup(driver);
    if (!g_file_get_contents(file, &text, NULL, error))
        return NULL;
    gboolean is_json = text[strspn(text, " \t\r\n")] == '{';
    if (!(is_json ? read_json(self, file, text, error) : read_text(self, file, text, error)) ||
        !check_buckets(self, file, error))
        return NULL;
    return g_steal_pointer(&self);
}

void
histograms_free(Histograms *self)
{
    for (unsigned i = 0; self != NULL && i < CSI_N_LATENCIES; i++) {
        g_array_unref(self->kinds[i].upper);
        g_array_unref(self->kinds[i].cumulative);
    }
    if (self != NULL)
        g_free(self->driver);
    g_free(self);
}

unsigned
histograms_get(const Histograms *self,
               CsiLatency kind,
               const double **upper,
               const double **cumulative)
{
    const Histogram *histogram = &self->kinds[kind];
    unsigned n = histogram->upper->len;

    *upper = (const double *)histogram->upper->data;
    *cumulative = (const double *)histogram->cumulative->data;
    return n > 1 && (*cumulative)[n - 1] > 0 ? n : 0;
}

const char *
histograms_metric(const Histograms *self, CsiLatency kind)
{
    return self->kinds[kind].metric;
}

double
histograms_mean(const Histograms *self, CsiLatency kind)
{
    const Histogram *histogram = &self->kinds[kind];
    unsigned n = histogram->cumulative->len;
    double count = n > 0 ? g_array_index(histogram->cumulative, double, n - 1) : 0;

    return count > 0 ? histogram->sum / count : 0;
}
