/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taints and tolerations: fields, checks and ToleratesTaint(). An effect that is absent in a
 * toleration means all effects, an empty key with Exists all taints. Zero or a negative
 * tolerationSeconds evicts at once; not given means for ever. The operator "Equal" is printed only
 * if the manifest has it. */
#include "taint.h"

#include <string.h>

#include "fields.h"

/* GCC and clang make enumerations without negative values unsigned. */
_Static_assert(sizeof(TaintEffect) == sizeof(uint32_t), "read as uint32_t");

static const FieldType effect_type = {FIELD_WORDS("NoSchedule", "PreferNoSchedule", "NoExecute")};

static const Field taint_fields[] = {
    FIELD("key", field_text, Taint, key, FIELD_REQUIRED),
    FIELD("value", field_text, Taint, value, FIELD_SPEC),
    FIELD("effect", effect_type, Taint, effect, FIELD_REQUIRED),
    FIELD("timeAdded", field_time, Taint, added_at, FIELD_SPEC),
    FIELDS_END,
};

const FieldType field_taints = {FIELD_LIST(Taint, taint_fields)};

REF_LIST_DEFINE(Taints, Taint, taints)

UNREF_DEFINE(Taints, taints, g_free)

gboolean
taints_equal(const Taints *a, const Taints *b)
{
    return field_equal(&field_taints, &a, &b);
}

/* Toleration.exists: "Equal" is the default, and printed only if the manifest has it. */
static const char *const toleration_operators[] = {"Equal", "Exists", NULL};

static void
toleration_operator_parse(ApiParser *parser, const json_t *value, void *field)
{
    const char *word = json_string_value(value);

    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    *(gboolean *)field = strcmp(word, "Exists") == 0;
    if (!*(gboolean *)field && strcmp(word, "Equal") != 0 && word[0] != '\0')
        api_parser_unsupported(parser, value, toleration_operators);
}

static json_t *
toleration_operator_over(const void *field, const json_t *manifest)
{
    if (*(const gboolean *)field)
        return json_string("Exists");
    return g_strcmp0(json_string_value(manifest), "Equal") == 0 ? json_string("Equal") : NULL;
}

static const FieldType toleration_operator_type = {
    .size = sizeof(gboolean),
    .parse = toleration_operator_parse,
    .over = toleration_operator_over,
};

/* Toleration.effect: -1 is none. */
static void
toleration_effect_parse(ApiParser *parser, const json_t *value, void *field)
{
    uint32_t effect = 0;

    if (json_is_string(value) && json_string_length(value) == 0)
        return;
    field_type_parse(&effect_type, parser, value, &effect);
    *(int *)field = (int)effect;
}

static json_t *
toleration_effect_to_json(const void *field)
{
    int effect = *(const int *)field;

    return effect < 0 ? NULL : json_string(effect_type.words[effect]);
}

static const FieldType toleration_effect_type = {
    .size = sizeof(int),
    FIELD_INITIAL(int, -1),
    .parse = toleration_effect_parse,
    .to_json = toleration_effect_to_json,
};

static const Field toleration_fields[] = {
    FIELD("key", field_text, Toleration, key, FIELD_SPEC),
    FIELD("value", field_text, Toleration, value, FIELD_SPEC),
    FIELD("operator", toleration_operator_type, Toleration, exists, FIELD_SPEC),
    FIELD("effect", toleration_effect_type, Toleration, effect, FIELD_SPEC),
    FIELD("tolerationSeconds", field_int64, Toleration, seconds, FIELD_SPEC),
    FIELDS_END,
};

REF_LIST_DEFINE(Tolerations, Toleration, tolerations)

REF_COUNTED_DEFINE(Tolerations, tolerations, g_free)

static gboolean
taint_is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* ToleratesTaint() of Kubernetes' core/v1. */
gboolean
toleration_tolerates(const Toleration *self, const Taint *taint)
{
    if (self->effect >= 0 && self->effect != (int)taint->effect)
        return FALSE;
    if (!taint_is_empty(self->key) && strcmp(self->key, taint->key) != 0)
        return FALSE;
    return self->exists || strcmp(taint_is_empty(self->value) ? "" : self->value,
                                  taint_is_empty(taint->value) ? "" : taint->value) == 0;
}

const Toleration *
tolerations_find(const Tolerations *self, const Taint *taint)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (toleration_tolerates(&self->items[i], taint))
            return &self->items[i];
    return NULL;
}

const Taint *
taints_find(const Taints *self, const char *key, int effect)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++) {
        const Taint *taint = &self->items[i];
        if ((effect < 0 || (int)taint->effect == effect) &&
            (key == NULL || strcmp(taint->key, key) == 0))
            return taint;
    }
    return NULL;
}

static void
check_toleration(ApiParser *parser, const json_t *item, const Toleration *toleration)
{
    if (taint_is_empty(toleration->key) && !toleration->exists)
        api_parser_fault(parser, item, "write operator: Exists",
                         "Invalid value: \"\": operator must be Exists when `key` is empty, which "
                         "means \"match all "
                         "values and all keys\"");
    if (toleration->exists && !taint_is_empty(toleration->value))
        api_parser_fault(parser, item, NULL,
                         "Invalid value: \"%s\": value must be empty when `operator` is 'Exists'",
                         toleration->value);
    if (toleration->seconds >= 0 && toleration->effect != TAINT_NO_EXECUTE)
        api_parser_fault(
            parser, item, NULL,
            "Invalid value: \"%s\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            toleration->effect < 0 ? "" : effect_type.words[toleration->effect]);
}

static void
tolerations_finish(ApiParser *parser, const json_t *array, void *items, unsigned n)
{
    Toleration *tolerations = items;

    for (unsigned i = 0; i < n; i++) {
        gsize length = api_parser_enter_index(parser, i);
        /* Zero and less: evict at once. */
        if (json_path_get(json_array_get(array, i), "tolerationSeconds") != NULL)
            tolerations[i].seconds = MAX(tolerations[i].seconds, 0);
        check_toleration(parser, json_array_get(array, i), &tolerations[i]);
        api_parser_leave(parser, length);
    }
}

const FieldType field_tolerations = {
    FIELD_LIST(Toleration, toleration_fields),
    .finish = tolerations_finish,
};

gboolean
tolerations_equal(const Tolerations *a, const Tolerations *b)
{
    return field_equal(&field_tolerations, &a, &b);
}
