/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API server as its users see it: the store, the verbs, admission and the watches behind one
 * struct. It decides nothing itself. Trouble (an outage, slowness, few seats) is kept here, apart,
 * because most runs have none. */
#include "apiserver-private.h"
#include "checks.h"
#include "models/api/quota/quota.h"
#include "models/apiserver/apiserver-test.h"
#include "service-account.h"

ApiServer *
api_server_new(const ApiServerOptions *options)
{
    static const Release default_release = {.minor = RELEASE_DEFAULT_MINOR};
    const Release *release = options->release == NULL ? &default_release : options->release;
    ApiServer *self = g_new0(ApiServer, 1);

    api_latency_init(&self->latency, options->sim, options->timing);
    api_store_init(&self->store, options->sim, options->objects, &self->latency);
    self->store.marks_victims = release_has_gate(release, "PodDisruptionConditions");
    self->store.knows_class_scope = quota_knows_class_scope(release);
    self->store.names_containers = release->minor >= 24;
    admission_init(&self->admission, &self->store, release);
    self->admission.keeps_requests = options->keeps_requests;
    self->admission.refuses_defaults = options->refuses_defaults;
    self->verbs = (ApiVerbs){&self->store, &self->admission, g_string_new(NULL)};
    api_server_init_requests(self);
    api_server_init_events(self);
    return self;
}

void
api_server_free(ApiServer *self)
{
    if (self == NULL)
        return;
    admission_clear(&self->admission);
    g_string_free(self->verbs.message, TRUE);
    trouble_free(self->trouble);
    api_server_clear_requests(self);
    api_server_clear_events(self);
    api_store_clear(&self->store);
    g_free(self);
}

/* ---- The store ---- */

Objects *
api_server_objects(const ApiServer *self)
{
    return self->store.objects;
}

const Object *
api_server_get(const ApiServer *self, const ObjectKey *key)
{
    return api_store_get(&self->store, key);
}

unsigned
api_server_count(const ApiServer *self, ObjectKind kind)
{
    return self->store.counts[kind];
}

uint64_t
api_server_resource_version(const ApiServer *self)
{
    return self->store.revision;
}

void
api_server_observe(ApiServer *self, ApiObserver observer, void *data)
{
    api_store_observe(&self->store, observer, data);
}

void
api_server_import(ApiServer *self, Object *object)
{
    ApiStore *store = &self->store;
    ObjectKey *key = (ObjectKey *)object->key;
    uint64_t revision = store->revision, version = object->resource_version;

    store->is_importing = object_uid_is_set(object->uid);
    if (store->is_importing)
        objects_avoid_uid(store->objects, object->uid);
    else
        object->uid = objects_uid(store->objects, key, ++key->incarnation);
    if (store->is_importing && version > 0)
        store->revision = version - 1; /* it keeps the version that it came with */
    object_unref(
        api_store_commit(store, WATCH_ADDED, object, sim_now(store->sim), key->n_requests++));
    store->revision = MAX(store->revision, revision);
    store->is_importing = FALSE;
}

void
api_server_place(ApiServer *self, Object *object)
{
    ApiStore *store = &self->store;
    ObjectKey *key = (ObjectKey *)object->key;
    uint64_t revision = store->revision;

    if (!object_uid_is_set(object->uid))
        object->uid = objects_uid(store->objects, key, ++key->incarnation);
    if (object->created_at == TIME_UNSET)
        object->created_at = sim_now(store->sim);
    store->revision = MAX(object->resource_version, 1) - 1;
    object_unref(
        api_store_commit(store, WATCH_ADDED, object, sim_now(store->sim), key->n_requests++));
    store->revision = MAX(store->revision, revision);
}

void
api_server_add_namespace(ApiServer *self, const char *name)
{
    self->store.implies_namespaces = TRUE;
    namespace_imply(&self->store, name, TRUE);
}

void
api_server_check_accounts(ApiServer *self, const char *namespace, const char *name)
{
    ApiStore *store = &self->store;

    if (store->named_accounts == NULL)
        store->named_accounts = g_hash_table_new(g_direct_hash, g_direct_equal);
    if (name != NULL)
        g_hash_table_add(
            store->named_accounts,
            objects_other_key(store->objects,
                              objects_resource(store->objects, "", "ServiceAccount", NULL),
                              namespace, name));
}

const Object *
api_server_account(const ApiServer *self, const Pod *pod)
{
    return service_account_find(&self->store, pod->meta.key->namespace, pod->spec->service_account);
}

gboolean
api_server_is_importing(const ApiServer *self)
{
    return self->store.is_importing;
}

/* ---- Watches ---- */

ApiWatch *
api_server_watch(ApiServer *self,
                 ObjectKind kind,
                 const char *filter,
                 uint64_t entity,
                 ApiWatchEvent event,
                 void *data)
{
    return watch_hub_watch(self->store.watches, kind, filter, entity, event, data);
}

void
api_server_break_watches(ApiServer *self, uint64_t entity)
{
    watch_hub_break(self->store.watches, entity);
}

void
api_server_repair_watches(ApiServer *self, uint64_t entity, WatchRepair how)
{
    watch_hub_repair(self->store.watches, entity, how);
}

/* ---- Trouble ---- */

static ApiTrouble *
trouble_of(ApiServer *self)
{
    if (self->trouble == NULL)
        self->trouble = trouble_new(self->store.sim, self->store.watches, &api_call_class);
    return self->trouble;
}

void
api_server_set_down(ApiServer *self, gboolean is_down)
{
    trouble_set_down(trouble_of(self), is_down);
}

gboolean
api_server_is_down(const ApiServer *self)
{
    return self->trouble != NULL && trouble_is_down(self->trouble);
}

void
api_server_set_slowness(ApiServer *self, double factor)
{
    trouble_of(self); /* for its time-out of requests: API-93 */
    self->latency.slowness = factor;
}

void
api_server_set_seats(ApiServer *self, unsigned seats)
{
    trouble_set_seats(trouble_of(self), seats);
}

uint64_t
api_server_n_turned_away(const ApiServer *self)
{
    return self->trouble == NULL ? 0 : trouble_n_turned_away(self->trouble);
}
