/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/sim-test.h"
#include "sim/station.h"
#include "tests/lib/test.h"

#define WAIT_QUEUE 5
#define WAIT_SERVICE 6

typedef struct {
    Sim *sim;
    SimStation *station;
    GString *log;
    SimTime duration; /* of each job */
} Shop;

static void
shop_served(Sim *sim, void *data)
{
    Shop *shop = data;

    (void)sim;
    sim_station_done(shop->station);
}

static const SimEventType served_event = {.name = "served", .fire = shop_served};

static void
shop_serve(void *data, void *job)
{
    Shop *shop = data;
    SimCause cause = sim_trace_get(sim_trace(shop->sim), sim_cause(shop->sim));

    g_string_append_printf(shop->log, "%d@%d", GPOINTER_TO_INT(job), (int)sim_now(shop->sim));
    if (cause.wait == WAIT_QUEUE)
        g_string_append_printf(shop->log, "(%d)",
                               (int)sim_trace_get(sim_trace(shop->sim), cause.parent).at);
    g_string_append_c(shop->log, ' ');
    if (shop->duration == 0)
        sim_station_done(shop->station);
    else
        sim_after(shop->sim, shop->duration, &served_event, shop, WAIT_SERVICE);
}

static int
shop_open(void **state)
{
    Shop *shop = g_new0(Shop, 1);

    shop->sim = sim_new(&(SimOptions){0});
    shop->log = g_string_new(NULL);
    *state = shop;
    return 0;
}

static int
shop_close(void **state)
{
    Shop *shop = *state;

    sim_station_free(shop->station);
    sim_free(shop->sim);
    g_string_free(shop->log, TRUE);
    g_free(shop);
    return 0;
}

static void
submit(Shop *shop, int job)
{
    sim_station_submit(shop->station, GINT_TO_POINTER(job));
}

TEST_WITH(shop_open, shop_close, first_come_first_served)
{
    Shop *shop = *state;

    shop->duration = 10;
    shop->station = sim_station_new(shop->sim, 2, shop_serve, shop, WAIT_QUEUE);
    for (int job = 1; job <= 5; job++)
        submit(shop, job);
    assert_int_equal(sim_station_busy(shop->station), 2);
    assert_int_equal(sim_station_queued(shop->station), 3);
    sim_run_until(shop->sim, 100);
    assert_string_equal(shop->log->str, "1@0 2@0 3@10(0) 4@10(0) 5@20(0) ");
    assert_int_equal(sim_station_busy(shop->station), 0);
}

TEST_WITH(shop_open, shop_close, no_limit)
{
    Shop *shop = *state;

    shop->duration = 10;
    shop->station = sim_station_new(shop->sim, 0, shop_serve, shop, WAIT_QUEUE);
    for (int job = 1; job <= 5; job++)
        submit(shop, job);
    assert_int_equal(sim_station_busy(shop->station), 5);
    assert_int_equal(sim_station_queued(shop->station), 0);
    assert_string_equal(shop->log->str, "1@0 2@0 3@0 4@0 5@0 ");
}

TEST_WITH(shop_open, shop_close, withdraws)
{
    Shop *shop = *state;

    shop->duration = 10;
    shop->station = sim_station_new(shop->sim, 1, shop_serve, shop, WAIT_QUEUE);
    for (int job = 1; job <= 5; job++)
        submit(shop, job);
    assert_false(sim_station_withdraw(shop->station, GINT_TO_POINTER(1))); /* served already */
    assert_true(sim_station_withdraw(shop->station, GINT_TO_POINTER(3)));
    assert_false(sim_station_withdraw(shop->station, GINT_TO_POINTER(3)));
    assert_true(sim_station_withdraw(shop->station, GINT_TO_POINTER(5)));
    sim_run_until(shop->sim, 100);
    assert_string_equal(shop->log->str, "1@0 2@10(0) 4@20(0) ");
}

/* A hundred thousand jobs that take no time follow one another without nesting. */
TEST_WITH(shop_open, shop_close, jobs_without_duration_do_not_nest)
{
    Shop *shop = *state;

    shop->duration = 10;
    shop->station = sim_station_new(shop->sim, 1, shop_serve, shop, WAIT_QUEUE);
    for (int job = 0; job < 100000; job++)
        submit(shop, job);
    shop->duration = 0;
    sim_run_until(shop->sim, 100);
    assert_int_equal(sim_station_busy(shop->station), 0);
    assert_int_equal(sim_station_queued(shop->station), 0);
    assert_true(g_str_has_suffix(shop->log->str, " 99998@10(0) 99999@10(0) "));
}

/* The queue is a ring: its ends move round it. */
TEST_WITH(shop_open, shop_close, the_queue_goes_round)
{
    Shop *shop = *state;
    g_autoptr(GString) expected = g_string_new("0@0 ");

    shop->duration = 1;
    shop->station = sim_station_new(shop->sim, 1, shop_serve, shop, 0);
    for (int job = 0; job < 1000; job++) {
        submit(shop, 2 * job);
        submit(shop, 2 * job + 1);
        sim_run_until(shop->sim, job + 1);
    }
    sim_run_until(shop->sim, 5000);
    for (int job = 1; job < 2000; job++)
        g_string_append_printf(expected, "%d@%d ", job, job);
    assert_string_equal(shop->log->str, expected->str);
}
