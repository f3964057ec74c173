/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "condition.h"

#include <string.h>

#include "run/kubectl/kinds.h"
#include "run/kubectl/value.h"
#include "run/results/snapshot.h"

G_DEFINE_QUARK(kvolsim - condition - error, condition_error)

struct Condition {
    ObjectKind kind;
    char *text;
    char *pattern; /* of the name */
    char *word;    /* NULL: a path and a value */
    char *path, *value;
};

gboolean
object_words_parse(const char *text, ObjectKind *kind, const char **pattern, GError **error)
{
    const char *slash = strchr(text, '/');
    g_autofree char *word = g_strndup(text, slash != NULL ? (gsize)(slash - text) : strlen(text));
    const KubectlKind *found = slash != NULL ? kubectl_kind_find(word) : NULL;

    if (slash == NULL || slash[1] == '\0') {
        g_set_error(error, CONDITION_ERROR, 0,
                    "\"%s\" is no object (as kind/name: pod/web-0, pvc/data)", text);
        return FALSE;
    }
    if (found == NULL || !kind_find(NULL, found->kind, kind)) {
        g_set_error(error, CONDITION_ERROR, 0, "\"%s\": there is no kind \"%s\" here", text, word);
        return FALSE;
    }
    *pattern = slash + 1;
    return TRUE;
}

Condition *
condition_parse(const char *object, const char *words, GError **error)
{
    g_autoptr(Condition) self = g_new0(Condition, 1);
    const char *pattern, *equals = strchr(words, '=');

    if (!object_words_parse(object, &self->kind, &pattern, error))
        return NULL;
    if (*words == '\0' || equals == words) {
        g_set_error(error, CONDITION_ERROR, 0,
                    "what of %s? (Ready, Bound, exists, gone, deleting, attached, path=value)",
                    object);
        return NULL;
    }
    self->pattern = g_strdup(pattern);
    self->text = g_strdup_printf("%s %s", object, words);
    if (equals != NULL) {
        self->path = g_strndup(words, (gsize)(equals - words));
        self->value = g_strdup(equals + 1);
    } else {
        self->word = g_strdup(words);
    }
    return g_steal_pointer(&self);
}

void
condition_free(Condition *self)
{
    if (self == NULL)
        return;
    g_free(self->text);
    g_free(self->pattern);
    g_free(self->word);
    g_free(self->path);
    g_free(self->value);
    g_free(self);
}

const char *
condition_text(const Condition *self)
{
    return self->text;
}

gboolean
condition_concerns(const Condition *self, const ObjectKey *key)
{
    return key->kind == self->kind && g_pattern_match_simple(self->pattern, key->name);
}

/* Compares as text: "true", "3", "web". */
static gboolean
has_value(json_t *object, const char *path, const char *wanted)
{
    json_t *value = value_at(object, path);
    g_autoptr(GString) text = g_string_new(NULL);

    if (value == NULL)
        return *wanted == '\0';
    value_append_go(text, value);
    return strcmp(text->str, wanted) == 0;
}

static gboolean
object_meets(const Condition *self, json_t *object)
{
    json_t *condition;

    if (self->word == NULL)
        return has_value(object, self->path, self->value);
    if (strcmp(self->word, "exists") == 0)
        return TRUE;
    if (strcmp(self->word, "deleting") == 0)
        return value_at(object, "metadata.deletionTimestamp") != NULL;
    if (strcmp(self->word, "attached") == 0)
        return value_is_true(object, "status.attached");
    condition = value_find(value_at(object, "status.conditions"), "type", self->word);
    if (condition != NULL)
        return strcmp(value_text(condition, "status"), "True") == 0;
    return strcmp(value_text(object, "status.phase"), self->word) == 0;
}

gboolean
condition_is_met(const Condition *self, const Run *run)
{
    Objects *objects = run_objects(run);
    gboolean is_gone = self->word != NULL && strcmp(self->word, "gone") == 0;

    for (uint32_t slot = 0; slot < objects_n_keys(objects, self->kind); slot++) {
        const ObjectKey *key = objects_key_at(objects, self->kind, slot);
        const Object *object = condition_concerns(self, key)
                                   ? api_server_get(cluster_api(run_cluster(run)), key)
                                   : NULL;
        if (object == NULL)
            continue;
        if (is_gone)
            return FALSE;
        json_auto_t *json = snapshot_object(run, object);
        if (object_meets(self, json))
            return TRUE;
    }
    return is_gone;
}
