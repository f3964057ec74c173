/* SPDX-License-Identifier: GPL-3.0-or-later */
/* client-go's EventCorrelator (tools/record/events_cache.go): combines similar events of an object,
 * and drops those beyond a budget. It has state only for objects with many events; what came before
 * is recomputed from the stored Events, which is why most objects cost nothing.
 *
 * Simplification: only the first and the last instant of a repeated event are stored, so those
 * between are taken to lie evenly. */
#include "event-correlator.h"

#include "sim/order.h"
#include "sim/random.h"

#define MESSAGES_MAX 10                  /* CGO-72: this many different messages are combined, */
#define GROUP_LASTS (600 * SIM_SECOND)   /* unless the last one is older */
#define BUDGET 25                        /* CGO-74: events about one object at once, */
#define BUDGET_PERIOD (300 * SIM_SECOND) /* then one in this time */
#define COMBINED "(combined from similar events): "

/* Events that differ only in their messages. */
typedef struct {
    const char *type, *reason;
    const char *messages[MESSAGES_MAX];
    unsigned n_messages;
    SimTime last_at;
    unsigned index; /* of the combined event; API_NEW_EVENT: not written yet */
} EventCorrelatorGroup;

/* The bucket of an object's events of one type: full again at @full_at. */
typedef struct {
    const char *type;
    SimTime full_at;
} Budget;

/* Occurrences that were dropped since the event was last written. */
typedef struct {
    const char *type, *reason;
    const char *message; /* NULL: of the combined event */
    uint32_t count;
    SimTime first_at;
} Dropped;

/* An object with many events. */
typedef struct {
    ObjectUid uid;
    GArray *groups, *budgets, *dropped;
    uint64_t n_draws;
} EventCorrelatorSubject;

struct EventCorrelator {
    ApiServer *api;
    SimStream stream;
    GHashTable *subjects; /* ObjectKey -> Subject */
};

static void
subject_free(void *data)
{
    EventCorrelatorSubject *subject = data;

    g_array_unref(subject->groups);
    g_array_unref(subject->budgets);
    g_array_unref(subject->dropped);
    g_free(subject);
}

EventCorrelator *
event_correlator_new(Sim *sim, ApiServer *api)
{
    EventCorrelator *self = g_new0(EventCorrelator, 1);

    self->api = api;
    self->stream = sim_stream(sim, "client/event correlator");
    self->subjects = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, subject_free);
    return self;
}

void
event_correlator_free(EventCorrelator *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->subjects);
    g_free(self);
}

/* ---- Look-ups ---- */

static EventCorrelatorGroup *
find_group(const EventCorrelatorSubject *subject, const ApiEvent *event)
{
    for (unsigned i = 0; i < subject->groups->len; i++) {
        EventCorrelatorGroup *group = &g_array_index(subject->groups, EventCorrelatorGroup, i);
        if (g_str_equal(group->reason, event->reason) && g_str_equal(group->type, event->type))
            return group;
    }
    EventCorrelatorGroup group = {
        .type = event->type, .reason = event->reason, .index = API_NEW_EVENT};
    g_array_append_val(subject->groups, group);
    return &g_array_index(subject->groups, EventCorrelatorGroup, subject->groups->len - 1);
}

static void
group_add(EventCorrelatorGroup *group, const char *message, SimTime at)
{
    if (at - group->last_at > GROUP_LASTS)
        group->n_messages = 0;
    group->last_at = at;
    for (unsigned i = 0; i < group->n_messages; i++)
        if (group->messages[i] == message)
            return;
    group->messages[group->n_messages++] = message;
}

/* Takes a token from the bucket. Returns: whether there was one. The bucket never holds more than
 * at first. */
static gboolean
spend(const EventCorrelatorSubject *subject, const char *type, SimTime at)
{
    Budget *budget = NULL;

    for (unsigned i = 0; budget == NULL && i < subject->budgets->len; i++)
        if (g_str_equal(g_array_index(subject->budgets, Budget, i).type, type))
            budget = &g_array_index(subject->budgets, Budget, i);
    if (budget == NULL) {
        Budget full = {type, at};
        g_array_append_val(subject->budgets, full);
        budget = &g_array_index(subject->budgets, Budget, subject->budgets->len - 1);
    }
    SimTime full_at = MAX(budget->full_at, at) + BUDGET_PERIOD;
    if (full_at - at > BUDGET * BUDGET_PERIOD)
        return FALSE;
    budget->full_at = full_at;
    return TRUE;
}

/* An occurrence of an event that was written. */
typedef struct {
    const ApiEvent *event;
    SimTime at;
} Occurrence;

static int
compare_occurrences(const void *a, const void *b)
{
    const Occurrence *x = a, *y = b;

    return ORDER(x->at, y->at);
}

/* Only the first and the last instant of a repeated event are stored; the others are taken to lie
 * evenly between. */
static void
add_occurrences(GArray *occurrences, const ApiEvent *event)
{
    for (uint32_t i = 0; i < event->count; i++) {
        SimTime passed = event->last_at - event->first_at;
        Occurrence occurrence = {event,
                                 event->first_at + (i == 0 ? 0 : passed * i / (event->count - 1))};
        g_array_append_val(occurrences, occurrence);
    }
}

static EventCorrelatorSubject *
subject_new(const EventCorrelator *self, ObjectUid uid, const unsigned *known, unsigned n_known)
{
    g_autoptr(GArray) occurrences = g_array_new(FALSE, FALSE, sizeof(Occurrence));
    EventCorrelatorSubject *subject = g_new0(EventCorrelatorSubject, 1);

    subject->uid = uid;
    subject->groups = g_array_new(FALSE, FALSE, sizeof(EventCorrelatorGroup));
    subject->budgets = g_array_new(FALSE, FALSE, sizeof(Budget));
    subject->dropped = g_array_new(FALSE, FALSE, sizeof(Dropped));
    for (unsigned i = 0; i < n_known; i++)
        add_occurrences(occurrences, api_server_event(self->api, known[i]));
    g_array_sort(occurrences, compare_occurrences);
    for (unsigned i = 0; i < occurrences->len; i++) {
        const Occurrence *occurrence = &g_array_index(occurrences, Occurrence, i);
        EventCorrelatorGroup *group = find_group(subject, occurrence->event);
        group_add(group, occurrence->event->message, occurrence->at);
        group->n_messages = MIN(group->n_messages, MESSAGES_MAX - 1);
        spend(subject, occurrence->event->type, occurrence->at);
    }
    return subject;
}

static EventCorrelatorSubject *
find_subject(EventCorrelator *self, const ApiEvent *event, const unsigned *known, unsigned n_known)
{
    EventCorrelatorSubject *subject = g_hash_table_lookup(self->subjects, event->involved);

    if (subject == NULL || !object_uid_equal(subject->uid, event->involved_uid)) {
        subject = subject_new(self, event->involved_uid, known, n_known);
        g_hash_table_replace(self->subjects, (void *)event->involved, subject);
    }
    return subject;
}

/* ---- Judging ---- */

/* CGO-72. Returns: whether @event is now the combined one. Then any one message is forgotten, so
 * the set never grows; the next new message fills it again. */
static gboolean
combine(const EventCorrelator *self,
        EventCorrelatorSubject *subject,
        ApiEvent *event,
        unsigned *index)
{
    EventCorrelatorGroup *group = find_group(subject, event);

    group_add(group, event->message, event->last_at);
    if (group->n_messages < MESSAGES_MAX)
        return FALSE;
    unsigned any = (unsigned)sim_random_below(self->stream, event->involved->hash,
                                              subject->n_draws++, MESSAGES_MAX);
    group->messages[any] = group->messages[--group->n_messages];
    event->message = strings_internf(objects_strings(api_server_objects(self->api)), COMBINED "%s",
                                     event->message);
    *index = group->index;
    return TRUE;
}

static void
count_occurrence(const EventCorrelator *self, ApiEvent *event, unsigned index)
{
    const ApiEvent *known = index == API_NEW_EVENT ? NULL : api_server_event(self->api, index);

    event->count = known == NULL ? 1 : known->count + 1;
    event->first_at = known == NULL ? event->last_at : known->first_at;
}

static Dropped *
find_dropped(const EventCorrelatorSubject *subject, const ApiEvent *event, const char *message)
{
    for (unsigned i = 0; i < subject->dropped->len; i++) {
        Dropped *dropped = &g_array_index(subject->dropped, Dropped, i);
        if (dropped->message == message && g_str_equal(dropped->reason, event->reason) &&
            g_str_equal(dropped->type, event->type))
            return dropped;
    }
    Dropped dropped = {.type = event->type,
                       .reason = event->reason,
                       .message = message,
                       .first_at = event->last_at};
    g_array_append_val(subject->dropped, dropped);
    return &g_array_index(subject->dropped, Dropped, subject->dropped->len - 1);
}

gboolean
event_correlator_judge(EventCorrelator *self,
                       ApiEvent *event,
                       unsigned *index,
                       const unsigned *known,
                       unsigned n_known)
{
    EventCorrelatorSubject *subject = find_subject(self, event, known, n_known);
    const char *message = event->message;

    if (combine(self, subject, event, index))
        message = NULL;
    count_occurrence(self, event, *index);
    Dropped *dropped = find_dropped(subject, event, message);
    if (!spend(subject, event->type, event->last_at)) {
        dropped->count++;
        return FALSE;
    }
    if (event->count == 1 && dropped->count > 0)
        event->first_at = dropped->first_at;
    event->count += dropped->count;
    *dropped = g_array_index(subject->dropped, Dropped, subject->dropped->len - 1);
    g_array_set_size(subject->dropped, subject->dropped->len - 1);
    return TRUE;
}

void
event_correlator_written(EventCorrelator *self, const ApiEvent *event, unsigned index)
{
    EventCorrelatorSubject *subject = g_hash_table_lookup(self->subjects, event->involved);

    if (subject != NULL && object_uid_equal(subject->uid, event->involved_uid) &&
        g_str_has_prefix(event->message, COMBINED))
        find_group(subject, event)->index = index;
}
