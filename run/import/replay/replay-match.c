/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matches simulated objects with recorded ones. Names decide where both sides have them; pods with
 * drawn names are matched within their workload in the order of time, claims, volumes and
 * attachments by their claim or pod. An attachment whose volume a log without bodies does not tell
 * gets a claim of the last pod that came to the node. */
#include <string.h>

#include "replay-stages.h"
#include "sim/order.h"

typedef struct {
    const Recorded *sides[2]; /* the real one, the simulated one */
    unsigned *match;          /* by real object: simulated + 1; 0: none */
    gboolean *is_taken;       /* by simulated object */
    gboolean completes;       /* the real one gets what it lacks */
    GHashTable
        *claims; /* of the simulated side "namespace/name" -> the real one's, if they differ */
} Match;

/* The key that both sides' objects have in common. Returns: (owned): NULL: no such object */
typedef char *(*MatchKey)(const Match *self, const RecordedObject *object, gboolean is_real);

static SimTime
first_time(const RecordedObject *object)
{
    SimTime first = SIM_TIME_MAX;

    for (unsigned i = 0; i < N_RECORDED_TIMES; i++)
        if (object->at[i] != TIME_UNSET && object->at[i] < first)
            first = object->at[i];
    return first;
}

static int
replay_match_compare_places(const void *a, const void *b, void *data)
{
    const GPtrArray *objects = data;
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    SimTime first = first_time(objects->pdata[x]), second = first_time(objects->pdata[y]);

    return ORDER(first, second) ?: ORDER(x, y);
}

/* Places of one kind, in order of time. Returns: (owned): of unsigned */
static GArray *
places_of(const Recorded *side, RecordedKind kind)
{
    const GPtrArray *objects = recorded_objects(side);
    GArray *places = g_array_new(FALSE, FALSE, sizeof(unsigned));

    for (unsigned i = 0; i < objects->len; i++)
        if (((const RecordedObject *)objects->pdata[i])->kind == (int)kind)
            g_array_append_val(places, i);
    g_array_sort_with_data(places, replay_match_compare_places, (void *)objects);
    return places;
}

/* The first of each key with the first, the second with the second. */
static void
match_by(Match *self, RecordedKind kind, MatchKey key_of)
{
    g_autoptr(GHashTable) queues =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_queue_free);
    g_autoptr(GArray) real = places_of(self->sides[0], kind);
    g_autoptr(GArray) simulated = places_of(self->sides[1], kind);

    for (unsigned i = 0; i < simulated->len; i++) {
        unsigned place = g_array_index(simulated, unsigned, i);
        g_autofree char *key =
            self->is_taken[place]
                ? NULL
                : key_of(self, recorded_objects(self->sides[1])->pdata[place], FALSE);
        if (key == NULL)
            continue;
        GQueue *queue = g_hash_table_lookup(queues, key);
        if (queue == NULL) {
            queue = g_queue_new();
            g_hash_table_insert(queues, g_steal_pointer(&key), queue);
        }
        g_queue_push_tail(queue, GUINT_TO_POINTER(place + 1));
    }
    for (unsigned i = 0; i < real->len; i++) {
        unsigned place = g_array_index(real, unsigned, i);
        g_autofree char *key =
            self->match[place] != 0
                ? NULL
                : key_of(self, recorded_objects(self->sides[0])->pdata[place], TRUE);
        GQueue *queue = key == NULL ? NULL : g_hash_table_lookup(queues, key);
        unsigned found = queue == NULL ? 0 : GPOINTER_TO_UINT(g_queue_pop_head(queue));
        self->match[place] = MAX(self->match[place], found);
        if (found != 0)
            self->is_taken[found - 1] = TRUE;
    }
}

static char *
key_by_name(const Match *self, const RecordedObject *object, gboolean is_real)
{
    (void)self, (void)is_real;
    return g_strdup_printf("%s/%s", object->namespace != NULL ? object->namespace : "",
                           object->name);
}

static char *
key_by_workload(const Match *self, const RecordedObject *pod, gboolean is_real)
{
    (void)self, (void)is_real;
    if (pod->workload == NULL)
        return NULL;
    gboolean has_place = g_str_has_prefix(pod->workload, "DaemonSet/") && pod->node != NULL;
    return g_strdup_printf("%s/%s/%s", pod->namespace, pod->workload, has_place ? pod->node : "");
}

static const char *
claim_in_real(const Match *self, const char *claim, gboolean is_real)
{
    const char *other = claim == NULL || is_real ? NULL : g_hash_table_lookup(self->claims, claim);

    return other != NULL ? other : claim;
}

static char *
key_by_claim(const Match *self, const RecordedObject *object, gboolean is_real)
{
    return g_strdup(claim_in_real(self, object->claim, is_real));
}

static char *
key_by_place(const Match *self, const RecordedObject *object, gboolean is_real)
{
    const char *claim = claim_in_real(self, object->claim, is_real);

    return claim == NULL || object->node == NULL ? NULL
                                                 : g_strdup_printf("%s %s", claim, object->node);
}

/* A set of texts (owned) of the recorded objects of one kind. Returns: (owned) */
static GHashTable *
texts_of(const GPtrArray *objects,
         RecordedKind kind,
         char *(*text_of)(const RecordedObject *object))
{
    GHashTable *texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        char *text = object->kind == (int)kind ? text_of(object) : NULL;
        if (text != NULL)
            g_hash_table_add(texts, text);
    }
    return texts;
}

static char *
text_of_claim(const RecordedObject *claim)
{
    return g_strdup_printf("%s/%s", claim->namespace, claim->name);
}

/* Whether the recording has the claims of a simulated pod: none is named after the pod. */
static gboolean
has_claims(GHashTable *claims, const RecordedObject *pod)
{
    for (unsigned i = 0; pod->claims[i] != NULL; i++) {
        g_autofree char *claim = g_strdup_printf("%s/%s", pod->namespace, pod->claims[i]);
        if (!g_hash_table_contains(claims, claim))
            return FALSE;
    }
    return TRUE;
}

/* Claims whose names have the name of a pod that its controller made up. */
static void
match_claims_of_pods(Match *self)
{
    const GPtrArray *real = recorded_objects(self->sides[0]);
    g_autoptr(GHashTable) claims = texts_of(real, RECORDED_CLAIM, text_of_claim);

    for (unsigned i = 0; i < real->len; i++) {
        RecordedObject *pod = real->pdata[i];
        const RecordedObject *other =
            self->match[i] == 0 ? NULL
                                : recorded_objects(self->sides[1])->pdata[self->match[i] - 1];
        if (pod->kind != RECORDED_POD || other == NULL || other->claims == NULL)
            continue;
        if (self->completes && pod->claims == NULL &&
            (g_str_equal(pod->name, other->name) || has_claims(claims, other)))
            pod->claims = recorded_texts((Recorded *)self->sides[0], other->claims,
                                         g_strv_length((char **)other->claims));
        for (unsigned k = 0;
             pod->claims != NULL && pod->claims[k] != NULL && other->claims[k] != NULL; k++)
            if (!g_str_equal(pod->claims[k], other->claims[k]))
                g_hash_table_insert(self->claims,
                                    g_strdup_printf("%s/%s", other->namespace, other->claims[k]),
                                    g_strdup_printf("%s/%s", pod->namespace, pod->claims[k]));
    }
}

static char *
text_of_attachment(const RecordedObject *attachment)
{
    return attachment->claim == NULL || attachment->node == NULL
               ? NULL
               : g_strdup_printf("%s %s", attachment->claim, attachment->node);
}

/* The claim of a pod on the attachment's node that has no attachment there yet: of the last pod
 * that was bound to the node before. Returns: (owned): NULL: there is none */
static char *
guess_claim(const GPtrArray *real, GHashTable *attached, const RecordedObject *attachment)
{
    SimTime latest = TIME_UNSET;
    char *found = NULL;

    for (unsigned i = 0; i < real->len; i++) {
        const RecordedObject *pod = real->pdata[i];
        if (pod->kind != RECORDED_POD || pod->claims == NULL ||
            g_strcmp0(pod->node, attachment->node) != 0 ||
            pod->at[RECORDED_SCHEDULED] > attachment->at[RECORDED_ATTACH_REQUESTED] ||
            pod->at[RECORDED_SCHEDULED] <= latest)
            continue;
        for (unsigned k = 0; pod->claims[k] != NULL; k++) {
            g_autofree char *claim = g_strdup_printf("%s/%s", pod->namespace, pod->claims[k]);
            g_autofree char *place = g_strdup_printf("%s %s", claim, attachment->node);
            if (g_hash_table_contains(attached, place))
                continue;
            g_free(found);
            found = g_steal_pointer(&claim);
            latest = pod->at[RECORDED_SCHEDULED];
            break;
        }
    }
    return found;
}

/* A log without bodies does not say which volume an attachment of a short life was of. */
static void
complete_attachments(Match *self)
{
    const GPtrArray *real = recorded_objects(self->sides[0]);
    g_autoptr(GHashTable) attached = texts_of(real, RECORDED_ATTACHMENT, text_of_attachment);

    for (unsigned i = 0; i < real->len; i++) {
        RecordedObject *attachment = real->pdata[i];
        if (attachment->kind != RECORDED_ATTACHMENT || attachment->claim != NULL ||
            attachment->volume != NULL || attachment->node == NULL ||
            attachment->at[RECORDED_ATTACH_REQUESTED] == TIME_UNSET)
            continue;
        g_autofree char *claim = guess_claim(real, attached, attachment);
        attachment->claim = recorded_text((Recorded *)self->sides[0], claim);
        if (claim != NULL)
            g_hash_table_add(attached, text_of_attachment(attachment));
    }
}

static char *
key_by_pod(const Match *self, const RecordedObject *claim, gboolean is_real)
{
    g_autofree char *text = g_strdup_printf("%s/%s", claim->namespace, claim->name);

    return g_strdup(claim_in_real(self, text, is_real));
}

unsigned *
replay_match(Recorded *recorded, const Recorded *simulated, gboolean completes)
{
    Match self = {
        .sides = {recorded, simulated},
        .match = g_new0(unsigned, recorded_objects(recorded)->len + 1),
        .is_taken = g_new0(gboolean, recorded_objects(simulated)->len + 1),
        .completes = completes,
        .claims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
    };

    match_by(&self, RECORDED_POD, key_by_name);
    match_by(&self, RECORDED_POD, key_by_workload);
    match_claims_of_pods(&self);
    match_by(&self, RECORDED_CLAIM, key_by_name);
    match_by(&self, RECORDED_CLAIM, key_by_pod);
    match_by(&self, RECORDED_VOLUME, key_by_name);
    match_by(&self, RECORDED_VOLUME, key_by_claim);
    if (completes)
        complete_attachments(&self);
    match_by(&self, RECORDED_ATTACHMENT, key_by_place);
    match_by(&self, RECORDED_ATTACHMENT, key_by_claim);
    g_free(self.is_taken);
    g_hash_table_unref(self.claims);
    return self.match;
}
