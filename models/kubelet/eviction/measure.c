/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a machine and its pods use at an instant, as annotations tell: the summary API and
 * helpers.go of pkg/kubelet/eviction. A use is a function of the time since the pod's containers
 * started, so nothing is sampled: eviction_observe() adds the functions up, and
 * eviction_next_change() tells the next instant at which any of them changes by itself. Memory and
 * processes count while containers run, files until the pod is cleaned up (EVM-2). */
#include "measure.h"

#include "pressure.h"

/* Whether tmpfs has the size of its limit (gate SizeMemoryBackedVolumes). */
static gboolean
memory_dirs_are_sized(const Kubelet *self)
{
    return release_has_gate(kubelet_release(self), "SizeMemoryBackedVolumes");
}

int64_t
pod_dir_bytes(const PodWorker *worker, unsigned i, SimTime now)
{
    const PodEmptyDir *dir = &worker->use->dirs[i];
    int64_t bytes = machine_use_at(&worker->use->uses->items[i], now - worker->use->since);
    gboolean is_bounded =
        dir->in_memory && dir->limit > 0 && memory_dirs_are_sized(worker->kubelet);

    return is_bounded ? MIN(bytes, dir->limit) : bytes; /* EVM-5: more writes fail */
}

static gboolean
has_use(const PodWorker *worker)
{
    return worker->use != NULL && worker->use->since != TIME_UNSET &&
           worker->step != WORKER_FINISHED;
}

/* EVM-2: memory and processes are there while containers run; files until the pod is cleaned up. */
PodTotals
pod_totals(const PodWorker *worker, SimTime now)
{
    PodTotals totals = {0};

    for (unsigned i = 0; has_use(worker) && i < worker->use->uses->n; i++) {
        const MachineUse *use = &worker->use->uses->items[i];
        int64_t bytes = machine_use_at(use, now - worker->use->since);
        switch (use->kind) {
        case USE_MEMORY:
            totals.memory = sim_time_add(totals.memory, worker->running ? bytes : 0);
            break;
        case USE_PIDS:
            totals.pids = worker->running ? bytes : 0;
            break;
        case USE_DISK:
            totals.disk = bytes;
            totals.disk_files = machine_use_files(use, bytes);
            break;
        case USE_EMPTY_DIR:
            bytes = pod_dir_bytes(worker, i, now);
            if (worker->use->dirs[i].in_memory) {
                totals.memory = sim_time_add(totals.memory, bytes);
                break;
            }
            totals.dirs = sim_time_add(totals.dirs, bytes);
            totals.dir_files = sim_time_add(totals.dir_files, machine_use_files(use, bytes));
            break;
        case USE_IMAGES:
            break;
        }
    }
    return totals;
}

static PodTotals
all_pods(const Kubelet *self, SimTime now)
{
    PodTotals sum = {0};

    for (unsigned i = 0; i < self->workers->len; i++) {
        PodTotals pod = pod_totals(self->workers->pdata[i], now);
        sum.memory = sim_time_add(sum.memory, pod.memory); /* saturates */
        sum.pids = sim_time_add(sum.pids, pod.pids);
        sum.disk = sim_time_add(sum.disk, pod.disk);
        sum.disk_files = sim_time_add(sum.disk_files, pod.disk_files);
        sum.dirs = sim_time_add(sum.dirs, pod.dirs);
        sum.dir_files = sim_time_add(sum.dir_files, pod.dir_files);
    }
    return sum;
}

/* Returns: what the machine itself uses of this kind. @files: (out) (nullable) */
static int64_t
machine_part(const Eviction *eviction, UseKind kind, SimTime now, int64_t *files)
{
    for (unsigned i = 0; eviction->uses != NULL && i < eviction->uses->n; i++) {
        const MachineUse *use = &eviction->uses->items[i];
        if (use->kind != kind)
            continue;
        int64_t bytes = machine_use_at(use, now - eviction->uses_since);
        if (files != NULL)
            *files = sim_time_add(*files, machine_use_files(use, bytes));
        return bytes;
    }
    return 0;
}

static Observation
observation(int64_t capacity, int64_t a, int64_t b)
{
    int64_t used = sim_time_add(a, b);

    return (Observation){capacity, used < capacity ? capacity - used : 0};
}

/* EVM-3: without a disk of their own, images and containers lie on the node's, and both signals
 * tell of the same. EVM-4: of a resource of which a fault says that it is short, nothing is left.
 */
void
eviction_observe(const Kubelet *self, SimTime now, Observation *observations)
{
    const Eviction *eviction = self->eviction;
    const MachineCapacity *capacity = &eviction->capacity;
    PodTotals pods = all_pods(self, now);
    gboolean has_own_disk = capacity->images >= 0;
    int64_t volume_files = pods.dir_files, container_files = pods.disk_files;
    int64_t images = machine_part(eviction, USE_IMAGES, now, &container_files);
    int64_t on_disk = machine_part(eviction, USE_DISK, now, &volume_files);
    int64_t containers = sim_time_add(images, pods.disk);
    int64_t volumes = sim_time_add(on_disk, pods.dirs);

    observations[SIGNAL_MEMORY] =
        observation(capacity->memory, machine_part(eviction, USE_MEMORY, now, NULL), pods.memory);
    observations[SIGNAL_PIDS] =
        observation(capacity->pids, machine_part(eviction, USE_PIDS, now, NULL), pods.pids);
    observations[SIGNAL_NODEFS] =
        observation(capacity->disk, volumes, has_own_disk ? 0 : containers);
    observations[SIGNAL_NODEFS_INODES] =
        observation(capacity->inodes, volume_files, has_own_disk ? 0 : container_files);
    observations[SIGNAL_IMAGEFS] =
        has_own_disk ? observation(capacity->images, containers, 0) : observations[SIGNAL_NODEFS];
    observations[SIGNAL_IMAGEFS_INODES] =
        has_own_disk ? observation(capacity->image_inodes, container_files, 0)
                     : observations[SIGNAL_NODEFS_INODES];
    for (unsigned i = 0; i < N_SIGNALS; i++)
        if ((self->pressure->shortages & 1u << signal_condition((EvictionSignal)i)) != 0)
            observations[i].available = 0;
}

static SimTime
next_of(const MachineUses *uses, SimTime since, SimTime now)
{
    SimTime next = SIM_TIME_MAX;

    for (unsigned i = 0; uses != NULL && i < uses->n; i++)
        next = MIN(next, machine_use_next(&uses->items[i], now - since));
    return sim_time_add(next, since);
}

SimTime
eviction_next_change(const Kubelet *self, SimTime now)
{
    SimTime next = next_of(self->eviction->uses, self->eviction->uses_since, now);

    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (has_use(worker))
            next = MIN(next, next_of(worker->use->uses, worker->use->since, now));
    }
    return next;
}

/* buildSignalToRankFunc() in helpers.go: with a disk of their own, containers count for imagefs
 * alone. A pod of which nobody tells anything uses nothing. */
EvictionRank
pod_rank(const PodWorker *worker, EvictionSignal signal, SimTime now)
{
    const PodSpec *spec = POD_CONST(worker->pod)->spec;
    PodTotals totals = pod_totals(worker, now);
    gboolean has_own_disk = worker->kubelet->eviction->capacity.images >= 0;
    gboolean counts_disk =
        signal == SIGNAL_IMAGEFS || signal == SIGNAL_IMAGEFS_INODES || !has_own_disk;
    gboolean counts_dirs =
        signal == SIGNAL_NODEFS || signal == SIGNAL_NODEFS_INODES || !has_own_disk;
    int64_t request = worker->use == NULL ? 0 : worker->use->limits.request;
    int64_t bytes = sim_time_add(counts_disk ? totals.disk : 0, counts_dirs ? totals.dirs : 0);
    int64_t files =
        sim_time_add(counts_disk ? totals.disk_files : 0, counts_dirs ? totals.dir_files : 0);
    EvictionRank rank = {.priority = spec->priority};

    switch (signal) {
    case SIGNAL_MEMORY:
        rank.exceeds = totals.memory > spec->memory_bytes;
        rank.excess = totals.memory - spec->memory_bytes;
        break;
    case SIGNAL_PIDS:
        rank.excess = totals.pids;
        break;
    case SIGNAL_NODEFS:
    case SIGNAL_IMAGEFS:
        rank.exceeds = bytes > request;
        rank.excess = bytes - request;
        break;
    case SIGNAL_NODEFS_INODES:
    case SIGNAL_IMAGEFS_INODES: /* nobody asks for inodes, and the bytes asked for count less */
        rank.exceeds = files > 0;
        rank.excess = files - request;
        break;
    case N_SIGNALS:
        g_assert_not_reached();
    }
    return rank;
}
