/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/apiserver/apiserver-test.h"
#include "sim/sim-test.h"
#include "tests/lib/test.h"
#include "world.h"

/* TIM-4: a part of each request's time is work, and requests queue for it. */

#define ALONE (4 * SIM_MS) /* a request that is alone */

static int
load_setup(void **state)
{
    world_setup(state);
    ApiServerWorld *world = *state;

    sim_dist_unref(world->timing.write);
    world->timing.write = sim_dist_new_constant(ALONE);
    world_create(world, world_new_claim(world));
    return 0;
}

typedef struct {
    const ApiServerWorld *world;
    SimTime last_at; /* the latest answer */
    unsigned n;
} LoadAnswers;

static void
load_answered(void *data, const ApiResponse *response)
{
    LoadAnswers *answers = data;

    (void)response;
    answers->last_at = sim_now(answers->world->sim);
    answers->n++;
}

/* Sends @n requests at once. Returns: the time until the last answer */
static SimTime
send_at_once(ApiServerWorld *world, unsigned n)
{
    const ApiRequest request = {.verb = API_GET, .key = world_claim_key(world), .client = "test"};
    LoadAnswers answers = {.world = world};
    SimTime sent_at = sim_now(world->sim);

    for (unsigned i = 0; i < n; i++)
        api_server_request(world->api, &request, load_answered, NULL, &answers);
    sim_run_until(world->sim, sent_at + SIM_MINUTE);
    assert_int_equal(answers.n, n);
    return answers.last_at - sent_at;
}

/* All work is done, and none twice: the last of many requests ends with the sum of their work. */
TEST_WITH(load_setup, world_teardown, the_last_request_ends_with_the_work_of_all)
{
    ApiServerWorld *world = *state;
    static const struct {
        double load;
        unsigned n;
        SimTime last_after;
    } cases[] = {
        {0,    100, ALONE       },
        {0.5,  1,   ALONE       },
        {0.5,  2,   ALONE       },
        {0.5,  3,   6 * SIM_MS  },
        {0.5,  100, 200 * SIM_MS},
        {0.25, 100, 100 * SIM_MS},
        {1,    1,   ALONE       },
        {1,    100, 400 * SIM_MS},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        world->timing.load = cases[i].load;
        assert_int_equal(send_at_once(world, cases[i].n), cases[i].last_after);
    }
}

TEST_WITH(load_setup, world_teardown, more_requests_never_end_sooner)
{
    ApiServerWorld *world = *state;
    SimTime before = 0;

    world->timing.load = 0.3;
    for (unsigned n = 1; n < 50; n++) {
        SimTime last_after = send_at_once(world, n);
        assert_true(last_after >= before);
        before = last_after;
    }
}

/* The same seed with load and without: each draw is the same, and none changes while requests come
 * one at a time. */
TEST_WITH(load_setup, world_teardown, one_at_a_time_nothing_waits)
{
    ApiServerWorld *world = *state;
    void *other_state;

    world_setup(&other_state);
    ApiServerWorld *other = other_state;
    world_create(other, world_new_claim(other));
    sim_dist_unref(world->timing.write);
    sim_dist_unref(other->timing.write);
    world->timing.write = sim_dist_new_lognormal(2500 * SIM_US, 0.75, SIM_MS);
    other->timing.write = sim_dist_ref(world->timing.write);
    world->timing.load = 1;
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(send_at_once(world, 1), send_at_once(other, 1));
    world_teardown(&other_state);
}

/* API-93: then requests wait for a disk or a network, so that no more of them queue. */
TEST_WITH(load_setup, world_teardown, a_slow_server_has_no_more_work)
{
    ApiServerWorld *world = *state;

    world->timing.load = 0.5;
    api_server_set_slowness(world->api, 10);
    assert_int_equal(send_at_once(world, 1), 10 * ALONE);
    assert_int_equal(send_at_once(world, 20), 10 * ALONE);
    assert_int_equal(send_at_once(world, 100), 200 * SIM_MS);
}

static void
load_event_written(void *data, unsigned index, SimTime responds_at)
{
    LoadAnswers *answers = data;

    assert_int_not_equal(index, API_NEW_EVENT);
    answers->last_at = responds_at;
    answers->n++;
}

/* An Event waits for the work of requests, and requests for an Event's. */
TEST_WITH(load_setup, world_teardown, events_are_work_too)
{
    ApiServerWorld *world = *state;
    LoadAnswers answers = {.world = world};
    ApiEventWrite write = {.event = {.involved = world_claim_key(world)},
                           .index = API_NEW_EVENT,
                           .client = "test",
                           .arrives_at = sim_now(world->sim),
                           .written = load_event_written,
                           .data = &answers};

    world->timing.load = 0.5;
    for (unsigned i = 0; i < 50; i++)
        api_server_write_event(world->api, &write);
    assert_int_equal(send_at_once(world, 50), 100 * SIM_MS);
    assert_int_equal(answers.n, 50);
    assert_true(answers.last_at > 190 * SIM_MS); /* 49 Events and 50 requests go before the last */

    write.arrives_at = sim_now(world->sim);
    for (unsigned i = 0; i < 50; i++)
        api_server_write_event(world->api, &write);
    sim_run_until(world->sim, sim_now(world->sim) + ALONE);
    assert_true(send_at_once(world, 1) > 90 * SIM_MS);
}

/* TIM-5: what is not there is answered sooner; a list or a new object is never missing. */
TEST_WITH(load_setup, world_teardown, a_missing_object_is_told_sooner)
{
    ApiServerWorld *world = *state;
    ObjectKey *missing = objects_key(world->objects, KIND_VOLUME, NULL, "none");
    const struct {
        ApiVerb verb;
        ObjectKey *key;
        SimTime after;
    } cases[] = {
        {API_GET,    world_claim_key(world), ALONE    },
        {API_DELETE, world_claim_key(world), ALONE    },
        {API_GET,    missing,                ALONE / 4},
        {API_DELETE, missing,                ALONE / 4},
        {API_LIST,   missing,                ALONE    },
    };

    world->timing.load = 0;
    world->timing.not_found_factor = 0.25;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const ApiRequest request = {
            .verb = cases[i].verb, .key = cases[i].key, .grace_s = -1, .client = "test"};
        LoadAnswers answers = {.world = world};
        SimTime sent_at = sim_now(world->sim);
        api_server_request(world->api, &request, load_answered, NULL, &answers);
        sim_run_until(world->sim, sent_at + SIM_MINUTE);
        assert_int_equal(answers.last_at - sent_at, cases[i].after);
    }
}

static void
limit_ends(Sim *sim, void *data)
{
    const ApiServerWorld *world = data;

    (void)sim;
    api_server_set_seats(world->api, 0);
}

static const SimEventType limit_ends_event = {.name = "test/limit ends", .fire = limit_ends};

/* API-90, API-92: a level has its share of the seats, at least one, and its requests wait for it;
 * with the limit gone all go on. */
TEST_WITH(load_setup, world_teardown, requests_wait_for_seats)
{
    ApiServerWorld *world = *state;
    static const struct {
        unsigned seats, n, turned_away;
        SimTime limit_ends_after; /* 0: it stays */
        SimTime last_after;
    } cases[] = {
        {1,  1,  0, 0,          ALONE         },
        {1,  5,  0, 0,          5 * ALONE     },
        {1,  51, 0, 0,          51 * ALONE    },
        {1,  52, 1, 0,          51 * ALONE    },
        {24, 5,  0, 0,          3 * ALONE     }, /* 20 of 245 are 2 */
        {0,  60, 0, 0,          ALONE         },
        {1,  51, 0, 1 * SIM_MS, ALONE + SIM_MS},
    };
    uint64_t turned_away = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        api_server_set_seats(world->api, cases[i].seats);
        if (cases[i].limit_ends_after > 0)
            sim_after(world->sim, cases[i].limit_ends_after, &limit_ends_event, world,
                      WAIT_SCENARIO);
        assert_int_equal(send_at_once(world, cases[i].n), cases[i].last_after);
        turned_away += cases[i].turned_away;
        assert_int_equal(api_server_n_turned_away(world->api), turned_away);
    }
}
