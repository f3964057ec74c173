/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stalls.h"

#include <math.h>

#include "packed.h"
#include "sim/portable-math.h"

/* TIM-62: requests are slow if so few sets of requests are, by chance. */
#define CHANCE 0.001
/* ... and if all of them tell it, the mean one is as slow as one in six: sums of many tell the
 * smallest difference between a machine and the timing, too. */
#define EACH 1.0

typedef struct {
    double from, until; /* seconds: arrival and response */
    double usual_end;   /* when the response of a usual one would have come */
    double slowness;    /* how slow, as a draw of a standard normal distribution */
    double factor;      /* of TIM-1, by its verb */
    char *what;         /* "csi-provisioner create persistentvolumes" (owned) */
} StallsRequest;

struct Stalls {
    const Timing *timing; /* (borrowed): while it is read */
    GArray *requests;     /* of Request, by @usual_end */
};

static void
request_clear(void *data)
{
    g_free(((StallsRequest *)data)->what);
}

static double
factor_of(const Timing *timing, const char *verb)
{
    const struct {
        const char *verb;
        double factor;
    } factors[] = {
        {"update", timing->update_factor},
        {"patch",  timing->patch_factor },
        {"delete", timing->delete_factor},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(factors); i++)
        if (g_strcmp0(verb, factors[i].verb) == 0)
            return factors[i].factor;
    return timing->create_factor;
}

/* Requests of users are not judged: an eviction may wait for its budget. */
static void
add_request(void *data, json_t *line)
{
    Stalls *self = data;
    const char *client = json_string_value(json_object_get(line, "client"));
    const char *verb = json_string_value(json_object_get(line, "verb"));
    const char *resource = json_string_value(json_object_get(line, "resource"));

    if (g_strcmp0(client, "lab") == 0 || g_strcmp0(client, "kubectl") == 0)
        return;
    const StallsRequest request = {
        .from = json_number_value(json_object_get(line, "t")),
        .until = json_number_value(json_object_get(line, "t_end")),
        .what = g_strdup_printf("%s %s %s", client, verb, resource),
        .factor = factor_of(self->timing, verb),
    };
    g_array_append_val(self->requests, request);
}

/* Returns: the standard normal quantile as improbable as a request of @duration seconds */
static double
slowness_of(const SimDist *dist, double duration)
{
    double low = 1e-9, high = 1 - 1e-9;

    while (high - low > 1e-10) {
        double middle = (low + high) / 2;
        if ((double)sim_dist_quantile(dist, middle) / (double)SIM_SECOND < duration)
            low = middle;
        else
            high = middle;
    }
    return pm_normal_quantile(low);
}

static int
by_usual_end(const void *a, const void *b)
{
    const StallsRequest *first = a, *second = b;

    return first->usual_end < second->usual_end ? -1 : first->usual_end > second->usual_end;
}

/* TIM-4: a request waits for the work of those that were under way when it came. */
static void
stalls_judge(Stalls *self)
{
    const SimDist *write = self->timing->write;
    const double usual = (double)sim_dist_quantile(write, 0.5) / (double)SIM_SECOND;

    for (unsigned i = 0; i < self->requests->len; i++) {
        StallsRequest *request = &g_array_index(self->requests, StallsRequest, i);
        double wait = 0;
        for (unsigned k = 0; k < self->requests->len; k++) {
            const StallsRequest *other = &g_array_index(self->requests, StallsRequest, k);
            if (k != i && other->from <= request->from && other->until > request->from)
                wait += self->timing->load * usual * other->factor;
        }
        request->usual_end = request->from + usual * request->factor + wait;
        request->slowness =
            slowness_of(write, (request->until - request->from - wait) / request->factor);
    }
    g_array_sort(self->requests, by_usual_end);
}

Stalls *
stalls_read(const char *run, const Timing *timing, GError **error)
{
    g_autoptr(Stalls) self = g_new0(Stalls, 1);

    self->timing = timing;
    self->requests = g_array_new(FALSE, FALSE, sizeof(StallsRequest));
    g_array_set_clear_func(self->requests, request_clear);
    if (!packed_lines(run, "api.jsonl", NULL, add_request, self, error))
        return NULL;
    stalls_judge(self);
    return g_steal_pointer(&self);
}

void
stalls_free(Stalls *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->requests);
    g_free(self);
}

/* The requests under way in an interval that are at least as slow as asked. */
typedef struct {
    unsigned n;
    double slowness; /* their sum */
    double lost;     /* seconds */
    const StallsRequest *longest;
} Slow;

static Slow
find_slow(const Stalls *self, double from, double until, double at_least)
{
    double counted = from;
    Slow slow = {0};

    for (unsigned i = 0; i < self->requests->len; i++) {
        const StallsRequest *request = &g_array_index(self->requests, StallsRequest, i);
        double end = MIN(request->until, until);
        if (request->until <= from || request->from >= until || request->slowness < at_least)
            continue;
        slow.n++;
        slow.slowness += request->slowness;
        slow.lost += MAX(0, end - MAX(request->usual_end, counted));
        counted = MAX(counted, end);
        if (slow.longest == NULL ||
            request->until - request->from > slow.longest->until - slow.longest->from)
            slow.longest = request;
    }
    return slow;
}

double
stalls_between(const Stalls *self, double from, double until, char **worst)
{
    Slow slow = find_slow(self, from, until, -G_MAXDOUBLE);

    if (slow.n > 0 &&
        slow.slowness < MAX(-pm_normal_quantile(CHANCE) * sqrt(slow.n), EACH * slow.n))
        slow = find_slow(self, from, until, -pm_normal_quantile(CHANCE / slow.n));
    if (slow.n > 0 && worst != NULL)
        *worst = g_strdup_printf("%.3f s lost in %u requests, as %s at %.3f, which took %.3f s",
                                 slow.lost, slow.n, slow.longest->what, slow.longest->from,
                                 slow.longest->until - slow.longest->from);
    return slow.lost;
}
