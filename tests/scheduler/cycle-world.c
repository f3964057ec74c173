/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cycle-world.h"

void
cycle_world_init(CycleWorld *self)
{
    *self = (CycleWorld){0};
    storage_world_init(&self->base, NULL);
}

static void
see_nodes(CycleWorld *self)
{
    const Object *object;
    InformerIter iter;

    informer_iter_init(&iter, process_informer(self->process, KIND_NODE, NULL));
    while ((object = informer_iter_next(&iter)) != NULL)
        scheduler_cache_set_node(self->cache, object->key, (const Node *)object);
    informer_iter_init(&iter, process_informer(self->process, KIND_CSI_NODE, NULL));
    while ((object = informer_iter_next(&iter)) != NULL)
        scheduler_cache_set_csi_node(
            self->cache, objects_key(self->base.objects, KIND_NODE, NULL, object->key->name),
            CSI_NODE(object));
}

void
cycle_world_start(CycleWorld *self)
{
    ProcessOptions options = {self->base.sim, self->base.objects, self->base.api,
                              &self->base.timing, "kube-scheduler"};

    self->process = process_new(&options);
    cycle_view_init(&self->view, self->process, self->base.sim, self->base.objects);
    self->view.min_domains = TRUE;
    CacheOptions cache_options = {
        .sources = {self->base.objects, self->view.claims, self->view.volumes, self->view.classes,
                    self->view.release},
        .attachments = process_informer(self->process, KIND_ATTACHMENT, NULL),
        .strings = objects_strings(self->base.objects),
    };
    self->cache = scheduler_cache_new(&cache_options);
    self->binder.claims = assume_cache_new(self->view.claims, "v1.PersistentVolumeClaim");
    self->binder.volumes = assume_cache_new(self->view.volumes, "v1.PersistentVolume");
    self->binder.objects = self->base.objects;
    self->view.cache = self->cache;
    self->view.binder = &self->binder;
    self->cycle = cycle_new(&self->view);
    see_nodes(self);
}

void
cycle_world_clear(CycleWorld *self)
{
    cycle_free(self->cycle);
    scheduler_cache_free(self->cache);
    assume_cache_free(self->binder.claims);
    assume_cache_free(self->binder.volumes);
    process_free(self->process);
    storage_world_clear(&self->base);
}
