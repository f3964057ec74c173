/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "moments-private.h"

#include <string.h>

struct Moments {
    GHashTable *at;         /* char * -> double * */
    GHashTable *counts;     /* char * -> double * */
    GPtrArray *count_names; /* in the order of first appearance; borrowed from @counts */
    GPtrArray *pairs;       /* of GoldenPair (owned) */
    GHashTable
        *labels; /* name of a volume -> name of its claim; of a pod with a drawn name -> "web#1" */
    GHashTable *n_labelled; /* "web#" -> number of its pods */
    Curves *curves;         /* (owned) */
    Orders *orders;         /* (owned) */
    GHashTable *said_in;    /* recorded: name of an Event -> index into @said */
    GPtrArray *said;        /* of char *: object, message, object, message, ... */
};

static void
pair_free(void *data)
{
    GoldenPair *pair = data;

    g_free((char *)pair->pod);
    g_free((char *)pair->claim);
    g_free((char *)pair->snapshot);
    g_free(pair);
}

Moments *
moments_new(void)
{
    Moments *self = g_new0(Moments, 1);

    self->at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->n_labelled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->curves = curves_new();
    self->orders = orders_new();
    self->said_in = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->said = g_ptr_array_new_with_free_func(g_free);
    self->count_names = g_ptr_array_new();
    self->pairs = g_ptr_array_new_with_free_func(pair_free);
    return self;
}

void
moments_free(Moments *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->at);
    g_hash_table_unref(self->counts);
    g_hash_table_unref(self->labels);
    g_hash_table_unref(self->n_labelled);
    curves_free(self->curves);
    orders_free(self->orders);
    g_hash_table_unref(self->said_in);
    g_ptr_array_unref(self->said);
    g_ptr_array_unref(self->count_names);
    g_ptr_array_unref(self->pairs);
    g_free(self);
}

void
moments_add(Moments *self, char *name, double at)
{
    if (g_hash_table_contains(self->at, name))
        g_free(name);
    else
        g_hash_table_insert(self->at, name, g_memdup2(&at, sizeof at));
}

void
moments_count_one(Moments *self, char *name)
{
    double *number = g_hash_table_lookup(self->counts, name);

    if (number == NULL) {
        number = g_new0(double, 1);
        g_ptr_array_add(self->count_names, name);
        g_hash_table_insert(self->counts, name, number);
    } else {
        g_free(name);
    }
    ++*number;
}

void
moments_add_pair(Moments *self, const char *pod, const char *claim)
{
    for (unsigned i = 0; i < self->pairs->len; i++) {
        const GoldenPair *pair = self->pairs->pdata[i];
        if (g_strcmp0(pair->pod, pod) == 0 && g_strcmp0(pair->claim, claim) == 0)
            return;
    }
    GoldenPair *pair = g_new(GoldenPair, 1);
    *pair = (GoldenPair){.pod = g_strdup(pod), .claim = g_strdup(claim)};
    g_ptr_array_add(self->pairs, pair);
}

void
moments_add_snapshot(Moments *self, const char *name)
{
    GoldenPair *pair = g_new(GoldenPair, 1);

    *pair = (GoldenPair){.snapshot = g_strdup(name)};
    g_ptr_array_add(self->pairs, pair);
}

const char *
moments_label_of(const Moments *self, const char *volume)
{
    const char *label = g_hash_table_lookup(self->labels, volume);

    return label == NULL ? volume : label;
}

void
moments_label(Moments *self, const char *volume, const char *claim)
{
    if (claim != NULL && !g_hash_table_contains(self->labels, volume))
        g_hash_table_insert(self->labels, g_strdup(volume), g_strdup(claim));
}

void
moments_label_pod(Moments *self, const char *pod, const char *hash)
{
    const char *end = hash == NULL ? NULL : strstr(pod, hash);

    if (end == NULL || g_hash_table_contains(self->labels, pod))
        return;
    g_autofree char *owner = g_strdup_printf("%.*s#", (int)(end - pod) - 1, pod);
    g_autofree char *set = g_strndup(pod, (gsize)(end - pod) + strlen(hash));
    g_autofree char *asked = g_strconcat(set, "-", NULL); /* generateName */
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(self->n_labelled, owner)) + 1;
    moments_label(self, set, owner);
    moments_label(self, asked, owner);
    g_hash_table_insert(self->labels, g_strdup(pod), g_strdup_printf("%s%u", owner, n));
    g_hash_table_insert(self->n_labelled, g_steal_pointer(&owner), GUINT_TO_POINTER(n));
}

gboolean
moments_find(const Moments *self, const char *name, double *at)
{
    const double *found = g_hash_table_lookup(self->at, name);

    if (found != NULL)
        *at = *found;
    return found != NULL;
}

unsigned
moments_n_pairs(const Moments *self)
{
    return self->pairs->len;
}

const GoldenPair *
moments_pair(const Moments *self, unsigned i)
{
    return self->pairs->pdata[i];
}

GPtrArray *
moments_counted(const Moments *self)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < self->count_names->len; i++)
        g_ptr_array_add(names, g_strdup(self->count_names->pdata[i]));
    return names;
}

double
moments_count(const Moments *self, const char *name)
{
    const double *number = g_hash_table_lookup(self->counts, name);

    return number == NULL ? 0 : *number;
}

const Curves *
moments_curves(const Moments *self)
{
    return self->curves;
}

const Orders *
moments_orders(const Moments *self)
{
    return self->orders;
}

void
moments_add_step(Moments *self, const char *scope, const char *label, const char *what, double at)
{
    g_autofree char *object = g_strdup_printf("%s %s", scope, label);

    orders_add(self->orders, object, what, at);
}

void
moments_add_request(Moments *self, char *name, double at)
{
    curves_add(self->curves, name, at);
    moments_count_one(self, name);
}

const CallSeen *
moments_call(const char *method)
{
    static const CallSeen calls[] = {
        {"CreateVolume",              "provision-started",   "provision-ended", NULL     },
        {"DeleteVolume",              "delete-started",      "delete-ended",    NULL     },
        {"ControllerPublishVolume",   "attach-started",      "attach-ended",    NULL     },
        {"ControllerUnpublishVolume", "detach-started",      "detach-ended",    NULL     },
        {"NodeStageVolume",           "stage-started",       "staged",          NULL     },
        {"NodePublishVolume",         "publish-started",     "published",       NULL     },
        {"NodeUnpublishVolume",       "unpublish-started",   "unpublished",     NULL     },
        {"NodeUnstageVolume",         "unstage-started",     "unstaged",        NULL     },
        {"ControllerExpandVolume",    "expand-started",      "expand-ended",    NULL     },
        {"NodeExpandVolume",          "node-expand-started", "node-expanded",   NULL     },
        {"ControllerModifyVolume",    "modify-started",      "modify-ended",    NULL     },
        {"CreateSnapshot",            "cut-started",         "cut-ended",       "content"},
        {"DeleteSnapshot",            "end-started",         "end-ended",       "content"},
        {"ListSnapshots",             "list-started",        "list-ended",      "content"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++)
        if (g_strcmp0(calls[i].method, method) == 0)
            return &calls[i];
    return NULL;
}

const char *
moments_code(const char *code)
{
    return g_strcmp0(code, "DeadlineExceeded") == 0 ? "Canceled" : code;
}

void
moments_add_event(Moments *self, const char *source, double at)
{
    g_autofree char *component = g_strndup(source, strcspn(source, "_"));
    g_autofree char *name = g_strconcat("events ", component, NULL);

    curves_add(self->curves, name, at);
}

gboolean
moments_is_about_images(const char *reason)
{
    return g_strcmp0(reason, "Pulling") == 0 || g_strcmp0(reason, "Pulled") == 0 ||
           g_strcmp0(reason, "ImageGCFailed") == 0;
}

void
moments_add_said(
    Moments *self, const char *event, const char *kind, const char *name, const char *words)
{
    unsigned at = self->said->len;
    void *known;

    if (event != NULL && g_hash_table_lookup_extended(self->said_in, event, NULL, &known)) {
        at = GPOINTER_TO_UINT(known);
        g_free(self->said->pdata[at + 1]);
        self->said->pdata[at + 1] = g_strdup(words);
        return;
    }
    g_ptr_array_add(self->said, g_strdup_printf("%s %s", kind, name));
    g_ptr_array_add(self->said, g_strdup(words));
    if (event != NULL)
        g_hash_table_insert(self->said_in, g_strdup(event), GUINT_TO_POINTER(at));
}

void
moments_count_said(Moments *self, const GoldenWords *words)
{
    for (unsigned i = 0; i < self->said->len; i += 2) {
        g_autofree char *object = words_without_names(words, self->said->pdata[i], self->labels);
        g_autofree char *text = words_without_names(words, self->said->pdata[i + 1], self->labels);
        g_autofree char *name = g_strdup_printf("%s: %s", object, text);
        if (moments_count(self, name) == 0)
            moments_count_one(self, g_steal_pointer(&name));
    }
}

const char *
moments_scope(const char *resource)
{
    static const struct {
        const char *resource, *scope;
    } scopes[] = {
        {"pods",                   "pod"     },
        {"persistentvolumeclaims", "claim"   },
        {"persistentvolumes",      "volume"  },
        {"volumeattachments",      "volume"  },
        {"volumesnapshots",        "snapshot"},
        {"volumesnapshotcontents", "content" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(scopes); i++)
        if (g_strcmp0(scopes[i].resource, resource) == 0)
            return scopes[i].scope;
    return NULL;
}
