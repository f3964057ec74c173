/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How full volumes are: fs_resource_analyzer.go and volume_stat_calculator.go of
 * pkg/kubelet/server/stats. Each pod has a loop that asks the drivers of its volumes; the analyzer
 * starts the loops of new pods. What they find ends in metrics and Events. So kubelets ask only if
 * the scenario says how often, or how volumes fill (KVM-9).
 *
 * A pass is an allocation of its own: the volumes, and the pod, may leave while a driver is asked.
 */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/measure.h"
#include "volume-manager.h"

/* A volume of a pod, and what its driver said last. */
typedef struct {
    CsiMetricsOf of;        /* first: csi_metrics_get() hands it back */
    const char *name;       /* of the volume in the pod */
    const ObjectKey *claim; /* NULL: an inline volume */
    VolumeUsage usage;
    gboolean is_told;
} VolumeStat;

/* A pass of a pod's loop: the operation of its plan. The volumes may leave meanwhile, and their
 * pod with them. */
typedef struct {
    VolumeStats *stats; /* NULL: the pod has gone */
    unsigned n;
    VolumeStat items[];
} StatsPass;

struct VolumeStats {
    PodWorker *worker;
    SimEventId next_pass;
    StatsPass *pass; /* under way */
    uint64_t n_passes;
    GArray *latest; /* of VolumeStat: what the last pass was told */
};

static void pass_later(VolumeStats *self);

/* ---- Metrics: KVM-73, KVM-74 ---- */

static void
set_gauges(const VolumeStats *self, gboolean are_told)
{
    const Kubelet *kubelet = self->worker->kubelet;

    for (unsigned i = 0; i < self->latest->len; i++) {
        const VolumeStat *stat = &g_array_index(self->latest, VolumeStat, i);
        if (stat->claim != NULL)
            kubelet_measure_usage(kubelet, stat->claim, are_told ? &stat->usage : NULL);
    }
}

/* ---- A pass of a pod's loop: KVM-72 ---- */

typedef struct {
    VolumeStat *stat;
    VolumeUsage usage;
    gboolean is_told;
} VolumeStatsTold;

/* KVM-98: at each pass. */
static void
report_abnormal(const PodWorker *worker, Plan *plan, const VolumeStat *stat, const char *message)
{
    plan_because(plan, "KVM-98");
    plan_event(plan, worker->pod, "Warning", "VolumeConditionAbnormal", "Volume %s: %s", stat->name,
               message);
}

static void
volume_told(const Kubelet *self,
            Plan *plan,
            const CsiMetricsOf *of,
            const CsiResponse *usage,
            const char *error)
{
    const StatsPass *pass = plan_operation(plan);
    const VolumeStat *stat = (const VolumeStat *)of;
    VolumeStatsTold *told = plan_new_arg(plan, VolumeStatsTold);

    (void)error; /* only logged */
    *told = (VolumeStatsTold){.stat = (VolumeStat *)stat, .is_told = usage != NULL};
    if (usage != NULL && usage->abnormal && usage->condition_message != NULL && pass->stats != NULL)
        report_abnormal(pass->stats->worker, plan, stat, usage->condition_message);
    if (usage != NULL)
        told->usage = (VolumeUsage){
            .bytes = usage->total_bytes,
            .available_bytes = usage->available_bytes,
            .used_bytes = usage->used_bytes,
            .inodes = usage->total_inodes,
            .free_inodes = usage->available_inodes,
            .used_inodes = usage->used_inodes,
            .abnormal = usage->condition_message == NULL ? -1 : usage->abnormal,
        };
    kubelet_add_change(plan, CHANGE_VOLUME_TOLD, told, csi_metrics_began(plan));
    if (++stat < pass->items + pass->n)
        csi_metrics_get(self, plan, &stat->of, volume_told);
}

void
volume_stats_apply(const Kubelet *self, const PlanChange *change)
{
    const VolumeStatsTold *told = change->pointer;

    told->stat->usage = told->usage;
    told->stat->is_told = told->is_told;
    kubelet_measure_question(self, told->stat->of.driver, sim_now(self->base.sim) - change->number);
}

static void
decide_pass(const void *data, Plan *plan)
{
    const StatsPass *pass = plan_operation(plan);

    csi_metrics_get(data, plan, &pass->items[0].of, volume_told);
}

static void
pass_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    const StatsPass *pass = plan_done_operation(plan);
    VolumeStats *self = pass->stats;

    (void)data, (void)end, (void)message;
    if (self == NULL)
        return;
    set_gauges(self, FALSE);
    g_array_set_size(self->latest, 0);
    for (unsigned i = 0; i < pass->n; i++)
        if (pass->items[i].is_told)
            g_array_append_vals(self->latest, &pass->items[i], 1);
    pass_later(self);
}

static void
pass_free(void *data)
{
    StatsPass *self = data;

    if (self->stats != NULL)
        self->stats->pass = NULL;
    g_free(self);
}

static uint64_t
mount_place(const void *mount, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, sim_hash_string(((const PodMount *)mount)->spec->name), walk);
}

/* Returns: (owned): [PodMount]: CSI volumes that are mounted, in the order of a map */
static GPtrArray *
mounted_volumes(PodWorker *worker)
{
    Sim *sim = worker->kubelet->base.sim;
    GPtrArray *mounts = g_ptr_array_new();

    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (mount->volume != NULL && mount->state == MOUNT_DONE &&
            volume_plugin_is_csi(mount->volume->plugin))
            g_ptr_array_add(mounts, mount);
    }
    sim_shuffle(mounts->pdata, mounts->len, mount_place,
                sim_stream(sim, "kubelet/order of volume stats"),
                sim_hash_combine(worker->key->hash, (uint64_t)sim_now(sim)));
    return mounts;
}

static VolumeStat
stat_of(const PodMount *mount)
{
    const Kubelet *kubelet = mount->worker->kubelet;
    const VolumeSource *source = VOLUME_CONST(mount->volume->pv)->source;

    return (VolumeStat){
        .of = {source->driver, source->handle, csi_metrics_path(kubelet, mount)},
        .name = mount->spec->name,
        .claim =
            mount->spec->source != NULL
                ? NULL  /* inline: told, but measured nowhere */
                : pod_claim_key(kubelet->base.objects, POD_CONST(mount->worker->pod), mount->spec),
    };
}

static void
pass_begin(Sim *sim, void *data)
{
    VolumeStats *self = data;
    PodWorker *worker = self->worker;
    g_autoptr(GPtrArray) mounts = mounted_volumes(worker);

    (void)sim;
    self->next_pass = 0;
    if (mounts->len == 0) {
        pass_later(self);
        return;
    }
    self->pass = g_malloc0(sizeof(StatsPass) + mounts->len * sizeof(VolumeStat));
    self->pass->stats = self;
    for (unsigned i = 0; i < mounts->len; i++)
        self->pass->items[self->pass->n++] = stat_of(mounts->pdata[i]);
    plan_start(&(PlanStart){
        .component = &worker->kubelet->base,
        .decide = decide_pass,
        .key = worker->key,
        .operation = self->pass,
        .free_operation = pass_free,
        .done = pass_over,
    });
}

static const SimEventType pass_event = {
    .name = "kubelet/volume stats of a pod",
    .fire = pass_begin,
};

/* KVM-9: one to two periods after the end of a pass. */
static void
pass_later(VolumeStats *self)
{
    const PodWorker *worker = self->worker;
    const Kubelet *kubelet = worker->kubelet;
    SimTime period = kubelet->options->volume_stats_agg_period;
    SimStream stream = sim_stream(kubelet->base.sim, "kubelet/volume stats");
    uint64_t pod = sim_hash_combine(worker->key->hash, worker->uid.low);
    SimTime jitter = (SimTime)sim_random_below(stream, pod, self->n_passes++, (uint64_t)period);

    self->next_pass = sim_after(kubelet->base.sim, period + jitter, &pass_event, self, WAIT_POLL);
}

/* ---- The analyzer ---- */

/* A pod that is known by its directories alone is not known yet. */
static gboolean
analyzer_pass(void *data)
{
    Kubelet *self = data;
    gboolean again = FALSE;

    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        if (worker->stats != NULL || worker->n_mounts == 0)
            continue;
        if (worker->rebuilt) {
            again = TRUE;
            continue;
        }
        worker->stats = g_new0(VolumeStats, 1);
        worker->stats->worker = worker;
        worker->stats->latest = g_array_new(FALSE, FALSE, sizeof(VolumeStat));
        pass_begin(self->base.sim, worker->stats);
    }
    return again;
}

void
volume_stats_pod_added(Kubelet *self)
{
    SimTime period = self->options->volume_stats_agg_period;

    if (period <= 0)
        return;
    if (self->volume_manager->stats_analyzer == NULL)
        self->volume_manager->stats_analyzer = kubelet_make_loop(
            self, "kubelet/volume stats", LOOP_VOLUME_STATS, period, analyzer_pass);
    sim_ticker_wake(self->volume_manager->stats_analyzer);
}

void
volume_stats_free(VolumeStats *self)
{
    if (self == NULL)
        return;
    sim_cancel(self->worker->kubelet->base.sim, self->next_pass);
    if (self->pass != NULL)
        self->pass->stats = NULL;
    set_gauges(self, FALSE);
    g_array_unref(self->latest);
    g_free(self);
}

/* KVM-73, KVM-74. */
void
volume_stats_measure(const Kubelet *self)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (worker->stats != NULL)
            set_gauges(worker->stats, TRUE);
    }
}
