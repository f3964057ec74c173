/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why.h"

#include <string.h>

#include "run/kubectl/kinds.h"
#include "run/results/snapshot.h"
#include "why-driver.h"
#include "why-private.h"

gboolean
why_link(Question *self, const char *cause, json_t *object, const char *format, ...)
{
    g_autofree char *kind = g_ascii_strdown(value_text(object, "kind"), -1);
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_free(self->why->blocked);
    self->why->blocked = g_strdup_printf("%s/%s", kind, value_text(object, "metadata.name"));
    g_ptr_array_add(self->why->chain, g_strdup_printf("%s %s", self->why->blocked, text));
    return cause == NULL || why_because(self, cause);
}

json_t *
why_find(const Question *self, const char *kind, const char *namespace, const char *name)
{
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), kind) == 0 &&
            strcmp(value_text(object, "metadata.name"), name) == 0 &&
            (namespace == NULL || strcmp(value_text(object, "metadata.namespace"), namespace) == 0))
            return object;
    return NULL;
}

const char *
why_last_event(const Question *self, json_t *object, const char *reason)
{
    const char *found = "";
    ValueTime found_at = VALUE_TIME_NONE;
    json_t *event;
    gsize i;

    json_array_foreach(self->objects, i, event) {
        ValueTime at = value_time(event, "lastTimestamp");

        if (strcmp(value_text(event, "kind"), "Event") != 0 ||
            strcmp(value_text(event, "reason"), reason) != 0 ||
            strcmp(value_text(event, "involvedObject.uid"), value_text(object, "metadata.uid")) !=
                0 ||
            (at < found_at && *found != '\0'))
            continue;
        found = value_text(event, "message");
        found_at = at;
    }
    return found;
}

static gboolean
ask_claim(Question *self, json_t *claim)
{
    return why_ask_claim(self, claim, FALSE) || why_ask_change(self, claim);
}

static const struct {
    const char *kind;
    gboolean (*ask)(Question *self, json_t *object);
    const char *well; /* the words for one that waits for nothing; NULL: its phase */
} subjects[] = {
    {"Pod",                        why_ask_pod,      NULL      },
    {"PersistentVolumeClaim",      ask_claim,        NULL      },
    {"VolumeSnapshot",             why_ask_snapshot, "is ready"},
    {"VolumeSnapshotContent",      why_ask_content,  "is ready"},
    {"VolumeGroupSnapshot",        why_ask_group,    "is ready"},
    {"VolumeGroupSnapshotContent", why_ask_content,  "is ready"},
};

/* Returns: whether there is an answer. @found: (out): the object; NULL: it is not made yet */
static gboolean
ask(Question *self, const char *word, const char *name, json_t **found)
{
    const KubectlKind *kind = kubectl_kind_find(word);

    for (unsigned i = 0; kind != NULL && i < G_N_ELEMENTS(subjects); i++) {
        if (strcmp(subjects[i].kind, kind->kind) != 0)
            continue;
        *found = why_find(self, kind->kind, NULL, name);
        if (*found == NULL)
            return strcmp(kind->kind, "Pod") == 0 && why_ask_missing_pod(self, name);
        if (!subjects[i].ask(self, *found)) {
            if (subjects[i].well != NULL)
                why_link(self, NULL, *found, "%s", subjects[i].well);
            else
                why_link(self, NULL, *found, "is %s", value_text(*found, "status.phase"));
            why_because(self, "none");
        }
        return TRUE;
    }
    return FALSE;
}

Why *
why_ask(const Run *run, const char *object)
{
    json_auto_t *objects = snapshot_take(run);
    g_autoptr(Why) why = g_new0(Why, 1);
    Question self = {.run = run, .objects = objects, .why = why};
    const char *slash = strchr(object, '/');
    g_autofree char *kind = slash != NULL ? g_strndup(object, (gsize)(slash - object)) : NULL;
    json_t *found = NULL;

    why->chain = g_ptr_array_new_with_free_func(g_free);
    if (slash == NULL || !ask(&self, kind, slash + 1, &found))
        return NULL;
    if (found != NULL && strcmp(why->cause, "none") == 0)
        why_ask_health(&self, found);
    const char *behind = why_driver(run, why->cause, self.driver, self.node, why->chain);
    if (behind != NULL)
        why_because(&self, behind);
    return g_steal_pointer(&why);
}

void
why_free(Why *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->chain, g_ptr_array_unref);
    g_free(self->blocked);
    g_free(self);
}

void
why_tell(const Why *self, GString *out)
{
    for (unsigned i = 0; i < self->chain->len; i++)
        g_string_append_printf(out, "%*s%s%s\n", (int)i * 2, "", i > 0 ? "<- " : "",
                               (const char *)self->chain->pdata[i]);
    g_string_append_printf(out, "cause: %s\n", self->cause);
    if (*self->unblock != '\0')
        g_string_append_printf(out, "unblock: %s\n", self->unblock);
}
