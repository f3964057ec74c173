/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tester.h"
#include "models/timing/timing-test.h"

static const ProcessFlag no_flags[] = {
    {NULL, FLAG_BOOL, 0, NULL, NULL}
};

static const ProcessClass test_process = {
    .name = "test",
    .scope = PER_CLUSTER,
    .options_size = sizeof(int),
    .flags = no_flags,
    .startup = offsetof(Timing, manager_start), /* a second */
};

PlanDecide tester_decides;
TesterWorld *tester_world;
unsigned tester_workers;
gboolean tester_is_deaf;
gboolean tester_retries;
gboolean tester_never_sleeps;
Plan *tester_polling;

void
tester_log(const char *format, ...)
{
    char buffer[SIM_TIME_BUFFER];
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_string_append_printf(tester_world->log, "%s%s %s", tester_world->log->len == 0 ? "" : ", ",
                           sim_time_format(sim_now(tester_world->sim), buffer), text);
}

static void
decide(const void *self, Plan *plan)
{
    tester_decides(self, plan);
}

static void
tester_done(void *self, ObjectKey *key, PlanEnd end, const char *message)
{
    (void)self;
    tester_polling = NULL;
    tester_log("%s %s%s%s", key->name, end == PLAN_DONE ? "done" : "failed",
               message == NULL ? "" : ": ", message == NULL ? "" : message);
}

static void
tester_init(void *data)
{
    Tester *self = data;

    self->claims = process_informer(self->base.process, KIND_CLAIM, NULL);
    self->operations = operations_new(&self->base, 500 * SIM_MS, 122 * SIM_SECOND);
    self->workers =
        workers_new(&self->base, &(WorkersOptions){
                                     .name = "test",
                                     .n_workers = tester_workers,
                                     .limit = {.base = SIM_SECOND, .max = 8 * SIM_SECOND},
                                     .retry = tester_retries,
                                     .sync = decide,
                                     .done = tester_is_deaf ? NULL : tester_done,
    });
}

static void
tester_clear(void *data)
{
    Tester *self = data;

    workers_free(self->workers);
    operations_free(self->operations);
}

static void
tester_apply(void *data, const PlanChange *change)
{
    Tester *self = data;

    self->changed = change->number;
    tester_log("change %d", change->what);
}

static const ModelClass tester_class = {
    .name = "tester",
    .process = &test_process,
    .size = sizeof(Tester),
    .event_source = "tester",
    .init = tester_init,
    .clear = tester_clear,
    .apply_change = tester_apply,
};

const ModelClass *const model_classes[] = {&tester_class, NULL};

static void *
default_options(void *data, const ProcessClass *class)
{
    const TesterWorld *world = data;

    return process_options_new(class, objects_strings(world->objects));
}

static void
tester_see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    static const char *const verbs[] = {"GET",   "LIST",     "POST",   "PUT", "PUT/st",
                                        "PATCH", "PATCH/st", "DELETE", "BIND"};

    (void)data, (void)arrived_at;
    tester_log("%s %s %d", verbs[request->verb], request->key->name, (int)code);
}

int
tester_setup(void **state)
{
    TesterWorld *world = g_new0(TesterWorld, 1);
    const SimOptions options = {.seed = 1, .polling = tester_never_sleeps};
    CsiModelledOptions driver;

    tester_world = world;
    tester_workers = 1;
    tester_retries = FALSE;
    tester_is_deaf = FALSE;
    world->log = g_string_new(NULL);
    world->sim = sim_new(&options);
    world->objects = objects_new(1);
    timing_init_instant(&world->timing);
    sim_dist_unref(world->timing.write);
    sim_dist_unref(world->timing.think);
    sim_dist_unref(world->timing.watch);
    world->timing.write = sim_dist_new_constant(10 * SIM_MS);
    world->timing.think = sim_dist_new_constant(SIM_MS);
    world->timing.watch = sim_dist_new_constant(2 * SIM_MS);
    world->cluster = cluster_new(&(ClusterOptions){.sim = world->sim,
                                                   .objects = world->objects,
                                                   .timing = &world->timing,
                                                   .minor_version = 32});
    world->api = cluster_api(world->cluster);
    api_server_observe_requests(world->api, tester_see_request, NULL);
    csi_modelled_options_init(&driver);
    driver.name = strings_intern(objects_strings(world->objects), "csi.test");
    world->driver = csi_modelled_driver_base(
        csi_modelled_driver_new(world->sim, objects_strings(world->objects), &driver, NULL));
    *state = world;
    return 0;
}

int
tester_teardown(void **state)
{
    TesterWorld *world = *state;

    cluster_free(world->cluster);
    csi_driver_free(world->driver);
    sim_free(world->sim);
    objects_free(world->objects);
    timing_clear(&world->timing);
    g_string_free(world->log, TRUE);
    g_free(world);
    return 0;
}

ObjectKey *
tester_claim_key(const TesterWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_CLAIM, "default", name);
}

static Object *
new_claim(const TesterWorld *world, const char *name)
{
    Object *object = object_new(tester_claim_key(world, name));

    CLAIM(object)->request_bytes = 1;
    CLAIM(object)->access_modes = ACCESS_RWO;
    return object;
}

void
tester_create_claim(TesterWorld *world, const char *name)
{
    g_autoptr(Object) object = new_claim(world, name);
    ApiResponse response;

    api_server_commit(
        world->api,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object},
        &response);
    assert_int_equal(response.code, API_OK);
}

Tester *
tester_model(const TesterWorld *world)
{
    return cluster_model(world->cluster, &tester_class, NULL);
}

void
tester_start(TesterWorld *world, PlanDecide decide_one)
{
    tester_decides = decide_one;
    cluster_start(world->cluster, default_options, world);
}

void
tester_sync_key(TesterWorld *world, const char *name)
{
    workers_add(tester_model(world)->workers, tester_claim_key(world, name));
}

gboolean
tester_annotate(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/a", value);
}

const Object *
tester_cached(const void *self, const Plan *plan)
{
    return informer_get(((const Tester *)self)->claims, plan_key(plan));
}
