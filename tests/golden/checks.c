/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"

#include <stdio.h>
#include <string.h>

#define TOLERANCE_S 0.020     /* TIM-60 */
#define CURVE_TOLERANCE_S 0.2 /* TIM-80: a token of the sidecars' clients */
#define CURVE_MIN 20          /* fewer are no burst: values cover them */
/* If so many runs all took two steps in the other order, that is no chance. */
#define ORDER_MIN 20

/* A value: the time from the last of its causes to a moment. Scopes: pod, claim, the claim's
 * volume, snapshot, and the snapshot's content. */
typedef struct {
    const char *name;
    const char *to;
    const char *from[2];
} ValueRule;

/* "%p", "%c", "%s": the pod, the claim (and its volume), the snapshot (and its content). */
/* clang-format off */
static const ValueRule value_rules[] = {
    {"claim -> selected node",                "claim %c selected-node",        {"pod %p created", "claim %c created"}},
    {"selected node -> provisioner asked",    "claim %c provisioner-asked",    {"claim %c selected-node", "claim %c created"}},
    {"asked -> CreateVolume",                 "volume %c provision-started",   {"claim %c provisioner-asked", NULL}},
    {"CreateVolume",                          "volume %c provision-ended",     {"volume %c provision-started", NULL}},
    {"CreateVolume -> PV",                    "volume %c created",             {"volume %c provision-ended", NULL}},
    {"PV -> PV Bound",                        "volume %c bound",               {"volume %c created", NULL}},
    {"PV Bound -> claim Bound",               "claim %c bound",                {"volume %c bound", NULL}},
    {"pod -> scheduled",                      "pod %p scheduled",              {"pod %p created", NULL}},
    {"claim Bound -> scheduled",              "pod %p scheduled",              {"claim %c bound", "pod %p created"}},
    {"scheduled -> VolumeAttachment",         "volume %c attach-requested",    {"pod %p scheduled", NULL}},
    {"VolumeAttachment -> ControllerPublish", "volume %c attach-started",      {"volume %c attach-requested", NULL}},
    {"ControllerPublish",                     "volume %c attach-ended",        {"volume %c attach-started", NULL}},
    {"ControllerPublish -> attached",         "volume %c attached",            {"volume %c attach-ended", NULL}},
    {"attached -> volumesAttached",           "volume %c reported-attached",   {"volume %c attached", NULL}},
    {"scheduled -> volumesInUse",             "volume %c reported-in-use",     {"pod %p scheduled", NULL}},
    {"both lists -> NodeStage",               "volume %c stage-started",       {"volume %c reported-attached", "volume %c reported-in-use"}},
    {"NodeStage",                             "volume %c staged",              {"volume %c stage-started", NULL}},
    {"NodeStage -> NodePublish",              "volume %c publish-started",     {"volume %c staged", NULL}},
    {"NodePublish",                           "volume %c published",           {"volume %c publish-started", NULL}},
    {"NodePublish -> Ready",                  "pod %p ready",                  {"volume %c published", NULL}},
    {"pod start",                             "pod %p ready",                  {"pod %p created", NULL}},
    {"pod deleted -> NodeUnpublish",          "volume %c unpublish-started",   {"pod %p deleted", NULL}},
    {"NodeUnpublish",                         "volume %c unpublished",         {"volume %c unpublish-started", NULL}},
    {"NodeUnpublish -> NodeUnstage",          "volume %c unstage-started",     {"volume %c unpublished", NULL}},
    {"NodeUnstage",                           "volume %c unstaged",            {"volume %c unstage-started", NULL}},
    {"pod deleted -> gone",                   "pod %p gone",                   {"pod %p deleted", NULL}},
    {"NodeUnstage -> volumesInUse dropped",   "volume %c reported-not-in-use", {"volume %c unstaged", NULL}},
    {"dropped -> volumesAttached dropped",    "volume %c reported-detached",   {"volume %c reported-not-in-use", NULL}},
    {"dropped -> VolumeAttachment deleted",   "volume %c detach-requested",    {"volume %c reported-detached", NULL}},
    {"deleted -> ControllerUnpublish",        "volume %c detach-started",      {"volume %c detach-requested", NULL}},
    {"ControllerUnpublish",                   "volume %c detach-ended",        {"volume %c detach-started", NULL}},
    {"ControllerUnpublish -> detached",       "volume %c detached",            {"volume %c detach-ended", NULL}},
    {"grown request -> ControllerExpand",     "volume %c expand-started",      {"claim %c expansion-asked", NULL}},
    {"ControllerExpand",                      "volume %c expand-ended",        {"volume %c expand-started", NULL}},
    {"ControllerExpand -> PV grown",          "volume %c grown",               {"volume %c expand-ended", NULL}},
    {"PV grown -> node awaited",              "claim %c node-awaited",         {"volume %c grown", NULL}},
    {"node awaited -> NodeExpand",            "volume %c node-expand-started", {"claim %c node-awaited", NULL}},
    {"NodeExpand",                            "volume %c node-expanded",       {"volume %c node-expand-started", NULL}},
    {"NodeExpand -> claim expanded",          "claim %c expanded",             {"volume %c node-expanded", NULL}},
    {"claim deleted -> gone",                 "claim %c gone",                 {"claim %c deleted", NULL}},
    {"claim gone -> Released",                "volume %c released",            {"claim %c gone", NULL}},
    {"Released -> DeleteVolume",              "volume %c delete-started",      {"volume %c released", NULL}},
    {"DeleteVolume",                          "volume %c delete-ended",        {"volume %c delete-started", NULL}},
    {"DeleteVolume -> PV deleted",            "volume %c deleted",             {"volume %c delete-ended", NULL}},
    {"PV deleted -> gone",                    "volume %c gone",                {"volume %c deleted", NULL}},
    {"class asked -> ControllerModify",       "volume %c modify-started",      {"claim %c class-asked", NULL}},
    {"ControllerModify",                      "volume %c modify-ended",        {"volume %c modify-started", NULL}},
    {"ControllerModify -> class shown",       "claim %c class-shown",          {"volume %c modify-ended", NULL}},
    {"snapshot -> content",                   "content %s created",            {"snapshot %s created", NULL}},
    {"content -> CreateSnapshot",             "content %s cut-started",        {"content %s created", NULL}},
    {"CreateSnapshot",                        "content %s cut-ended",          {"content %s cut-started", NULL}},
    {"CreateSnapshot -> content ready",       "content %s ready",              {"content %s cut-ended", NULL}},
    {"content ready -> snapshot ready",       "snapshot %s ready",             {"content %s ready", NULL}},
    {"snapshot -> ready",                     "snapshot %s ready",             {"snapshot %s created", NULL}},
    {"snapshot deleted -> content deleted",   "content %s deleted",            {"snapshot %s deleted", NULL}},
    {"content deleted -> DeleteSnapshot",     "content %s end-started",        {"content %s deleted", NULL}},
    {"DeleteSnapshot",                        "content %s end-ended",          {"content %s end-started", NULL}},
    {"DeleteSnapshot -> content gone",        "content %s gone",               {"content %s end-ended", NULL}},
    {"content gone -> snapshot gone",         "snapshot %s gone",              {"content %s gone", NULL}},
    {"snapshot deleted -> gone",              "snapshot %s gone",              {"snapshot %s deleted", NULL}},
};
/* clang-format on */

typedef struct {
    double min, max;
    unsigned n;
} Range;

typedef enum {
    CHECK_VALUE,
    CHECK_COUNT,
    CHECK_CURVE,
    CHECK_ORDER,
} CheckType;

typedef struct {
    CheckType type;
    gboolean is_settled;   /* it agreed: no more runs for it */
    unsigned n_needed;     /* so many runs, if more than the first ones; else 0 */
    const char *what;      /* (borrowed) */
    char *of;              /* (owned) */
    char *to, *from[2];    /* VALUE: names of moments (owned) */
    double value;          /* VALUE, COUNT: the recorded one */
    Range range;           /* VALUE, COUNT */
    const double *at;      /* CURVE: the recorded instants (borrowed) */
    unsigned n_at;         /* ... */
    Range *ranges;         /* ... of the simulated k-th instants (owned) */
    double nearest;        /* ... largest distance of the nearest simulated curve */
    char *objects[6];      /* ORDER: ends with NULL (owned) */
    GArray *steps, *pairs; /* ... OrderStep, OrderPair (owned) */
    gboolean is_noise;     /* VALUE: missed, but stalls of the recording machine cover it */
    char *stall;           /* ... the worst of them, in words (owned) */
} GoldenCheck;

struct Checks {
    const Moments *recorded;
    GPtrArray *checks;  /* of Check (owned) */
    GHashTable *values; /* keys of the values that are checked: a claim has several pairs */
    unsigned n_seen;
    unsigned n_first; /* runs before the first checks_settle() */
};

static void
check_free(void *data)
{
    GoldenCheck *check = data;

    g_free(check->of);
    g_free(check->to);
    g_free(check->from[0]);
    g_free(check->from[1]);
    g_free(check->ranges);
    g_free(check->stall);
    for (unsigned i = 0; i < G_N_ELEMENTS(check->objects); i++)
        g_free(check->objects[i]);
    g_clear_pointer(&check->steps, g_array_unref);
    g_clear_pointer(&check->pairs, g_array_unref);
    g_free(check);
}

static GoldenCheck *
add_check(Checks *self, CheckType type, const char *what, char *of)
{
    GoldenCheck *check = g_new0(GoldenCheck, 1);

    check->type = type;
    check->what = what;
    check->of = of;
    g_ptr_array_add(self->checks, check);
    return check;
}

static void
range_add(Range *range, double value)
{
    range->min = range->n == 0 ? value : MIN(range->min, value);
    range->max = range->n == 0 ? value : MAX(range->max, value);
    range->n++;
}

/* ---- What was recorded ---- */

static char *
checks_fill(const char *pattern, const GoldenPair *pair)
{
    GString *text = g_string_new(pattern);

    g_string_replace(text, "%p", pair->pod == NULL ? "-" : pair->pod, 0);
    g_string_replace(text, "%c", pair->claim == NULL ? "-" : pair->claim, 0);
    g_string_replace(text, "%s", pair->snapshot == NULL ? "-" : pair->snapshot, 0);
    return g_string_free(text, FALSE);
}

/* Returns: the instant of the last cause; negative: none was seen */
static double
cause_of(const GoldenCheck *check, const Moments *moments, const char **cause)
{
    double from, latest = -1;

    for (unsigned i = 0; i < G_N_ELEMENTS(check->from) && check->from[i] != NULL; i++) {
        if (!moments_find(moments, check->from[i], &from) || from <= latest)
            continue;
        latest = from;
        if (cause != NULL)
            *cause = check->from[i];
    }
    return latest;
}

/* Returns: FALSE if one end was not seen */
static gboolean
checks_value_of(const GoldenCheck *check, const Moments *moments, double *value)
{
    double to, latest = cause_of(check, moments, NULL);

    if (!moments_find(moments, check->to, &to))
        return FALSE;
    *value = to - latest;
    return latest >= 0;
}

static void
add_values(Checks *self, const GoldenPair *pair)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(value_rules); i++) {
        const ValueRule *rule = &value_rules[i];
        GoldenCheck *check = add_check(self, CHECK_VALUE, rule->name,
                                       pair->snapshot != NULL ? g_strdup(pair->snapshot)
                                                              : checks_fill("%p/%c", pair));
        check->to = checks_fill(rule->to, pair);
        for (unsigned k = 0; k < G_N_ELEMENTS(rule->from) && rule->from[k] != NULL; k++)
            check->from[k] = checks_fill(rule->from[k], pair);
        if (!checks_value_of(check, self->recorded, &check->value) ||
            !g_hash_table_add(self->values, g_strjoin("|", rule->name, check->to, check->from[0],
                                                      check->from[1], NULL)))
            g_ptr_array_set_size(self->checks, (int)self->checks->len - 1);
    }
}

/* The writes and calls about a pod and its claim, or about a snapshot, in order. */
static void
add_order(Checks *self, const GoldenPair *pair)
{
    static const char *const objects[] = {"pod %p", "claim %c", "volume %c", "snapshot %s",
                                          "content %s"};
    GoldenCheck *check =
        add_check(self, CHECK_ORDER, "order",
                  pair->snapshot != NULL ? g_strdup(pair->snapshot) : checks_fill("%p/%c", pair));

    for (unsigned i = 0; i < G_N_ELEMENTS(objects); i++)
        check->objects[i] = checks_fill(objects[i], pair);
    check->steps = orders_of(moments_orders(self->recorded), (const char *const *)check->objects);
    check->pairs = orders_pairs(check->steps);
}

/* Whether the curve depends on a token bucket in a burst (TIM-70 to TIM-74); other curves follow
 * loops with phases. */
static gboolean
is_throttled(const char *name)
{
    static const char *const clients[] = {
        "csi-",       "snapshot-controller",        "kcm/persistent-volume-binder",
        "events csi", "events snapshot-controller", "events persistentvolume-controller",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++)
        if (g_str_has_prefix(name, clients[i]))
            return TRUE;
    return FALSE;
}

static void
add_curves(Checks *self)
{
    const Curves *curves = moments_curves(self->recorded);
    g_autoptr(GPtrArray) names = curves_names(curves);

    for (unsigned i = 0; i < names->len; i++) {
        unsigned n;
        const double *at = curves_find(curves, names->pdata[i], &n);
        if (n < CURVE_MIN || !is_throttled(names->pdata[i]))
            continue;
        GoldenCheck *check = add_check(self, CHECK_CURVE, "curve", g_strdup(names->pdata[i]));
        check->at = at;
        check->n_at = n;
        check->ranges = g_new0(Range, n);
        check->nearest = G_MAXDOUBLE;
    }
}

static void
add_counts(Checks *self, const Moments *of)
{
    g_autoptr(GPtrArray) names = moments_counted(of);

    for (unsigned i = 0; i < names->len; i++) {
        if (of != self->recorded && moments_count(self->recorded, names->pdata[i]) > 0)
            continue;
        GoldenCheck *check = add_check(self, CHECK_COUNT, "count", g_strdup(names->pdata[i]));
        check->value = moments_count(self->recorded, names->pdata[i]);
    }
}

Checks *
checks_new(const Moments *recorded)
{
    Checks *self = g_new0(Checks, 1);

    self->recorded = recorded;
    self->checks = g_ptr_array_new_with_free_func(check_free);
    self->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; i < moments_n_pairs(recorded); i++)
        add_values(self, moments_pair(recorded, i));
    add_counts(self, recorded);
    add_curves(self);
    for (unsigned i = 0; i < moments_n_pairs(recorded); i++)
        add_order(self, moments_pair(recorded, i));
    return self;
}

void
checks_free(Checks *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->checks);
    g_hash_table_unref(self->values);
    g_free(self);
}

/* ---- Simulated runs ---- */

static void
see_curve(GoldenCheck *check, const Moments *simulated)
{
    unsigned n;
    const double *drawn = curves_find(moments_curves(simulated), check->of, &n);
    double farthest = 0;

    for (unsigned k = 0; k < MIN(n, check->n_at); k++) {
        range_add(&check->ranges[k], drawn[k]);
        farthest = MAX(farthest, ABS(drawn[k] - check->at[k]));
    }
    check->nearest = MIN(check->nearest, farthest);
}

static void
golden_checks_see(GoldenCheck *check, const Moments *simulated)
{
    double value;

    switch (check->type) {
    case CHECK_VALUE:
        if (checks_value_of(check, simulated, &value))
            range_add(&check->range, value);
        break;
    case CHECK_COUNT:
        range_add(&check->range, moments_count(simulated, check->of));
        break;
    case CHECK_CURVE:
        see_curve(check, simulated);
        break;
    case CHECK_ORDER: {
        g_autoptr(GArray) drawn =
            orders_of(moments_orders(simulated), (const char *const *)check->objects);
        orders_count(check->pairs, check->steps, drawn);
        break;
    }
    }
}

/* What no run but the first one does is not missed by a recorded run that does not do it either. */
void
checks_see(Checks *self, const Moments *simulated)
{
    if (self->n_seen++ == 0)
        add_counts(self, simulated);
    for (unsigned i = 0; i < self->checks->len; i++) {
        GoldenCheck *check = self->checks->pdata[i];
        if (!check->is_settled)
            golden_checks_see(check, simulated);
    }
}

/* ---- The result ---- */

/* Returns: the largest distance of a recorded k-th instant from the simulated k-th ones */
static double
off_curve(const GoldenCheck *check, unsigned *worst)
{
    double off = 0;

    *worst = 0;
    for (unsigned k = 0; k < check->n_at; k++) {
        const Range *range = &check->ranges[k];
        double more = range->n == 0 ? 0 : MAX(range->min - check->at[k], check->at[k] - range->max);
        if (more > off) {
            off = more;
            *worst = k;
        }
    }
    return off;
}

/* Where rules fix an order, no run has another. Returns: the first pair that no simulated run has
 * in this order; NULL: there is none. @n: their number */
static const OrderPair *
other_order(const GoldenCheck *check, unsigned *n)
{
    const OrderPair *first = NULL;

    *n = 0;
    for (unsigned i = 0; i < check->pairs->len; i++) {
        const OrderPair *pair = &g_array_index(check->pairs, OrderPair, i);
        if (pair->n_same > 0 || pair->n_both < ORDER_MIN)
            continue;
        ++*n;
        if (first == NULL)
            first = pair;
    }
    return first;
}

static gboolean
is_missed(const GoldenCheck *check)
{
    double tolerance = check->type == CHECK_VALUE ? TOLERANCE_S : 0;
    unsigned any;

    if (check->is_settled)
        return FALSE;
    if (check->type == CHECK_CURVE)
        return off_curve(check, &any) > CURVE_TOLERANCE_S;
    if (check->type == CHECK_ORDER)
        return other_order(check, &any) != NULL;
    return check->range.n == 0 || check->value < check->range.min - tolerance ||
           check->value > check->range.max + tolerance;
}

unsigned
checks_settle(Checks *self)
{
    unsigned n = 0;

    for (unsigned i = 0; i < self->checks->len; i++) {
        GoldenCheck *check = self->checks->pdata[i];
        gboolean was_settled = check->is_settled;
        check->is_settled = !is_missed(check);
        n += !check->is_settled;
        if (self->n_first > 0 && check->is_settled && !was_settled)
            check->n_needed = self->n_seen;
    }
    self->n_first = self->n_first == 0 ? self->n_seen : self->n_first;
    return n;
}

/* ---- Noise of the recording machine ---- */

/* Returns: by how much @value lies outside of what is tolerated; negative: too short, 0: it does
 * not */
static double
distance(const GoldenCheck *check, double value)
{
    if (check->range.n == 0)
        return 0;
    return MAX(0, value - check->range.max - TOLERANCE_S) +
           MIN(0, value - check->range.min + TOLERANCE_S);
}

/* Returns: the check whose value ends with the moment @name, of several the shortest; NULL: an
 * action from outside */
static const GoldenCheck *
check_ending(const Checks *self, const char *name)
{
    const GoldenCheck *found = NULL;

    for (unsigned i = 0; i < self->checks->len; i++) {
        const GoldenCheck *check = self->checks->pdata[i];
        if (check->type == CHECK_VALUE && g_str_equal(check->to, name) &&
            (found == NULL || check->value < found->value))
            found = check;
    }
    return found;
}

/* Stalls make a value longer, and the value shorter that begins after them but ends with a loop:
 * the steps before it then count, back to the action from outside. Returns: whether stalls cover
 * @off, the distance of the value; @stall: as for stalls_between() */
static gboolean
is_noise(
    const Checks *self, const GoldenCheck *check, double off, const Stalls *stalls, char **stall)
{
    const char *cause = NULL;
    double from = cause_of(check, self->recorded, &cause), until = from + check->value;

    if (off == 0)
        return FALSE;
    if (off < 0) {
        until = from;
        for (const GoldenCheck *before = check_ending(self, cause); before != NULL;
             before = check_ending(self, cause))
            from = cause_of(before, self->recorded, &cause);
    }
    return stalls_between(stalls, from, until, stall) >= ABS(off);
}

unsigned
checks_explain(Checks *self, const Stalls *stalls)
{
    unsigned n = 0;

    for (unsigned i = 0; i < self->checks->len; i++) {
        GoldenCheck *check = self->checks->pdata[i];
        if (check->type == CHECK_VALUE && is_missed(check))
            check->is_noise =
                is_noise(self, check, distance(check, check->value), stalls, &check->stall);
        n += check->is_noise;
    }
    return n;
}

void
checks_shift(
    const Checks *self, double by, const Stalls *stalls, unsigned *n_missed, unsigned *n_noise)
{
    for (unsigned i = 0; i < self->checks->len; i++) {
        const GoldenCheck *check = self->checks->pdata[i];
        if (check->type != CHECK_VALUE || is_missed(check))
            continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            double off = distance(check, check->value + sign * by);
            *n_missed += off != 0;
            *n_noise += is_noise(self, check, off, stalls, NULL);
        }
    }
}

/* ---- Lines ---- */

unsigned
checks_count(const Checks *self)
{
    return self->checks->len;
}

static void
print_result(const GoldenCheck *check)
{
    unsigned k;
    const OrderPair *pair;

    switch (check->type) {
    case CHECK_VALUE:
    case CHECK_COUNT:
        printf(check->type == CHECK_VALUE ? "%.3f\t" : "%.0f\t", check->value);
        if (check->range.n == 0)
            printf("never");
        else if (check->type == CHECK_VALUE)
            printf("%.3f .. %.3f", check->range.min, check->range.max);
        else
            printf("%.0f .. %.0f", check->range.min, check->range.max);
        break;
    case CHECK_CURVE: {
        double off = off_curve(check, &k);
        printf("%u. of %u at %.3f\t%.3f outside; the nearest run is within %.3f", k + 1,
               check->n_at, check->at[k], off, check->nearest);
        break;
    }
    case CHECK_ORDER:
        pair = other_order(check, &k);
        if (pair == NULL)
            printf("%u steps\tagree", check->steps->len);
        else
            printf("%s (%u.) at %.3f before %s (%u.) at %.3f\talways after in %u runs; %u such "
                   "pairs",
                   pair->first.what, pair->first.nth, pair->first.at, pair->then.what,
                   pair->then.nth, pair->then.at, pair->n_both, k);
        break;
    }
}

static const char *
word_of(const GoldenCheck *check)
{
    if (check->is_noise)
        return "NOISE";
    if (check->n_needed > 0)
        return "RARE";
    return is_missed(check) ? "MISS" : "OK";
}

void
checks_print(const Checks *self, const char *recording, const char *run, gboolean is_verbose)
{
    static const char *const types[] = {"value", "count", "curve", "order"};

    for (unsigned i = 0; i < self->checks->len; i++) {
        const GoldenCheck *check = self->checks->pdata[i];
        const char *word = word_of(check);
        if (g_str_equal(word, "OK") && !is_verbose)
            continue;
        printf("%s\t%s\t%s\t%s\t%s\t%s\t", word, recording, run, types[check->type], check->what,
               check->of);
        print_result(check);
        if (check->is_noise)
            printf("\tstall: %s", check->stall);
        if (check->n_needed > 0)
            printf("\tmet by seed %u", check->n_needed);
        printf("\n");
    }
}
