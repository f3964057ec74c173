/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/garbage-collector/garbage-collector.h"
#include "models/plan/plan.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* Rows tell what the collector sends for what happens to owners and what they own. */

const ModelClass *const model_classes[] = {&garbage_collector_class, NULL};

static ObjectKey *
key(const StorageWorld *world, ObjectKind kind, const char *name)
{
    return objects_key(world->objects, kind, "default", name);
}

static const Object *
create_set(StorageWorld *world, const char *name)
{
    StatefulSet *set = STATEFUL_SET(object_new(key(world, KIND_STATEFUL_SET, name)));

    if (set->template == NULL)
        set->template = pod_template_new();
    return storage_world_create(world, set);
}

static void
create_owned(StorageWorld *world, void *object, const Object *owner, const Object *second)
{
    object_set_owner(object, owner, TRUE, TRUE);
    if (second != NULL)
        object_set_owner(object, second, FALSE, TRUE);
    storage_world_create(world, object);
}

static void
create_pod(StorageWorld *world, const char *name, const Object *owner)
{
    create_owned(world, storage_world_pod(world, name, NULL, NULL), owner, NULL);
}

static void
garbage_collector_go_on(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

typedef struct {
    const char *title;
    void (*tell)(StorageWorld *world);
    const char *log;
} GarbageCollectorStory;

/* Each dependent is read, its owner once, and then it is deleted. */
static void
set_goes(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    create_pod(world, "web-1", set);
    create_owned(world, object_new(key(world, KIND_CONTROLLER_REVISION, "web-1")), set, NULL);
    storage_world_create(world, storage_world_claim(world, "data-web-0", 1, "fast"));
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    garbage_collector_go_on(world);
    assert_null(api_server_get(world->api, key(world, KIND_POD, "web-0")));
    assert_non_null(storage_world_stored_claim(world, "data-web-0")); /* nobody owns it (WL-64) */
}

static void
nothing_goes(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    storage_world_start(world);
    create_pod(world, "web-0", set);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_POD, "web-0"));
    garbage_collector_go_on(world);
}

/* EPH-7: as a pod whose ephemeral volume's claim goes with it. */
static void
pod_goes(StorageWorld *world)
{
    const Object *pod = storage_world_create(world, storage_world_pod(world, "p", NULL, NULL));

    create_owned(world, storage_world_claim(world, "p-scratch", 1, "fast"), pod, NULL);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_POD, "p"));
    garbage_collector_go_on(world);
}

/* A set of the same name is another owner: the uid tells. */
static void
owner_comes_anew(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    create_set(world, "web");
    garbage_collector_go_on(world);
}

/* The dependent comes when its owner is gone already. */
static void
owner_went_before(StorageWorld *world)
{
    g_autoptr(Object) set = (Object *)object_ref(create_set(world, "web"));

    storage_world_start(world);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    garbage_collector_go_on(world);
    create_pod(world, "web-0", set);
    garbage_collector_go_on(world);
}

static void
one_owner_is_left(StorageWorld *world)
{
    const Object *set = create_set(world, "web");
    const Object *other = create_set(world, "other");

    create_owned(world, storage_world_pod(world, "web-0", NULL, NULL), set, other);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    garbage_collector_go_on(world);
    assert_non_null(api_server_get(world->api, key(world, KIND_POD, "web-0")));
}

static void
dependent_goes_already(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_owned(world, storage_world_claim(world, "c", 1, "fast"), set, NULL);
    storage_world_delete(world, storage_world_claim_key(world, "c")); /* its protection holds it */
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    garbage_collector_go_on(world);
}

/* Went while the collector was away. */
static void
crashed_meanwhile(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    storage_world_start(world);
    garbage_collector_go_on(world);
    cluster_crash(world->cluster, "kube-controller-manager", NULL);
    storage_world_delete(world, key(world, KIND_STATEFUL_SET, "web"));
    cluster_restart(world->cluster, "kube-controller-manager", NULL);
    storage_world_run(world, sim_now(world->sim) + SIM_MINUTE);
}

static void
set_goes_last(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete_as(world, key(world, KIND_STATEFUL_SET, "web"), API_FOREGROUND);
    assert_true(
        object_is_deleted(api_server_get(world->api, key(world, KIND_STATEFUL_SET, "web"))));
    garbage_collector_go_on(world);
    assert_null(api_server_get(world->api, key(world, KIND_POD, "web-0")));
    assert_null(api_server_get(world->api, key(world, KIND_STATEFUL_SET, "web")));
}

/* A dependent that owns others goes after them, too; here their protection holds them. */
static void
chain_goes(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    create_owned(world, storage_world_claim(world, "scratch", 1, "fast"),
                 api_server_get(world->api, key(world, KIND_POD, "web-0")), NULL);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete_as(world, key(world, KIND_STATEFUL_SET, "web"), API_FOREGROUND);
    garbage_collector_go_on(world);
    assert_non_null(api_server_get(world->api, key(world, KIND_POD, "web-0")));
    storage_world_patch(world, storage_world_claim_key(world, "scratch"), edit_remove_finalizer,
                        strings_intern(objects_strings(world->objects), FINALIZER_PVC_PROTECTION));
    garbage_collector_go_on(world);
    assert_null(api_server_get(world->api, key(world, KIND_STATEFUL_SET, "web")));
}

static void
set_waits_for_nobody(StorageWorld *world)
{
    create_set(world, "web");
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete_as(world, key(world, KIND_STATEFUL_SET, "web"), API_FOREGROUND);
    garbage_collector_go_on(world);
}

/* The other owner keeps the pod, which then no longer blocks. */
static void
shared_dependent_stays(StorageWorld *world)
{
    const Object *set = create_set(world, "web");
    const Object *other = create_set(world, "other");

    create_owned(world, storage_world_pod(world, "web-0", NULL, NULL), set, other);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete_as(world, key(world, KIND_STATEFUL_SET, "web"), API_FOREGROUND);
    garbage_collector_go_on(world);
    const Object *pod = api_server_get(world->api, key(world, KIND_POD, "web-0"));
    assert_int_equal(pod->owners->n_items, 1);
    assert_null(api_server_get(world->api, key(world, KIND_STATEFUL_SET, "web")));
}

static void
pods_stay(StorageWorld *world)
{
    const Object *set = create_set(world, "web");

    create_pod(world, "web-0", set);
    create_pod(world, "web-1", set);
    storage_world_start(world);
    garbage_collector_go_on(world);
    storage_world_delete_as(world, key(world, KIND_STATEFUL_SET, "web"), API_ORPHAN);
    garbage_collector_go_on(world);
    assert_null(object_controller(api_server_get(world->api, key(world, KIND_POD, "web-0"))));
    assert_null(api_server_get(world->api, key(world, KIND_STATEFUL_SET, "web")));
}

static const GarbageCollectorStory stories[] = {
    {"WL-101 what a set owned goes with it", set_goes,
     "GET pod/web-0, GET pod/web-1, GET revision/web-1, GET sts/web 404, GET sts/web 404, "
     "GET sts/web 404, DELETE pod/web-0, DELETE pod/web-1, DELETE revision/web-1"                                            },
    {"nothing to collect",                   nothing_goes,           ""                                                      },
    {"WL-101 a pod's claim",                 pod_goes,               "GET pvc/p-scratch, GET pod/p 404, DELETE pvc/p-scratch"},
    {"WL-101 a new owner of the same name",  owner_comes_anew,
     "GET pod/web-0, GET sts/web, DELETE pod/web-0"                                                                          },
    {"WL-101 the owner went before",         owner_went_before,
     "GET pod/web-0, GET sts/web 404, DELETE pod/web-0"                                                                      },
    {"WL-101 one owner is left",             one_owner_is_left,      ""                                                      },
    {"a dependent that goes already",        dependent_goes_already, ""                                                      },
    {"the owner went during a crash",        crashed_meanwhile,
     "GET pod/web-0, GET sts/web 404, DELETE pod/web-0"                                                                      },
    {"WL-102 a set waits for its pods",      set_goes_last,
     "GET pod/web-0, GET sts/web, DELETE pod/web-0, GET sts/web, PATCH sts/web"                                              },
    {"WL-102 a pod waits for its claim",     chain_goes,
     "GET pod/web-0, GET sts/web, DELETE pod/web-0, GET pvc/scratch, GET pod/web-0, "
     "DELETE pvc/scratch, GET pod/web-0, PATCH pod/web-0, GET sts/web, PATCH sts/web"                                        },
    {"WL-102 nothing to wait for",           set_waits_for_nobody,   "GET sts/web, PATCH sts/web"                            },
    {"WL-102 a pod with another owner",      shared_dependent_stays,
     "GET pod/web-0, PATCH pod/web-0, GET sts/web, PATCH sts/web"                                                            },
    {"WL-103 pods without their set",        pods_stay,
     "PATCH pod/web-0, PATCH pod/web-1, GET sts/web, PATCH sts/web"                                                          },
};

static void
garbage_collector_tell_story(void **state)
{
    const GarbageCollectorStory *story = *state;
    StorageWorld world;

    storage_world_init(&world, NULL);
    story->tell(&world);
    assert_string_equal(storage_world_log(&world), story->log);
    storage_world_clear(&world);
}
TEST_ROWS(stories, garbage_collector_tell_story);

/* WL-105: 100 dependents are read and deleted by 200 requests and one more for each worker that did
 * not know yet that the owner is gone; at 40/s after a burst of 30. */
TEST(throttled)
{
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.throttled = TRUE, .slow = TRUE});
    const Object *set = create_set(&world, "web");
    for (int i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("web-%d", i);
        create_pod(&world, name, set);
    }
    storage_world_start(&world);
    storage_world_delete(&world, key(&world, KIND_STATEFUL_SET, "web"));
    storage_world_run(&world, 4 * SIM_SECOND);
    assert_true(api_server_count(world.api, KIND_POD) > 0);
    storage_world_run(&world, 5 * SIM_SECOND);
    assert_int_equal(api_server_count(world.api, KIND_POD), 0);
    storage_world_clear(&world);
}
