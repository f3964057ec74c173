/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what clusters export */
/* Latencies of drivers from metrics that clusters export: the buckets of three metrics, of which
 * the one nearest to the driver counts for each operation. Labels differ between metrics and
 * releases. Buckets have to grow from bound to bound; a smaller count means a broken or cut file,
 * and is an error. */
#include "histograms.h"

#include <math.h>
#include <string.h>

#include "run/files/input.h"

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
const char *const storage_metrics[] = {"csi_sidecar_operations_seconds", "csi_operations_seconds",
                                       "storage_operation_duration_seconds", NULL};

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

gboolean
storage_sample_of(const MetricSample *sample, StorageSample *storage)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(metrics); i++) {
        const char *bound = g_hash_table_lookup(sample->labels, "le");
        const char *operation = g_hash_table_lookup(sample->labels, metrics[i].operation);
        const char *suffix = g_str_has_prefix(sample->name, metrics[i].name)
                                 ? sample->name + strlen(metrics[i].name)
                                 : "";
        gboolean is_bucket = strcmp(suffix, "_bucket") == 0 && bound != NULL;
        if ((!is_bucket && strcmp(suffix, "_sum") != 0) || operation == NULL ||
            !find_kind(operation, &storage->kind))
            continue;
        const char *result = g_hash_table_lookup(sample->labels, metrics[i].result);
        storage->metric = i;
        storage->driver = g_hash_table_lookup(sample->labels, metrics[i].driver);
        storage->result = result == NULL || strcmp(result, metrics[i].good) == 0 ? "OK" : result;
        storage->bound = is_bucket ? bound : NULL;
        return TRUE;
    }
    return FALSE;
}

gboolean
storage_bound_parse(const char *text, double *bound)
{
    char *end = NULL;

    if (strcmp(text, "+Inf") == 0) {
        *bound = HUGE_VAL;
        return TRUE;
    }
    *bound = g_ascii_strtod(text, &end);
    return !isnan(*bound) && (isinf(*bound) || (end != text && *end == '\0'));
}

/* Returns: FALSE: its bound or value is no number of a histogram */
static gboolean
add_sample(const MetricSample *sample, void *data)
{
    Histograms *self = data;
    StorageSample storage;
    double upper;

    if (!storage_sample_of(sample, &storage) || strcmp(storage.result, "OK") != 0 ||
        !is_of_driver(self, storage.driver))
        return TRUE;
    Histogram *histogram = &self->kinds[storage.kind];
    const char *metric = storage_metrics[storage.metric];
    /* One metric per operation: the first of the table, which is nearest to the driver. */
    if (histogram->metric != NULL && strcmp(histogram->metric, metric) != 0)
        return TRUE;
    histogram->metric = metric;
    if (!(sample->value >= 0) || !isfinite(sample->value))
        return FALSE;
    if (storage.bound == NULL)
        histogram->sum += sample->value;
    else if (storage_bound_parse(storage.bound, &upper))
        add_bucket(histogram, upper, sample->value);
    else
        return FALSE;
    return TRUE;
}

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
    gsize length;

    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        self->kinds[i].upper = g_array_new(FALSE, FALSE, sizeof(double));
        self->kinds[i].cumulative = g_array_new(FALSE, FALSE, sizeof(double));
    }
    self->driver = g_strdup(driver);
    if (!input_get_contents(file, &text, &length, error))
        return NULL;
    if (!metric_samples_read(file, text, length, storage_metrics, add_sample, self, error) ||
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
