/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/apiserver/apiserver-test.h"
#include "models/client/event-recorder.h"
#include "models/client/workqueue.h"
#include "models/timing/timing-test.h"
#include "tests/lib/test.h"

/* client-go's part: docs/rules/client-go.md. */

typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    ApiServer *api;
    Process *process;
    GString *log;
    unsigned n_ready;
} ClientWorld;

static int
client_setup(void **state)
{
    ClientWorld *world = g_new0(ClientWorld, 1);
    const SimOptions options = {.seed = 1};

    world->sim = sim_new(&options);
    world->objects = objects_new(1);
    timing_init_instant(&world->timing);
    world->api = api_server_new(&(ApiServerOptions){
        .sim = world->sim, .objects = world->objects, .timing = &world->timing});
    world->process = process_new(
        &(ProcessOptions){world->sim, world->objects, world->api, &world->timing, "test"});
    world->log = g_string_new(NULL);
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    ClientWorld *world = *state;

    process_free(world->process);
    api_server_free(world->api);
    sim_free(world->sim);
    objects_free(world->objects);
    timing_clear(&world->timing);
    g_string_free(world->log, TRUE);
    g_free(world);
    return 0;
}

static ObjectKey *
key(const ClientWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_CLAIM, "default", name);
}

static void
log_text(ClientWorld *world, const char *text)
{
    g_string_append_printf(world->log, "%s%s", world->log->len == 0 ? "" : " ", text);
}

/* ---- Work queue ---- */

static void
ready(void *data)
{
    ((ClientWorld *)data)->n_ready++;
}

static WorkQueue *
new_queue(ClientWorld *world, RateLimit limit)
{
    return work_queue_new(&(WorkQueueOptions){
        .sim = world->sim, .name = "test", .limit = limit, .ready = ready, .self = world});
}

static const char *
get(WorkQueue *queue)
{
    SimCauseId added_by;
    const ObjectKey *taken = work_queue_get(queue, &added_by);

    return taken == NULL ? "-" : taken->name;
}

/* CGO-20 to CGO-22: a row has a script of adds (+x), gets (g) and dones (.x), and the keys that the
 * gets return. */
static const struct {
    const char *rule, *script, *gets;
} queue_cases[] = {
    {"CGO-20 waiting keys are added once",      "+a +b +a g g g",          "a b -"  },
    {"CGO-21 first in, first out",              "+c +a +b g g g",          "c a b"  },
    {"CGO-22 a key in work is not given twice", "+a g +a g",               "a -"    },
    {"CGO-22 it runs once more, at the tail",   "+a g +a +b +a .a g g g",  "a b a -"},
    {"CGO-22 any number of adds is one run",    "+a g +a +a +a .a g .a g", "a a -"  },
    {"CGO-22 done without adds is the end",     "+a g .a g",               "a -"    },
};

TEST_WITH(client_setup, teardown, keys_are_given_once_at_a_time)
{
    ClientWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(queue_cases); i++) {
        g_autoptr(WorkQueue) queue = new_queue(world, (RateLimit){0});
        g_auto(GStrv) words = g_strsplit(queue_cases[i].script, " ", -1);
        g_string_truncate(world->log, 0);
        for (unsigned k = 0; words[k] != NULL; k++) {
            if (words[k][0] == '+')
                work_queue_add(queue, key(world, words[k] + 1));
            else if (words[k][0] == '.')
                work_queue_done(queue, key(world, words[k] + 1));
            else
                log_text(world, get(queue));
        }
        if (strcmp(world->log->str, queue_cases[i].gets) != 0)
            fail_msg("%s: %s", queue_cases[i].rule, world->log->str);
    }
}

/* A loop may leave out a key that waits, or that was added during its sync; not one that only
 * works, or waits for a delay. */
TEST_WITH(client_setup, teardown, a_queue_tells_which_adds_change_nothing)
{
    ClientWorld *world = *state;
    g_autoptr(WorkQueue) queue = new_queue(world, (RateLimit){0});
    ObjectKey *a = key(world, "a");

    assert_false(work_queue_has(queue, a->slot));
    work_queue_add_after(queue, a, SIM_SECOND);
    assert_false(work_queue_has(queue, a->slot));
    work_queue_add(queue, a);
    assert_true(work_queue_has(queue, a->slot));
    assert_string_equal(get(queue), "a");
    assert_false(work_queue_has(queue, a->slot));
    work_queue_add(queue, a);
    assert_true(work_queue_has(queue, a->slot));
    work_queue_done(queue, a);
    assert_true(work_queue_has(queue, a->slot));
}

/* The instants at which @queue has a key, until it is empty. */
static void
log_arrivals(ClientWorld *world, WorkQueue *queue)
{
    char buffer[SIM_TIME_BUFFER];

    while (sim_next_event_at(world->sim) != SIM_TIME_MAX) {
        sim_step(world->sim);
        for (const char *name = get(queue); name[0] != '-'; name = get(queue)) {
            g_autofree char *text =
                g_strdup_printf("%s@%s", name, sim_time_format(sim_now(world->sim), buffer));
            log_text(world, text);
            work_queue_done(queue, key(world, name));
        }
    }
}

/* CGO-24. */
TEST_WITH(client_setup, teardown, of_two_delays_the_earlier_stays)
{
    ClientWorld *world = *state;
    g_autoptr(WorkQueue) queue = new_queue(world, (RateLimit){0});

    work_queue_add_after(queue, key(world, "a"), 5 * SIM_SECOND);
    work_queue_add_after(queue, key(world, "a"), 2 * SIM_SECOND);
    work_queue_add_after(queue, key(world, "a"), 9 * SIM_SECOND);
    work_queue_add_after(queue, key(world, "b"), SIM_SECOND);
    work_queue_add(queue, key(world, "b")); /* does not cancel the delayed one */
    assert_string_equal(get(queue), "b");
    work_queue_done(queue, key(world, "b"));
    log_arrivals(world, queue);
    assert_string_equal(world->log->str, "b@1s a@2s");
}

/* CGO-28, CGO-29: the waits after the n-th failure. */
TEST_WITH(client_setup, teardown, failures_double_the_wait)
{
    static const struct {
        RateLimit limit;
        const char *waits;
    } cases[] = {
        {{.base = 5 * SIM_MS, .max = 1000 * SIM_SECOND},
         "5ms 10ms 20ms 40ms 80ms 160ms 320ms 640ms 1.28s 2.56s 5.12s 10.24s 20.48s 40.96s "
         "1m21.92s 2m43.84s 5m27.68s 10m55.36s 16m40s 16m40s"},
        {{.base = SIM_SECOND, .max = 300 * SIM_SECOND},
         "1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 5m0s 5m0s"     },
    };
    ClientWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(WorkQueue) queue = new_queue(world, cases[i].limit);
        g_auto(GStrv) waits = g_strsplit(cases[i].waits, " ", -1);
        for (unsigned k = 0; waits[k] != NULL; k++) {
            char buffer[SIM_TIME_BUFFER];
            SimTime before = sim_now(world->sim);
            work_queue_add_rate_limited(queue, key(world, "a"));
            sim_step(world->sim);
            assert_string_equal(sim_time_format(sim_now(world->sim) - before, buffer), waits[k]);
            assert_string_equal(get(queue), "a");
            work_queue_done(queue, key(world, "a"));
        }
        work_queue_forget(queue, key(world, "a")); /* CGO-25 */
        assert_int_equal(work_queue_failures(queue, key(world, "a")), 0);
    }
}

/* CGO-27: mass failures share 10 a second, with a burst of 100. */
TEST_WITH(client_setup, teardown, mass_failures_share_a_bucket)
{
    ClientWorld *world = *state;
    g_autoptr(WorkQueue) queue = new_queue(world, rate_limit_default);
    unsigned n = 130;

    for (unsigned i = 0; i < n; i++)
        work_queue_add_rate_limited(
            queue, key(world, strings_internf(objects_strings(world->objects), "c-%u", i)));
    log_arrivals(world, queue);
    g_auto(GStrv) arrivals = g_strsplit(world->log->str, " ", -1);
    assert_int_equal(g_strv_length(arrivals), n);
    assert_string_equal(arrivals[99], "c-99@5ms");
    assert_string_equal(arrivals[100], "c-100@100ms");
    assert_string_equal(arrivals[129], "c-129@3s");
}

/* ---- Client ---- */

static void
replied(void *data, const ApiResponse *response)
{
    ClientWorld *world = data;

    assert_int_equal(response->code, API_NOT_FOUND);
    g_string_append_printf(world->log, "%" G_GINT64_FORMAT " ", sim_now(world->sim) / SIM_MS);
}

/* API-V12, CGO-40: 30 requests at once through 5/10 leave at 0 (ten of them), then every 200 ms
 * until 4.0 s. */
TEST_WITH(client_setup, teardown, requests_wait_for_their_tokens)
{
    ClientWorld *world = *state;
    g_autoptr(ApiClient) client = api_client_new(world->process, "test", 5, 10);
    g_autoptr(GString) wanted = g_string_new(NULL);

    for (unsigned i = 0; i < 30; i++) {
        api_client_request(client, &(ApiRequest){.verb = API_GET, .key = key(world, "a")}, replied,
                           NULL, world);
        g_string_append_printf(wanted, "%u ", i < 10 ? 0 : (i - 9) * 200);
    }
    sim_run_until(world->sim, 10 * SIM_SECOND);
    assert_string_equal(world->log->str, wanted->str);
}

static void
dropped(void *data)
{
    ++*(unsigned *)data;
}

static void
never_replied(void *data, const ApiResponse *response)
{
    (void)data, (void)response;
    fail_msg("a dead process got a reply");
}

/* A dead process gets no replies; requests that waited for a token are never sent. */
TEST_WITH(client_setup, teardown, the_dead_get_no_replies)
{
    ClientWorld *world = *state;
    ApiClient *client = api_client_new(world->process, "test", 1, 1);
    unsigned n_dropped = 0;

    for (unsigned i = 0; i < 3; i++)
        api_client_request(client, &(ApiRequest){.verb = API_GET, .key = key(world, "a")},
                           never_replied, dropped, &n_dropped);
    api_client_free(client);
    sim_run_until(world->sim, 10 * SIM_SECOND);
    assert_int_equal(n_dropped, 3);
    assert_int_equal(api_server_n_requests(world->api, API_GET), 1);
}

/* ---- Informer ---- */

static const Object *
client_create(ClientWorld *world, const char *name, const char *class_name)
{
    g_autoptr(Object) object = object_new(objects_key(world->objects, KIND_VOLUME, NULL, name));
    ApiResponse response;

    VOLUME(object)->class_name = strings_intern(objects_strings(world->objects), class_name);
    api_server_commit(
        world->api,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object},
        &response);
    return response.object;
}

static void
client_see(void *data, const Object *before, const Object *after)
{
    g_autofree char *text = g_strdup_printf("%s:%s", object_name(after != NULL ? after : before),
                                            before == NULL  ? "add"
                                            : after == NULL ? "delete"
                                                            : "update");

    log_text(data, text);
}

static gboolean
client_set_class(Object *object, const void *name)
{
    VOLUME(object)->class_name = name;
    return TRUE;
}

static gboolean
unfinalize(Object *object, const void *name)
{
    return object_remove_finalizer(object, name);
}

static void
index_by_class(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    index_emit(index, volume_class(VOLUME_CONST(object)));
}

/* CGO-12, CGO-13, CGO-17, CGO-18; the index follows. */
TEST_WITH(client_setup, teardown, informers_follow_and_index)
{
    ClientWorld *world = *state;
    unsigned n;
    ApiResponse response;

    client_create(world, "old", "slow");
    Informer *informer = process_informer(world->process, KIND_VOLUME, NULL);
    InformerIndex *index = informer_add_index(informer, index_by_class);
    informer_add_handler(informer, client_see, world);
    const Object *fresh = client_create(world, "new", "fast");
    ObjectKey *fresh_key = (ObjectKey *)fresh->key;
    assert_null(informer_get(informer, fresh_key)); /* not before its event */
    sim_run_until(world->sim, SIM_SECOND);
    assert_ptr_equal(informer_get(informer, fresh_key), fresh);

    const char *slow = strings_intern(objects_strings(world->objects), "slow"),
               *fast = strings_intern(objects_strings(world->objects), "fast");
    informer_index_get(index, fast, &n);
    assert_int_equal(n, 1);
    api_server_commit(
        world->api,
        &(ApiRequest){.verb = API_PATCH, .key = fresh_key, .edit = client_set_class, .arg = slow},
        &response);
    sim_run_until(world->sim, 2 * SIM_SECOND);
    informer_index_get(index, fast, &n);
    assert_int_equal(n, 0);
    const Object *const *objects = informer_index_get(index, slow, &n);
    assert_int_equal(n, 2);
    assert_string_equal(object_name(objects[0]), "old");
    assert_string_equal(object_name(objects[1]), "new");

    api_server_commit(world->api,
                      &(ApiRequest){.verb = API_PATCH,
                                    .key = fresh_key,
                                    .edit = unfinalize,
                                    .arg = FINALIZER_PV_PROTECTION},
                      &response);
    api_server_commit(world->api, &(ApiRequest){.verb = API_DELETE, .key = fresh_key}, &response);
    sim_run_until(world->sim, 3 * SIM_SECOND);
    assert_null(informer_get(informer, fresh_key));
    assert_string_equal(world->log->str, "old:add new:add new:update new:update new:delete");
}

/* The content of an index for @value, computed from the cache. */
static void
assert_index_is_the_cache(const Informer *informer, const InformerIndex *index, const char *value)
{
    InformerIter iter;
    const Object *object;
    unsigned n, n_of_value = 0;
    const Object *const *found = informer_index_get(index, value, &n);

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL) {
        if (VOLUME_CONST(object)->class_name != value)
            continue;
        n_of_value++;
        unsigned i = 0;
        while (i < n && found[i] != object)
            i++;
        assert_true(i < n); /* this very version */
    }
    assert_int_equal(n, n_of_value);
}

#define N_VOLUMES 40 /* more than an index compares one by one */
#define N_CLASSES 3

/* An index holds keys and looks versions up when it is asked: after any changes, by the watch or by
 * informer_put(), it agrees with the cache. */
TEST_WITH(client_setup, teardown, indexes_say_what_the_cache_says)
{
    ClientWorld *world = *state;
    SimStream choices = sim_stream(world->sim, "test");
    const char *classes[N_CLASSES];
    Informer *informer = process_informer(world->process, KIND_VOLUME, NULL);
    InformerIndex *index = informer_add_index(informer, index_by_class);

    for (unsigned i = 0; i < N_CLASSES; i++)
        classes[i] = strings_internf(objects_strings(world->objects), "class-%u", i);
    for (unsigned i = 0; i < 2000; i++) {
        unsigned place = (unsigned)sim_random_below(choices, 0, i, N_VOLUMES);
        const char *class = classes[sim_random_below(choices, 1, i, N_CLASSES)];
        g_autofree char *name = g_strdup_printf("pv-%u", place);
        ObjectKey *volume = objects_key(world->objects, KIND_VOLUME, NULL, name);
        const Object *known = informer_get(informer, volume);
        g_autoptr(Object) object = known == NULL ? object_new(volume) : object_edit(known);
        if (sim_random_below(choices, 2, i, 3) != 0) /* otherwise a version with the same values */
            client_set_class(object, class);
        if (VOLUME(object)->class_name == NULL)
            client_set_class(object, class);
        informer_put(informer, object);
        assert_index_is_the_cache(informer, index, classes[i % N_CLASSES]);
    }
    for (unsigned i = 0; i < N_CLASSES; i++)
        assert_index_is_the_cache(informer, index, classes[i]);
}

/* ---- Event recorder ---- */

static void
client_record(ClientWorld *world,
              EventRecorder *recorder,
              const Object *object,
              const char *message)
{
    event_recorder_record(recorder, object, "Warning", "Test",
                          strings_intern(objects_strings(world->objects), message));
}

/* CGO-73: repeats are counted; another message is another Event. */
TEST_WITH(client_setup, teardown, repeats_become_counts)
{
    ClientWorld *world = *state;
    const Object *volume = client_create(world, "a", "slow");
    ApiClient *client = api_client_new(world->process, "test", API_CLIENT_UNLIMITED, 0);
    EventRecorder *recorder = event_recorder_new(client, "tester", EVENTS_CORE);

    for (unsigned i = 0; i < 3; i++)
        client_record(world, recorder, volume, "again");
    client_record(world, recorder, volume, "other");
    sim_run_until(world->sim, SIM_SECOND);
    assert_int_equal(api_server_n_events(world->api), 2);
    assert_int_equal(api_server_event(world->api, 0)->count, 3);
    assert_string_equal(api_server_event(world->api, 1)->message, "other");
    event_recorder_free(recorder);
    api_client_free(client);
}

/* API-171: the scheduler's series: a POST, a PATCH with count 2, then nothing. */
TEST_WITH(client_setup, teardown, series_are_written_twice)
{
    ClientWorld *world = *state;
    const Object *volume = client_create(world, "a", "slow");
    ApiClient *client = api_client_new(world->process, "test", API_CLIENT_UNLIMITED, 0);
    EventRecorder *recorder = event_recorder_new(client, "tester", EVENTS_NEW);
    uint64_t before = api_server_resource_version(world->api);

    for (unsigned i = 0; i < 5; i++) {
        client_record(world, recorder, volume,
                      i % 2 == 0 ? "even" : "odd"); /* the note is not part of it */
        sim_run_until(world->sim, (SimTime)(i + 1) * SIM_SECOND);
    }
    assert_int_equal(api_server_resource_version(world->api), before + 2);
    assert_int_equal(api_server_event(world->api, 0)->count, 2);
    event_recorder_free(recorder);
    api_client_free(client);
}

/* CGO-70: one after the other; the next takes its token only when the last is written. */
TEST_WITH(client_setup, teardown, one_sender_writes_one_after_the_other)
{
    ClientWorld *world = *state;
    const Object *volume = client_create(world, "a", "slow");
    ApiClient *client = api_client_new(world->process, "test", 10, 1);
    EventRecorder *recorder = event_recorder_new(client, "tester", EVENTS_CORE);

    sim_dist_unref(world->timing.write);
    world->timing.write = sim_dist_new_constant(500 * SIM_MS);
    for (unsigned i = 0; i < 4; i++)
        client_record(world, recorder, volume,
                      strings_internf(objects_strings(world->objects), "message %u", i));
    sim_run_until(world->sim, 10 * SIM_SECOND);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(api_server_event(world->api, i)->written_at, (i + 1) * 500 * SIM_MS);
    event_recorder_free(recorder);
    api_client_free(client);
}

/* ---- Many events about one object ---- */

/* @n events, @period apart. @message: with %u, which numbers them from @from on */
typedef struct {
    unsigned n;
    SimTime pause, period; /* before the first, after each */
    const char *type, *message;
    unsigned from;
} Series;

typedef struct {
    const char *what;
    const char *last; /* the last event by the order of first writes: its count and message */
    unsigned n_writes, n_events;
    Series series[2];
} CorrelatorCase;

#define NORMAL "Normal"
#define WARNING "Warning"

#define EVERY_15_S 15 * SIM_SECOND

/* clang-format off */
static const CorrelatorCase correlator_cases[] = {
    {"the tenth message and all after it are combined, as recorded in 07",
     "11 (combined from similar events): pod 20", 20, 10,
     {{20, 0, EVERY_15_S, NORMAL, "pod %u", 1}}},
    {"nine are not", "1 pod 9", 9, 9,
     {{9, 0, SIM_SECOND, NORMAL, "pod %u", 1}}},
    {"nor is one message, however often it comes", "20 pod", 20, 1,
     {{20, 0, SIM_SECOND, NORMAL, "pod", 0}}},
    {"nor are those of other types", "1 pod 18", 18, 18,
     {{9, 0, SIM_SECOND, NORMAL, "pod %u", 1}, {9, 0, SIM_SECOND, WARNING, "pod %u", 10}}},
    {"ten minutes after the last it begins anew", "1 pod 18", 18, 18,
     {{9, 0, SIM_SECOND, NORMAL, "pod %u", 1},
      {9, 10 * SIM_MINUTE, SIM_SECOND, NORMAL, "pod %u", 10}}},
    {"but not before", "1 (combined from similar events): pod 10", 10, 10,
     {{9, 0, SIM_SECOND, NORMAL, "pod %u", 1},
      {1, 9 * SIM_MINUTE, SIM_SECOND, NORMAL, "pod %u", 10}}},
    {"of what a waiting claim tells every 15 s, 26 are written (CGO-76)", "26 wait", 26, 1,
     {{27, 0, EVERY_15_S, NORMAL, "wait", 0}}},
    {"then one in five minutes, which tells of all between", "241 wait", 26 + 11, 1,
     {{241, 0, EVERY_15_S, NORMAL, "wait", 0}}},
    {"each type has its own budget", "25 fail", 50, 2,
     {{30, 0, SIM_SECOND, NORMAL, "wait", 0}, {30, 0, SIM_SECOND, WARNING, "fail", 0}}},
    {"what was dropped the first time is counted the second", "2 other", 26, 2,
     {{25, 0, SIM_SECOND, NORMAL, "wait", 0}, {2, 0, 5 * SIM_MINUTE, NORMAL, "other", 0}}},
};
/* clang-format on */

static void
client_nothing(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

static void
pass_time(ClientWorld *world, SimTime delay)
{
    static const SimEventType event = {.name = "test/time passes", .fire = client_nothing};

    sim_after(world->sim, delay, &event, NULL, WAIT_NONE);
    sim_run_until(world->sim, sim_now(world->sim) + delay);
}

static void
record_series(ClientWorld *world,
              EventRecorder *recorder,
              const Object *object,
              const Series *series)
{
    pass_time(world, series->pause);
    for (unsigned i = 0; i < series->n; i++) {
        g_autoptr(GString) text = g_string_new(series->message);
        g_autofree char *number = g_strdup_printf("%u", series->from + i);
        g_string_replace(text, "%u", number, 0);
        event_recorder_record(recorder, object, series->type, "Test",
                              strings_intern(objects_strings(world->objects), text->str));
        pass_time(world, series->period);
    }
}

/* CGO-71 to CGO-74. Another object's events count on their own. */
TEST(many_events_about_one_object)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(correlator_cases); i++) {
        const CorrelatorCase *row = &correlator_cases[i];
        void *own;
        client_setup(&own);
        ClientWorld *world = own;
        const Object *object = client_create(world, "a", "slow"),
                     *other = client_create(world, "b", "slow");
        ApiClient *client = api_client_new(world->process, "test", API_CLIENT_UNLIMITED, 0);
        EventRecorder *recorder = event_recorder_new(client, "tester", EVENTS_CORE);
        uint64_t before = api_server_resource_version(world->api);

        print_message("%s\n", row->what);
        for (unsigned k = 0; k < G_N_ELEMENTS(row->series); k++)
            record_series(world, recorder, object, &row->series[k]);
        const ApiEvent *last = api_server_event(world->api, api_server_n_events(world->api) - 1);
        g_autofree char *text = g_strdup_printf("%u %s", last->count, last->message);
        assert_string_equal(text, row->last);
        assert_int_equal(api_server_n_events(world->api), row->n_events);
        assert_int_equal(api_server_resource_version(world->api) - before, row->n_writes);
        client_record(world, recorder, other, "pod");
        pass_time(world, SIM_SECOND);
        assert_int_equal(api_server_n_events(world->api), row->n_events + 1);
        event_recorder_free(recorder);
        api_client_free(client);
        teardown(&own);
    }
}
