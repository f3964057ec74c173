/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: measures the real machine, with threads */
/* Measures the operations of real loop devices. A life takes a volume through all steps in one
 * order; the lives of a job, as many as workers, take a step together, and jobs of all sizes take
 * turns, so that changes of the machine meet them all. Between steps are pauses of all lengths,
 * because a call right after another one is faster than one after a rest. Each step of a life is
 * another thread's, as calls of kubelets are. */
#include "real-devices.h"
#include "sim/order.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define NODE "calibration"
/* A kubelet's folders, KVM-42, KVM-57: a target's has three folders above it that must be made as
 * well */
#define STAGING_FORMAT "/var/lib/kubelet/plugins/kubernetes.io/csi/loop.kvolsim.io/%s/globalmount"
#define TARGET_FORMAT "/var/lib/kubelet/pods/%s-%u/volumes/kubernetes.io~csi/%s/mount"
#define DATA_BYTES 65536 /* written to each published volume, as in validations */
#define TEAMS_MAX 12     /* teams whose volumes exist at once */
#define THREADS 64       /* as in validations, unless more lives go together */

/* ---- A life ---- */

typedef enum {
    OF_VOLUME, /* the life's volume */
    OF_COPY,   /* the volume restored from its snapshot */
    OF_SNAPSHOT,
} CalibrationSubject;

typedef enum {
    AFTER_PAUSE, /* after other work of the machine, or none */
    AT_ONCE,     /* right after the step before */
    AFTER_USE,   /* the volume has been in use for a while */
} When;

#define AT_ONCE_S 0.002   /* mean time between two calls of a kubelet for one volume */
#define PAUSE_SPREAD 1000 /* the longest pause / the shortest */

#define UNMEASURED                                                                                 \
    CSI_N_LATENCIES /* another step measures the same operation under plainer conditions */
#define OF(method) ((CsiLatency)(method))

/* In this order, each once. First as a pod's volume lives: in use, moved, in use again. A file
 * system that was frozen, grown or copied is unmounted in another time than one that was only
 * written to, so those come last. Repeats are those that callers make: of attachment and, half as
 * often, of deletion. An operation's name in a profile is its method's unless there is a finer one.
 */
static const struct {
    CsiMethod method;
    CsiLatency kind;
    CalibrationSubject of;
    When when;
} steps[] = {
    {CSI_CREATE_VOLUME,               OF(CSI_CREATE_VOLUME),               OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   OF(CSI_CONTROLLER_PUBLISH_VOLUME),   OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   CSI_LATENCY_REPEAT,                  OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_STAGE_VOLUME,           OF(CSI_NODE_STAGE_VOLUME),           OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_PUBLISH_VOLUME,         OF(CSI_NODE_PUBLISH_VOLUME),         OF_VOLUME,   AT_ONCE    },
    {CSI_NODE_UNPUBLISH_VOLUME,       OF(CSI_NODE_UNPUBLISH_VOLUME),       OF_VOLUME,   AFTER_USE  },
    {CSI_NODE_UNSTAGE_VOLUME,         OF(CSI_NODE_UNSTAGE_VOLUME),         OF_VOLUME,   AT_ONCE    },
    {CSI_CONTROLLER_UNPUBLISH_VOLUME, OF(CSI_CONTROLLER_UNPUBLISH_VOLUME), OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   OF(CSI_CONTROLLER_PUBLISH_VOLUME),   OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   CSI_LATENCY_REPEAT,                  OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_STAGE_VOLUME,           CSI_LATENCY_STAGE_FORMATTED,         OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_PUBLISH_VOLUME,         OF(CSI_NODE_PUBLISH_VOLUME),         OF_VOLUME,   AT_ONCE    },
    {CSI_NODE_UNPUBLISH_VOLUME,       OF(CSI_NODE_UNPUBLISH_VOLUME),       OF_VOLUME,   AFTER_USE  },
    {CSI_NODE_UNSTAGE_VOLUME,         OF(CSI_NODE_UNSTAGE_VOLUME),         OF_VOLUME,   AT_ONCE    },
    {CSI_CONTROLLER_UNPUBLISH_VOLUME, OF(CSI_CONTROLLER_UNPUBLISH_VOLUME), OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_EXPAND_VOLUME,    OF(CSI_CONTROLLER_EXPAND_VOLUME),    OF_VOLUME,   AFTER_PAUSE},
    {CSI_CONTROLLER_PUBLISH_VOLUME,   UNMEASURED,                          OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_STAGE_VOLUME,           UNMEASURED,                          OF_VOLUME,   AT_ONCE    },
    {CSI_NODE_PUBLISH_VOLUME,         UNMEASURED,                          OF_VOLUME,   AT_ONCE    },
    {CSI_NODE_EXPAND_VOLUME,          OF(CSI_NODE_EXPAND_VOLUME),          OF_VOLUME,   AFTER_PAUSE},
    {CSI_NODE_GET_VOLUME_STATS,       OF(CSI_NODE_GET_VOLUME_STATS),       OF_VOLUME,   AFTER_PAUSE},
    {CSI_CREATE_SNAPSHOT,             OF(CSI_CREATE_SNAPSHOT),             OF_VOLUME,   AFTER_PAUSE},
    {CSI_CREATE_VOLUME,               CSI_LATENCY_CREATE_FROM_SNAPSHOT,    OF_COPY,     AFTER_PAUSE},
    {CSI_DELETE_SNAPSHOT,             OF(CSI_DELETE_SNAPSHOT),             OF_SNAPSHOT, AFTER_PAUSE},
    {CSI_DELETE_VOLUME,               UNMEASURED,                          OF_COPY,     AT_ONCE    },
    {CSI_NODE_UNPUBLISH_VOLUME,       UNMEASURED,                          OF_VOLUME,   AT_ONCE    },
    {CSI_NODE_UNSTAGE_VOLUME,         UNMEASURED,                          OF_VOLUME,   AT_ONCE    },
    {CSI_CONTROLLER_UNPUBLISH_VOLUME, UNMEASURED,                          OF_VOLUME,   AT_ONCE    },
    {CSI_DELETE_VOLUME,               OF(CSI_DELETE_VOLUME),               OF_VOLUME,   AFTER_PAUSE},
    {CSI_DELETE_VOLUME,               CSI_LATENCY_REPEAT,                  OF_VOLUME,   AFTER_PAUSE},
};

typedef struct {
    int64_t bytes;
    unsigned workers;
    double place; /* among the others, from 0 to 1 */
} CalibrationJob;

/* Shared by all threads. Teams take job after job; the lives of a job go through their steps
 * together, and only one team at a time takes a step. */
typedef struct {
    LoopBackend *backend;
    const CalibrationOptions *options;
    gint64 began_us;
    GThreadPool *members;
    GArray *jobs;  /* of Job */
    GMutex moving; /* held by the team that takes a step */
    GMutex lock;
    GCond stepped;
    GArray *samples;
    char *failure;      /* the first */
    unsigned n_volumes; /* of the present jobs */
    int next_job, next_life, in_flight, stop, n_done;
} Calibration;

typedef struct {
    Calibration *all;
    const CalibrationJob *job;
    unsigned number, step;
    gboolean is_ready; /* has read the input of its step */
    int *n_moving;     /* of its team */
    char *ids[3];      /* by Subject */
} CalibrationLife;

static double
calibration_draw(const Calibration *all, unsigned life, unsigned step)
{
    SimStream stream = sim_stream_from(all->options->seed, 0, "calibration/pause");

    return sim_random_uniform(stream, life, step);
}

/* Exponentially spread about @mean seconds. */
static gint64
soon_us(const Calibration *all, double mean, unsigned life, unsigned step)
{
    return (gint64)(-log(calibration_draw(all, life, step)) * mean * G_USEC_PER_SEC);
}

/* After a while with nothing to do a call takes longer than right after another one, so pauses are
 * of all lengths: their logarithm is evenly spread, their mean @mean seconds. */
static gint64
pause_us(const Calibration *all, double mean, unsigned life, unsigned step)
{
    double longest = mean * log(PAUSE_SPREAD) / (1 - 1. / PAUSE_SPREAD);

    return (gint64)(longest * pow(PAUSE_SPREAD, calibration_draw(all, life, step) - 1) *
                    G_USEC_PER_SEC);
}

static void
keep_id(CalibrationLife *life, CalibrationSubject of, CsiMethod method, const CsiResponse *response)
{
    if (method != CSI_CREATE_VOLUME && method != CSI_CREATE_SNAPSHOT)
        return;
    CalibrationSubject made = method == CSI_CREATE_SNAPSHOT ? OF_SNAPSHOT : of;
    g_free(life->ids[made]);
    life->ids[made] = g_strdup(made == OF_SNAPSHOT ? response->snapshot_id : response->volume_id);
}

static void
note(const CalibrationLife *life,
     unsigned in_flight,
     gint64 began,
     gint64 ended,
     const CsiResponse *response)
{
    Calibration *all = life->all;
    const CalibrationSample sample = {
        .kind = steps[life->step].kind,
        .bytes = life->job->bytes,
        .workers = life->job->workers,
        .in_flight = in_flight,
        .began = (double)(began - all->began_us) / G_USEC_PER_SEC,
        .seconds = (double)(ended - began) / G_USEC_PER_SEC,
        .code = response->code,
    };

    g_mutex_lock(&all->lock);
    if (sample.kind != UNMEASURED)
        g_array_append_val(all->samples, sample);
    if (response->code != CSI_OK && all->failure == NULL)
        all->failure = g_strdup_printf("%s: %s: %s", csi_method_name(steps[life->step].method),
                                       csi_code_name(response->code), response->message);
    g_mutex_unlock(&all->lock);
}

/* Writes to the volume: unmounting an unwritten volume takes no time. */
static void
use_volume(const Calibration *all, const char *target)
{
    g_autofree char *folder = loop_backend_node_path(all->backend, NODE, target);
    g_autofree char *name = g_build_filename(folder, "data", NULL);
    g_autofree char *bytes = g_malloc0(DATA_BYTES);
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    /* A failure here shows in the operations that follow. */
    if (file != -1 && write(file, bytes, DATA_BYTES) == DATA_BYTES)
        fsync(file);
    if (file != -1)
        close(file);
}

/* Each publication is for another pod. */
static unsigned
pods_until(unsigned step)
{
    unsigned n = 0;

    for (unsigned i = 0; i <= step; i++)
        n += steps[i].method == CSI_NODE_PUBLISH_VOLUME;
    return n;
}

static void
do_step(CalibrationLife *life)
{
    Calibration *all = life->all;
    unsigned step = life->step;
    int64_t bytes = life->job->bytes;
    CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER, .fs_type = all->options->fs_type};
    g_autofree char *name = g_strdup_printf("life-%u-%u", life->number, (unsigned)steps[step].of);
    const char *volume = life->ids[OF_VOLUME] == NULL ? "" : life->ids[OF_VOLUME];
    g_autofree char *staging = g_strdup_printf(STAGING_FORMAT, volume);
    g_autofree char *target = g_strdup_printf(TARGET_FORMAT, volume, pods_until(step), volume);
    gboolean is_copy = steps[step].kind == CSI_LATENCY_CREATE_FROM_SNAPSHOT;
    gboolean is_larger = is_copy || steps[step].method == CSI_CONTROLLER_EXPAND_VOLUME ||
                         steps[step].method == CSI_NODE_EXPAND_VOLUME;
    const CsiRequest request = {
        .method = steps[step].method,
        .served_by = NODE,
        .name = name,
        .volume_id = life->ids[steps[step].of],
        .node_id = NODE,
        .snapshot_id = life->ids[OF_SNAPSHOT],
        .required_bytes = is_larger ? bytes + (16 << 20) : bytes,
        .capabilities = &capability,
        .n_capabilities = 1,
        .source_kind = is_copy ? CSI_SOURCE_SNAPSHOT : CSI_SOURCE_NONE,
        .source_id = is_copy ? life->ids[OF_SNAPSHOT] : NULL,
        .staging_path = staging,
        .target_path = target,
    };
    g_auto(LoopAnswer) answer = {0};

    unsigned in_flight = (unsigned)g_atomic_int_add(&all->in_flight, 1) + 1;
    gint64 began = g_get_monotonic_time();
    loop_backend_call(all->backend, &request, &answer);
    gint64 ended = g_get_monotonic_time();
    g_atomic_int_add(&all->in_flight, -1);
    note(life, in_flight, began, ended, &answer.response);
    keep_id(life, steps[step].of, steps[step].method, &answer.response);
    if (answer.response.code != CSI_OK)
        g_atomic_int_set(&all->stop, 1);
    else if (steps[step].method == CSI_NODE_PUBLISH_VOLUME)
        use_volume(all, target);
}

/* ---- Teams ---- */

/* A thread of the pool: one life, one step. Before it something is read, as callers do: so of
 * several short calls one follows another mostly, and long ones overlap. Then another thread takes
 * it, as in a validation, where each call comes to whichever waited longest: a thread that has just
 * worked is a fifth faster at short calls. What follows at once is for the pool again. */
static void
calibration_member(void *data, void *user_data)
{
    CalibrationLife *life = data;
    Calibration *all = user_data;

    if (!life->is_ready) {
        g_usleep((gulong)soon_us(all, MIN(AT_ONCE_S, all->options->pause), life->number,
                                 life->step + 2 * G_N_ELEMENTS(steps)));
        life->is_ready = TRUE;
        g_thread_pool_push(all->members, life, NULL);
        return;
    }
    do_step(life);
    life->step++;
    life->is_ready = FALSE;
    if (life->step < G_N_ELEMENTS(steps) && steps[life->step].when == AT_ONCE &&
        !g_atomic_int_get(&all->stop)) {
        g_thread_pool_push(all->members, life, NULL);
        return;
    }
    g_mutex_lock(&all->lock);
    --*life->n_moving;
    g_cond_broadcast(&all->stepped);
    g_mutex_unlock(&all->lock);
}

/* Sleeps, unless the calibration is interrupted. */
static void
let_be_used(Calibration *all, gint64 us)
{
    gint64 until = g_get_monotonic_time() + us;

    g_mutex_lock(&all->lock);
    while (!g_atomic_int_get(&all->stop) && g_cond_wait_until(&all->stepped, &all->lock, until))
        continue;
    g_mutex_unlock(&all->lock);
}

/* A step and those that follow it at once; no other team moves meanwhile. Returns: the step after
 * them */
static unsigned
do_burst(Calibration *all, CalibrationLife *lives, unsigned n_lives, unsigned step)
{
    const CalibrationOptions *options = all->options;
    unsigned first = lives[0].number;
    int n_moving = (int)n_lives;

    if (steps[step].when == AFTER_USE)
        let_be_used(all, soon_us(all, options->hold / 5, first, step) +
                             (gint64)(options->hold * 4 / 5 * G_USEC_PER_SEC));
    g_mutex_lock(&all->moving);
    g_usleep((gulong)pause_us(all, options->pause, first, step + G_N_ELEMENTS(steps)));
    for (unsigned i = 0; i < n_lives; i++) {
        lives[i].step = step;
        lives[i].n_moving = &n_moving;
        g_thread_pool_push(all->members, &lives[i], NULL);
    }
    g_mutex_lock(&all->lock);
    while (n_moving > 0)
        g_cond_wait(&all->stepped, &all->lock);
    g_mutex_unlock(&all->lock);
    g_mutex_unlock(&all->moving);
    return lives[0].step;
}

static void
do_job(Calibration *all, const CalibrationJob *job)
{
    g_autofree CalibrationLife *lives = g_new0(CalibrationLife, job->workers);

    for (unsigned i = 0; i < job->workers; i++) {
        lives[i] = (CalibrationLife){.all = all, .job = job};
        lives[i].number = (unsigned)g_atomic_int_add(&all->next_life, 1);
    }
    for (unsigned step = 0; step < G_N_ELEMENTS(steps) && !g_atomic_int_get(&all->stop);)
        step = do_burst(all, lives, job->workers, step);
    for (unsigned i = 0; i < job->workers; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(lives[i].ids); k++)
            g_free(lives[i].ids[k]);
}

/* Waits until the job's volumes fit below the limit; one job always fits. */
static void
wait_for_room(Calibration *all, const CalibrationJob *job)
{
    g_mutex_lock(&all->lock);
    while (all->n_volumes > 0 && all->n_volumes + job->workers > all->options->volumes)
        g_cond_wait(&all->stepped, &all->lock);
    all->n_volumes += job->workers;
    g_mutex_unlock(&all->lock);
}

static void
give_room(Calibration *all, const CalibrationJob *job)
{
    g_mutex_lock(&all->lock);
    all->n_volumes -= job->workers;
    g_cond_broadcast(&all->stepped);
    g_mutex_unlock(&all->lock);
}

static void *
team(void *data)
{
    Calibration *all = data;

    while (!g_atomic_int_get(&all->stop)) {
        unsigned i = (unsigned)g_atomic_int_add(&all->next_job, 1);
        if (i >= all->jobs->len)
            break;
        const CalibrationJob *job = &g_array_index(all->jobs, CalibrationJob, i);
        wait_for_room(all, job);
        do_job(all, job);
        give_room(all, job);
        g_atomic_int_inc(&all->n_done);
    }
    return NULL;
}

static int
compare_jobs(const void *a, const void *b)
{
    double x = ((const CalibrationJob *)a)->place, y = ((const CalibrationJob *)b)->place;

    return ORDER(x, y);
}

/* Sizes and numbers of workers take turns, so changes of the machine meet them all. */
static GArray *
plan_jobs(const CalibrationOptions *options)
{
    GArray *jobs = g_array_new(FALSE, FALSE, sizeof(CalibrationJob));

    for (unsigned i = 0; i < options->n_workers; i++) {
        unsigned n = (options->cycles + options->workers[i] - 1) / options->workers[i];
        for (unsigned k = 0; k < n * options->n_sizes; k++) {
            const CalibrationJob job = {options->sizes[k % options->n_sizes], options->workers[i],
                                        (k + 0.5) / (n * options->n_sizes)};
            g_array_append_val(jobs, job);
        }
    }
    g_array_sort(jobs, compare_jobs);
    return jobs;
}

/* Returns: FALSE: interrupted, or an operation failed */
static gboolean
run_teams(Calibration *all, unsigned workers_max)
{
    const CalibrationOptions *options = all->options;
    unsigned n_teams = options->hold > 0 ? TEAMS_MAX : 1;
    g_autoptr(GPtrArray) threads = g_ptr_array_new();
    gboolean go_on = TRUE;

    all->members = g_thread_pool_new(calibration_member, all, (int)workers_max, TRUE, NULL);
    for (unsigned i = 0; i < n_teams; i++)
        g_ptr_array_add(threads, g_thread_new("calibration", team, all));
    while (options->progress != NULL && go_on && !g_atomic_int_get(&all->stop) &&
           (unsigned)g_atomic_int_get(&all->n_done) < all->jobs->len) {
        go_on = options->progress(options->progress_data, (unsigned)g_atomic_int_get(&all->n_done),
                                  all->jobs->len);
        g_usleep(50000); /* before the next look at the progress */
    }
    g_mutex_lock(&all->lock);
    if (!go_on)
        g_atomic_int_set(&all->stop, 1);
    g_cond_broadcast(&all->stepped);
    g_mutex_unlock(&all->lock);
    for (unsigned i = 0; i < threads->len; i++)
        g_thread_join(threads->pdata[i]);
    g_thread_pool_free(all->members, FALSE, TRUE);
    return go_on && !all->stop;
}

static int
compare_samples(const void *a, const void *b)
{
    double x = ((const CalibrationSample *)a)->began, y = ((const CalibrationSample *)b)->began;

    return ORDER(x, y);
}

GArray *
calibration_measure(LoopBackend *backend, const CalibrationOptions *options, GError **error)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
    g_autoptr(GArray) jobs = plan_jobs(options);
    Calibration all = {.backend = backend,
                       .options = options,
                       .began_us = g_get_monotonic_time(),
                       .jobs = jobs,
                       .samples = samples};
    unsigned workers_max = THREADS;

    for (unsigned i = 0; i < options->n_workers; i++)
        workers_max = MAX(workers_max, options->workers[i]);
    g_mutex_init(&all.moving);
    g_mutex_init(&all.lock);
    g_cond_init(&all.stepped);
    loop_backend_add_node(backend, NODE);
    gboolean good = run_teams(&all, workers_max);
    g_cond_clear(&all.stepped);
    g_mutex_clear(&all.lock);
    g_mutex_clear(&all.moving);
    if (all.failure != NULL)
        g_set_error(error, LOOP_ERROR, CSI_INTERNAL, "%s", all.failure);
    g_free(all.failure);
    g_array_sort(samples, compare_samples);
    return good ? g_steal_pointer(&samples) : NULL;
}
