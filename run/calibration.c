/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: measures the real machine, with threads */
#include "calibration.h"

#include "fit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE "calibration"
#define STAGING "/staging/"
#define TARGET "/pods/"
#define DATA_BYTES                                                                                 \
    65536 /* what is written to each volume while it is published, as validations do */

/* ---- A life ---- */

typedef enum {
    OF_VOLUME, /* the life's volume */
    OF_COPY,   /* the volume restored from its snapshot */
    OF_SNAPSHOT,
} Subject;

/* In this order, each once. An operation's name in a profile is its method's unless there is a finer one. */
static const struct {
    CsiMethod method;
    CsiLatency kind;
    Subject of;
} steps[] = {
    {CSI_CREATE_VOLUME,               (CsiLatency)CSI_CREATE_VOLUME,               OF_VOLUME  },
    {CSI_CONTROLLER_PUBLISH_VOLUME,   (CsiLatency)CSI_CONTROLLER_PUBLISH_VOLUME,   OF_VOLUME  },
    {CSI_CONTROLLER_PUBLISH_VOLUME,   CSI_LATENCY_REPEAT,                          OF_VOLUME  },
    {CSI_NODE_STAGE_VOLUME,           (CsiLatency)CSI_NODE_STAGE_VOLUME,           OF_VOLUME  },
    {CSI_NODE_PUBLISH_VOLUME,         (CsiLatency)CSI_NODE_PUBLISH_VOLUME,         OF_VOLUME  },
    {CSI_NODE_GET_VOLUME_STATS,       (CsiLatency)CSI_NODE_GET_VOLUME_STATS,       OF_VOLUME  },
    {CSI_CREATE_SNAPSHOT,             (CsiLatency)CSI_CREATE_SNAPSHOT,             OF_VOLUME  },
    {CSI_CREATE_VOLUME,               CSI_LATENCY_CREATE_FROM_SNAPSHOT,            OF_COPY    },
    {CSI_DELETE_SNAPSHOT,             (CsiLatency)CSI_DELETE_SNAPSHOT,             OF_SNAPSHOT},
    {CSI_DELETE_VOLUME,               (CsiLatency)CSI_DELETE_VOLUME,               OF_COPY    },
    {CSI_NODE_UNPUBLISH_VOLUME,       (CsiLatency)CSI_NODE_UNPUBLISH_VOLUME,       OF_VOLUME  },
    {CSI_NODE_UNSTAGE_VOLUME,         (CsiLatency)CSI_NODE_UNSTAGE_VOLUME,         OF_VOLUME  },
    {CSI_NODE_STAGE_VOLUME,           CSI_LATENCY_STAGE_FORMATTED,                 OF_VOLUME  },
    {CSI_NODE_PUBLISH_VOLUME,         (CsiLatency)CSI_NODE_PUBLISH_VOLUME,         OF_VOLUME  },
    {CSI_NODE_UNPUBLISH_VOLUME,       (CsiLatency)CSI_NODE_UNPUBLISH_VOLUME,       OF_VOLUME  },
    {CSI_NODE_UNSTAGE_VOLUME,         (CsiLatency)CSI_NODE_UNSTAGE_VOLUME,         OF_VOLUME  },
    {CSI_CONTROLLER_UNPUBLISH_VOLUME, (CsiLatency)CSI_CONTROLLER_UNPUBLISH_VOLUME, OF_VOLUME  },
    {CSI_CONTROLLER_EXPAND_VOLUME,    (CsiLatency)CSI_CONTROLLER_EXPAND_VOLUME,    OF_VOLUME  },
    {CSI_DELETE_VOLUME,               (CsiLatency)CSI_DELETE_VOLUME,               OF_VOLUME  },
};

typedef struct {
    LoopBackend *backend;
    const CalibrationOptions *options;
    gint64 began_us;
    int64_t bytes;
    unsigned workers, n_lives; /* of the round */
    GMutex lock;
    GArray *samples;
    char *failure; /* the first */
    int next_life, in_flight, stop, n_done;
} Round;

typedef struct {
    Round *round;
    unsigned number;
    char *ids[3]; /* by Subject */
} Life;

static void
pause_before(const Round *round, unsigned life, unsigned step)
{
    SimStream stream = sim_stream_from(round->options->seed, round->workers, "calibration/pause");
    double u = sim_random_uniform(stream, life, step);

    if (round->options->pause > 0)
        g_usleep((gulong)(-log(u) * round->options->pause * G_USEC_PER_SEC));
}

static void
keep_id(Life *life, Subject of, CsiMethod method, const CsiResponse *response)
{
    if (method != CSI_CREATE_VOLUME && method != CSI_CREATE_SNAPSHOT)
        return;
    Subject made = method == CSI_CREATE_SNAPSHOT ? OF_SNAPSHOT : of;
    g_free(life->ids[made]);
    life->ids[made] = g_strdup(made == OF_SNAPSHOT ? response->snapshot_id : response->volume_id);
}

static void
note(Round *round,
     unsigned step,
     unsigned in_flight,
     gint64 began,
     gint64 ended,
     const CsiResponse *response)
{
    const CalibrationSample sample = {
        .kind = steps[step].kind,
        .bytes = round->bytes,
        .workers = round->workers,
        .in_flight = in_flight,
        .began = (double)(began - round->began_us) / G_USEC_PER_SEC,
        .seconds = (double)(ended - began) / G_USEC_PER_SEC,
        .code = response->code,
    };

    g_mutex_lock(&round->lock);
    g_array_append_val(round->samples, sample);
    if (response->code != CSI_OK && round->failure == NULL)
        round->failure = g_strdup_printf("%s: %s: %s", csi_latency_name(sample.kind),
                                         csi_code_name(response->code), response->message);
    g_mutex_unlock(&round->lock);
}

/* A volume that nobody ever wrote to is unmounted in no time. */
static void
use_volume(const Round *round, const char *target)
{
    g_autofree char *folder = loop_backend_node_path(round->backend, NODE, target);
    g_autofree char *name = g_build_filename(folder, "data", NULL);
    g_autofree char *bytes = g_malloc0(DATA_BYTES);
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    /* What goes wrong here shows in the operations that follow. */
    if (file != -1 && write(file, bytes, DATA_BYTES) == DATA_BYTES)
        fsync(file);
    if (file != -1)
        close(file);
}

/* Returns: FALSE: it failed */
static gboolean
do_step(Life *life, unsigned step)
{
    Round *round = life->round;
    CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER, .fs_type = round->options->fs_type};
    g_autofree char *name =
        g_strdup_printf("life-%u-%u-%u", round->workers, life->number, (unsigned)steps[step].of);
    g_autofree char *staging = g_strconcat(STAGING, life->ids[OF_VOLUME], NULL);
    g_autofree char *target = g_strconcat(TARGET, life->ids[OF_VOLUME], NULL);
    gboolean is_copy = steps[step].kind == CSI_LATENCY_CREATE_FROM_SNAPSHOT;
    gboolean grows = steps[step].method == CSI_CONTROLLER_EXPAND_VOLUME;
    const CsiRequest request = {
        .method = steps[step].method,
        .served_by = NODE,
        .name = name,
        .volume_id = life->ids[steps[step].of],
        .node_id = NODE,
        .snapshot_id = life->ids[OF_SNAPSHOT],
        .required_bytes = grows ? round->bytes + (16 << 20) : round->bytes,
        .capabilities = &capability,
        .n_capabilities = 1,
        .source_kind = is_copy ? CSI_SOURCE_SNAPSHOT : CSI_SOURCE_NONE,
        .source_id = is_copy ? life->ids[OF_SNAPSHOT] : NULL,
        .staging_path = staging,
        .target_path = target,
    };
    g_auto(LoopAnswer) answer = {0};

    pause_before(round, life->number, step);
    unsigned in_flight = (unsigned)g_atomic_int_add(&round->in_flight, 1) + 1;
    gint64 began = g_get_monotonic_time();
    loop_backend_call(round->backend, &request, &answer);
    gint64 ended = g_get_monotonic_time();
    g_atomic_int_add(&round->in_flight, -1);
    note(round, step, in_flight, began, ended, &answer.response);
    keep_id(life, steps[step].of, steps[step].method, &answer.response);
    if (steps[step].method == CSI_NODE_PUBLISH_VOLUME)
        use_volume(round, target);
    return answer.response.code == CSI_OK;
}

static void *
live(void *data)
{
    Round *round = data;

    for (;;) {
        Life life = {.round = round, .number = (unsigned)g_atomic_int_add(&round->next_life, 1)};
        gboolean good = life.number < round->n_lives && !g_atomic_int_get(&round->stop);
        if (!good)
            return NULL;
        for (unsigned i = 0; good && i < G_N_ELEMENTS(steps) && !g_atomic_int_get(&round->stop);
             i++)
            good = do_step(&life, i);
        for (unsigned i = 0; i < G_N_ELEMENTS(life.ids); i++)
            g_free(life.ids[i]);
        if (!good)
            g_atomic_int_set(&round->stop, 1);
        g_atomic_int_inc(&round->n_done);
    }
}

/* Returns: FALSE: broken off, or something failed */
static gboolean
do_round(Round *round, unsigned done_before, unsigned total)
{
    const CalibrationOptions *options = round->options;
    g_autoptr(GPtrArray) threads = g_ptr_array_new();
    gboolean go_on = TRUE;

    round->next_life = round->n_done = 0;
    for (unsigned i = 0; i < round->workers; i++)
        g_ptr_array_add(threads, g_thread_new("calibration", live, round));
    while (options->progress != NULL && go_on && !g_atomic_int_get(&round->stop) &&
           (unsigned)g_atomic_int_get(&round->n_done) < round->n_lives) {
        go_on = options->progress(options->progress_data,
                                  done_before + (unsigned)g_atomic_int_get(&round->n_done), total);
        g_usleep(50000); /* to look how far the others are */
    }
    if (!go_on)
        g_atomic_int_set(&round->stop, 1);
    for (unsigned i = 0; i < threads->len; i++)
        g_thread_join(threads->pdata[i]);
    return go_on && !round->stop;
}

static int
compare_samples(const void *a, const void *b)
{
    double x = ((const CalibrationSample *)a)->began, y = ((const CalibrationSample *)b)->began;

    return x < y ? -1 : x > y;
}

GArray *
calibration_measure(LoopBackend *backend, const CalibrationOptions *options, GError **error)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
    Round round = {.backend = backend,
                   .options = options,
                   .began_us = g_get_monotonic_time(),
                   .n_lives = options->cycles,
                   .samples = samples};
    unsigned total = options->cycles * options->n_sizes * options->n_workers, done = 0;
    gboolean good = TRUE;

    g_mutex_init(&round.lock);
    loop_backend_add_node(backend, NODE);
    for (unsigned i = 0; good && i < options->n_workers; i++) {
        for (unsigned k = 0; good && k < options->n_sizes; k++) {
            round.workers = options->workers[i];
            round.bytes = options->sizes[k];
            good = do_round(&round, done, total);
            done += options->cycles;
        }
    }
    g_mutex_clear(&round.lock);
    if (round.failure != NULL)
        g_set_error(error, LOOP_ERROR, CSI_INTERNAL, "%s", round.failure);
    g_free(round.failure);
    g_array_sort(samples, compare_samples);
    return good ? g_steal_pointer(&samples) : NULL;
}

/* ---- Files ---- */

gboolean
calibration_write(const GArray *samples, const char *path, const char *comment, GError **error)
{
    FILE *file = fopen(path, "we");
    gboolean good =
        file != NULL &&
        fprintf(file, "# %s\nmethod,bytes,workers,in_flight,began,seconds,code\n", comment) > 0;

    for (unsigned i = 0; good && i < samples->len; i++) {
        const CalibrationSample *sample = &g_array_index(samples, CalibrationSample, i);
        good = fprintf(file, "%s,%" G_GINT64_FORMAT ",%u,%u,%.6f,%.6f,%s\n",
                       csi_latency_name(sample->kind), sample->bytes, sample->workers,
                       sample->in_flight, sample->began, sample->seconds,
                       csi_code_name(sample->code)) > 0;
    }
    int code = errno;
    if (file != NULL && fclose(file) != 0) {
        code = errno;
        good = FALSE;
    }
    if (!good)
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "%s: %s", path,
                    g_strerror(code));
    return good;
}

static int
column(char **names, const char *name)
{
    for (unsigned i = 0; names[i] != NULL; i++)
        if (strcmp(g_strstrip(names[i]), name) == 0)
            return (int)i;
    return -1;
}

static const char *
cell(char **cells, int at)
{
    return at >= 0 && (unsigned)at < g_strv_length(cells) ? g_strstrip(cells[at]) : "";
}

static gboolean
read_sample(char **names, char **cells, CalibrationSample *sample)
{
    char *end;
    const char *seconds = cell(cells, column(names, "seconds"));
    const char *code = cell(cells, column(names, "code"));

    *sample = (CalibrationSample){
        .bytes = g_ascii_strtoll(cell(cells, column(names, "bytes")), NULL, 10),
        .workers = (unsigned)g_ascii_strtoull(cell(cells, column(names, "workers")), NULL, 10),
        .in_flight = (unsigned)g_ascii_strtoull(cell(cells, column(names, "in_flight")), NULL, 10),
        .began = g_ascii_strtod(cell(cells, column(names, "began")), NULL),
        .seconds = g_ascii_strtod(seconds, &end),
    };
    return *seconds != '\0' && *end == '\0' && sample->seconds >= 0 &&
           csi_latency_parse(cell(cells, column(names, "method")), &sample->kind) &&
           (*code == '\0' || csi_code_parse(code, &sample->code));
}

GArray *
calibration_read(const char *path, GError **error)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
    g_autofree char *text = NULL;
    g_auto(GStrv) names = NULL;

    if (!g_file_get_contents(path, &text, NULL, error))
        return NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        CalibrationSample sample;
        if (lines[i][0] == '#' || g_strstrip(lines[i])[0] == '\0')
            continue;
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        if (names == NULL) {
            names = g_steal_pointer(&cells);
            if (column(names, "method") >= 0 && column(names, "seconds") >= 0)
                continue;
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s:%u: no columns \"method\" and \"seconds\"", path, i + 1);
            return NULL;
        }
        if (!read_sample(names, cells, &sample)) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "%s:%u: no method, duration in seconds or code: %s", path, i + 1, lines[i]);
            return NULL;
        }
        g_array_append_val(samples, sample);
    }
    return g_steal_pointer(&samples);
}

/* ---- Profiles ---- */

GArray *
calibration_select(const GArray *samples, CsiLatency kind, int64_t bytes, unsigned workers)
{
    GArray *seconds = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < samples->len; i++) {
        const CalibrationSample *sample = &g_array_index(samples, CalibrationSample, i);
        if (sample->kind == kind && sample->code == CSI_OK &&
            (bytes == 0 || sample->bytes == bytes) && (workers == 0 || sample->workers == workers))
            g_array_append_val(seconds, sample->seconds);
    }
    return seconds;
}

static void
append_latency(GString *text, const GArray *samples, CsiLatency kind, unsigned workers)
{
    g_autoptr(GArray) seconds = calibration_select(samples, kind, 0, workers);
    Fit fit;

    if (seconds->len == 0)
        return;
    fit_samples((double *)seconds->data, seconds->len, &fit);
    g_autofree char *comment = fit_comment(&fit);
    g_autofree char *latency = fit_text(&fit, (const double *)seconds->data, seconds->len);
    const double *sorted = (const double *)seconds->data;
    g_string_append_printf(text, "  # p50 %.3f ms, p99 %.3f ms; measured; %s\n  %s: %s\n",
                           fit_quantile(sorted, seconds->len, 0.5) * 1e3,
                           fit_quantile(sorted, seconds->len, 0.99) * 1e3, comment,
                           csi_latency_name(kind), latency);
}

char *
calibration_latencies(const GArray *samples, unsigned workers)
{
    GString *text = g_string_new(NULL);

    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        append_latency(text, samples, kind, workers);
    return g_string_free(text, FALSE);
}

char *
calibration_profile(const GArray *samples, unsigned workers, const char *what)
{
    GString *text = g_string_new(NULL);
    g_autofree char *concurrency = calibration_concurrency(samples, "#   ");

    g_string_append_printf(
        text,
        "# %s\n# Times are those of one call in the back end. Each: quantiles of the samples, then "
        "the fit: the family of\n"
        "# the lowest AIC, or a table of quantiles where Kolmogorov-Smirnov rejects it at 1 %%.\n",
        what);
    if (concurrency[0] != '\0')
        g_string_append_printf(
            text, "# Medians with more volumes at once, against those with the fewest:\n%s",
            concurrency);
    g_string_append(text,
                    "attachRequired: true\ntopology: false\n"
                    "pluginCapabilities: [CONTROLLER_SERVICE, EXPANSION_OFFLINE]\n\nlatency:\n");
    g_autofree char *latencies = calibration_latencies(samples, workers);
    g_string_append(text, latencies);
    return g_string_free(text, FALSE);
}

static int
compare_unsigned(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

/* Of unsigned, ascending, each once. */
static GArray *
worker_numbers(const GArray *samples)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(unsigned));

    for (unsigned i = 0; i < samples->len; i++) {
        unsigned workers = g_array_index(samples, CalibrationSample, i).workers;
        gboolean known = FALSE;
        for (unsigned k = 0; k < numbers->len; k++)
            known = known || g_array_index(numbers, unsigned, k) == workers;
        if (!known)
            g_array_append_val(numbers, workers);
    }
    g_array_sort(numbers, compare_unsigned);
    return numbers;
}

static double
median_of(const GArray *samples, CsiLatency kind, unsigned workers)
{
    g_autoptr(GArray) seconds = calibration_select(samples, kind, 0, workers);
    Fit fit;

    if (seconds->len == 0)
        return 0;
    fit_samples((double *)seconds->data, seconds->len, &fit); /* sorts */
    return fit_quantile((const double *)seconds->data, seconds->len, 0.5);
}

char *
calibration_concurrency(const GArray *samples, const char *prefix)
{
    g_autoptr(GArray) numbers = worker_numbers(samples);
    GString *text = g_string_new(NULL);

    for (CsiLatency kind = 0; numbers->len > 1 && kind < CSI_N_LATENCIES; kind++) {
        double base = median_of(samples, kind, g_array_index(numbers, unsigned, 0));
        if (base <= 0)
            continue;
        g_string_append_printf(text, "%s%-26s", prefix, csi_latency_name(kind));
        for (unsigned i = 0; i < numbers->len; i++) {
            unsigned workers = g_array_index(numbers, unsigned, i);
            g_string_append_printf(text, "  %u: x%.2f", workers,
                                   median_of(samples, kind, workers) / base);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
