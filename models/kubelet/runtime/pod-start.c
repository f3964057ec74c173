/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start of a pod's containers, once its volumes are mounted: the sandbox, then for each
 * container its image. SyncPod() in Kubernetes' pkg/kubelet/kuberuntime, pkg/kubelet/images. The
 * timing of the scenario tells how long sandboxes and pulls take; by default they take no time,
 * and an image is there as soon as some pod has started with it. Pulls of a node come one after
 * the other if the flag says so (KVM-101): the disk keeps the end of the last. */
#include "runtime.h"

#include "models/kubelet/disk.h"

#include <string.h>

#define COLON_SINCE 29        /* REL-40 */
#define NAMELESS_SINCE 35     /* REL-41 */
#define SANDBOX_TOLD_SINCE 36 /* KVM-103 */

/* The start under way, from image to image. */
typedef struct {
    unsigned next;       /* container */
    gboolean has_waited; /* for any image */
    SimTime asked_at;    /* for the image of the next container; TIME_UNSET: it was there */
    SimTime pull;        /* time of the pull alone */
} PodStart;

/* Each start pulls an image with the tag "latest" or without a tag (imagePullPolicy: Always). */
static gboolean
is_pulled_always(const char *image)
{
    const char *name = strrchr(image, '/'), *tag;

    name = name == NULL ? image : name + 1;
    tag = strchr(name, ':');
    return tag == NULL ? strchr(name, '@') == NULL : strcmp(tag, ":latest") == 0;
}

static const char *
image_name(const PodSpec *spec, unsigned container)
{
    const char *image = spec->containers[container].image;

    return image == NULL ? "" : image;
}

/* Returns: (borrowed): NULL: it was never pulled at a time of its own */
static const PulledImage *
find_pulled(const Kubelet *self, const char *image)
{
    const KubeletDisk *disk = *self->base.disk;

    for (unsigned i = 0; disk != NULL && i < disk->images->len; i++)
        if (g_str_equal(g_array_index(disk->images, PulledImage, i).name, image))
            return &g_array_index(disk->images, PulledImage, i);
    return NULL;
}

/* Whether the node has the image, from an earlier pod or an earlier container of this pod. */
static gboolean
has_image(const Kubelet *self, const PodSpec *spec, unsigned container)
{
    const char *image = spec->containers[container].image;
    const PulledImage *pulled = find_pulled(self, image_name(spec, container));

    for (unsigned i = 0; i < container; i++)
        if (spec->containers[i].image == image)
            return TRUE;
    return (self->pod_runtime->images != NULL &&
            g_ptr_array_find(self->pod_runtime->images, image, NULL)) ||
           (pulled != NULL && pulled->there_at <= sim_now(self->base.sim));
}

/* As Go prints a duration that is cut to milliseconds. */
static const char *
duration_text(Plan *plan, SimTime duration)
{
    SimTime ms = duration / SIM_MS, minutes = ms / 60000;
    g_autofree char *seconds =
        g_strdup_printf("%d.%03d", (int)(ms % 60000 / 1000), (int)(ms % 1000));

    if (ms < 1000)
        return ms == 0 ? "0s" : plan_internf(plan, "%dms", (int)ms);
    for (size_t end = strlen(seconds); seconds[end - 1] == '0' || seconds[end - 1] == '.'; end--) {
        gboolean was_point = seconds[end - 1] == '.';
        seconds[end - 1] = '\0';
        if (was_point)
            break;
    }
    if (minutes == 0)
        return plan_internf(plan, "%ss", seconds);
    return minutes < 60
               ? plan_internf(plan, "%dm%ss", (int)minutes, seconds)
               : plan_internf(plan, "%dh%dm%ss", (int)(minutes / 60), (int)(minutes % 60), seconds);
}

static void
add_pulled(Plan *plan, const Object *pod, const char *image, SimTime pull, SimTime in_all)
{
    plan_event(
        plan, pod, "Normal", "Pulled",
        "Successfully pulled image \"%s\" in %s (%s including waiting). Image size: 0 bytes.",
        image, duration_text(plan, pull), duration_text(plan, in_all));
}

static void
add_image_events(Plan *plan, const Object *pod, const char *image, gboolean is_there)
{
    if (is_there && !is_pulled_always(image)) {
        plan_event(plan, pod, "Normal", "Pulled",
                   "Container image \"%s\" already present on machine", image);
        return;
    }
    plan_event(plan, pod, "Normal", "Pulling", "Pulling image \"%s\"", image);
    add_pulled(plan, pod, image, 0, 0);
}

/* REL-40, REL-41 */
static void
add_container_events(Plan *plan, const Object *pod, const char *name, int minor)
{
    if (minor >= NAMELESS_SINCE) {
        plan_event(plan, pod, "Normal", "Created", "Container created");
        plan_event(plan, pod, "Normal", "Started", "Container started");
        return;
    }
    plan_event(plan, pod, "Normal", "Created", "Created container%s %s",
               minor >= COLON_SINCE ? ":" : "", name);
    plan_event(plan, pod, "Normal", "Started", "Started container %s", name);
}

/* KVM-101: the pull begins after all pulls that were requested before, unless pulls run side by
 * side. An image that is there by then takes no more time. */
static void
add_pull(const Kubelet *self, Plan *plan, PodStart *start, const char *image)
{
    const PodWorker *worker = plan_operation(plan);
    const KubeletDisk *disk = *self->base.disk;
    const PulledImage *pulled = find_pulled(self, image);
    SimTime now = plan_now(plan), begins = now, ends;
    uint64_t entity = sim_hash_combine(self->node_key->hash, g_str_hash(image));

    if (disk != NULL && self->options->serialize_image_pulls)
        begins = MAX(now, disk->pulls_until);
    start->asked_at = now;
    start->pull = pulled != NULL
                      ? 0
                      : sim_dist_draw(process_timing(self->base.process)->image_pull,
                                      sim_stream(self->base.sim, "kubelet/image pull"), entity, 0);
    start->pull = MAX(start->pull, 0);
    ends = MAX(begins + start->pull, pulled != NULL ? pulled->there_at : now);
    plan_because(plan, "KVM-100");
    plan_event(plan, worker->pod, "Normal", "Pulling", "Pulling image \"%s\"", image);
    plan_change(
        plan,
        &(PlanChange){.what = CHANGE_PULLING, .pointer = worker, .text = image, .number = ends});
    plan_wait(plan, ends - now, WAIT_IMAGE);
}

void
pod_start_add_files_work(Plan *plan, const PodWorker *worker, CsiFilesWork work)
{
    for (unsigned i = 0; i < worker->n_mounts; i++)
        if (worker->mounts[i].files != NULL)
            kubelet_add_change(plan, CHANGE_FILES_WORK, worker->mounts[i].files, work);
}

/* KVM-99: containers from @start->next on, up to the first whose image is to be waited for. */
static void
decide_containers(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PodWorker *worker = plan_operation(plan);
    const PodSpec *spec = pod_run_spec(worker);
    PodStart *start = plan_notes(plan);

    for (; start->next < spec->n_containers && spec->containers != NULL; start->next++) {
        const char *image = image_name(spec, start->next);
        if (!pod_run_starts(worker, start->next))
            continue;
        if (start->asked_at != TIME_UNSET) {
            add_pulled(plan, worker->pod, image, start->pull, plan_now(plan) - start->asked_at);
            start->asked_at = TIME_UNSET;
        } else if (process_timing(self->base.process)->image_pull != NULL &&
                   !has_image(self, spec, start->next)) {
            start->has_waited = TRUE;
            add_pull(self, plan, start, image);
            plan_then(plan, decide_containers);
            return;
        } else {
            add_image_events(plan, worker->pod, image, has_image(self, spec, start->next));
        }
        add_container_events(plan, worker->pod, spec->containers[start->next].name,
                             kubelet_release(self)->minor);
    }
    if (start->has_waited)
        kubelet_add_change(plan, CHANGE_PULLED, worker, 0);
    pod_start_add_files_work(plan, worker, CSI_FILES_IDLE);
    kubelet_add_change(plan, CHANGE_STARTED, worker, 0);
}

static SimTime
sandbox_time(const Kubelet *self, const PodWorker *worker)
{
    const SimDist *dist = process_timing(self->base.process)->pod_sandbox;
    uint64_t entity = sim_hash_combine(worker->key->hash, worker->uid.low);

    if (dist == NULL || worker->was_running) /* a restarted container finds it */
        return 0;
    return MAX(sim_dist_draw(dist, sim_stream(self->base.sim, "kubelet/sandbox"), entity, 0), 0);
}

void
pod_start_add(const Kubelet *self, Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);
    PodStart *start = plan_new_notes(plan, PodStart, NULL);

    *start = (PodStart){.asked_at = TIME_UNSET};
    if (kubelet_release(self)->minor >= SANDBOX_TOLD_SINCE && !worker->was_running) {
        plan_wait(plan, sandbox_time(self, worker), WAIT_RUNTIME);
        plan_because(plan, "KVM-103");
        kubelet_add_change(plan, CHANGE_SANDBOX, worker, 0);
        plan_wait(plan, self->options->container_start, WAIT_RUNTIME);
    } else {
        plan_wait(plan, self->options->container_start + sandbox_time(self, worker), WAIT_RUNTIME);
    }
    if (process_timing(self->base.process)->image_pull == NULL)
        decide_containers(self, plan);
    else
        plan_then(plan, decide_containers);
}

void
pod_start_remember_images(const PodWorker *worker)
{
    Kubelet *self = worker->kubelet;
    const PodSpec *spec = pod_run_spec(worker);

    if (self->pod_runtime->images == NULL)
        self->pod_runtime->images = g_ptr_array_new();
    for (unsigned i = 0; i < spec->n_containers && spec->containers != NULL; i++)
        if (!has_image(self, spec, i))
            g_ptr_array_add(self->pod_runtime->images, (char *)spec->containers[i].image);
}

/* A pull goes on even if the pod goes meanwhile. */
void
pod_start_pulling(Kubelet *self, const char *image, SimTime ends)
{
    KubeletDisk *disk = kubelet_disk(self);
    PulledImage pulled = {image, ends};

    disk->pulls_until = MAX(disk->pulls_until, ends);
    if (find_pulled(self, image) == NULL)
        g_array_append_val(disk->images, pulled);
}
