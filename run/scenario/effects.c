/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warns of fields that Kubernetes acts upon and kvolsim does not, by the rows of docs/fields.md.
 * Each row is walked from the object, not each field looked up among the rows: most objects have
 * few of these fields. A row is told once for an object, and empty values, of which dumps are full,
 * never. */
#include "effects.h"

#include <string.h>

#include "models/api/fields.h"
#include "run/scenario/scenario-test.h"
#include "scenario-private.h"

#define METADATA_KIND "Metadata"
#define KINDS_KIND "Kinds"
#define FLAGS_KIND "Flags" /* of all processes */

const FieldEffect *
field_effect_find(const char *kind, const char *path)
{
    const FieldEffect *found = NULL;

    for (unsigned i = 0; i < n_field_effects; i++) {
        const FieldEffect *row = &field_effects[i];
        size_t length = strlen(row->path);
        if (g_str_equal(row->kind, kind) && strncmp(row->path, path, length) == 0 &&
            strchr(".[", path[length]) != NULL && (found == NULL || length > strlen(found->path)))
            found = row;
    }
    return found;
}

const FieldEffect *
flag_effect_find(const char *process, const char *flag)
{
    const FieldEffect *own = field_effect_find(process, flag);

    return own != NULL ? own : field_effect_find(FLAGS_KIND, flag);
}

/* The walk from one object to the fields of one row. */
typedef struct {
    Loader *loader;
    const char *object;
    YamlPosition at; /* of the latest value with a known position */
    const FieldEffect *row;
    GPtrArray *told; /* rows, each once for an object */
} EffectWalk;

static void tell_kind(EffectWalk walk, const char *kind, const json_t *object);

/* Objects that a cluster printed have many fields without a content. */
static gboolean
effects_is_empty(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return json_object_size(value) == 0;
    case JSON_ARRAY:
        return json_array_size(value) == 0;
    case JSON_STRING:
        return json_string_length(value) == 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return json_number_value(value) == 0;
    case JSON_NULL:
    case JSON_FALSE:
        return TRUE;
    case JSON_TRUE:
        return FALSE;
    }
    g_assert_not_reached();
}

static void
tell_field(const EffectWalk *walk, const json_t *value)
{
    const FieldEffect *row = walk->row;
    g_autofree char *text = row->value == NULL ? NULL : schema_scalar_text(value);

    if (row->class == FIELD_AS) {
        tell_kind(*walk, row->text, value);
        return;
    }
    if (effects_is_empty(value) || g_ptr_array_find(walk->told, row, NULL) ||
        (row->value != NULL && g_strcmp0(text, row->value) == 0))
        return;
    g_ptr_array_add(walk->told, (void *)row); /* only compared */
    loader_warn(walk->loader, &walk->at, walk->object, NULL, "not modelled: %s %s: %s", row->kind,
                row->path, row->text);
}

/* @path: of the row, from @value on */
static void
descend(EffectWalk walk, const char *path, const json_t *value)
{
    YamlPositions *positions = walk.loader->positions;

    if (*path == '\0') {
        tell_field(&walk, value);
    } else if (g_str_has_prefix(path, "[]")) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            yaml_positions_item(positions, value, i, &walk.at);
            descend(walk, path + strlen("[]"), json_array_get(value, i));
        }
    } else {
        gboolean in_brackets = *path == '[';
        const char *start = path + (in_brackets || *path == '.');
        size_t length = strcspn(start, in_brackets ? "]" : ".[");
        g_autofree char *key = g_strndup(start, length);
        const json_t *member = json_object_get(value, key);
        if (member == NULL)
            return;
        yaml_positions_member(positions, value, key, &walk.at);
        descend(walk, start + length + in_brackets, member);
    }
}

static void
tell_rows(EffectWalk walk, const char *kind, const json_t *object)
{
    for (unsigned i = 0; i < n_field_effects; i++) {
        walk.row = &field_effects[i];
        if ((walk.row->class == FIELD_NOT_MODELLED || walk.row->class == FIELD_AS) &&
            g_str_equal(walk.row->kind, kind))
            descend(walk, walk.row->path, object);
    }
}

static void
tell_kind(EffectWalk walk, const char *kind, const json_t *object)
{
    tell_rows(walk, kind, object);
    tell_rows(walk, METADATA_KIND, json_object_get(object, "metadata"));
}

void
loader_tell_effects(Loader *self, const ManifestInfo *info)
{
    g_autoptr(GPtrArray) told = g_ptr_array_new();
    EffectWalk walk = {.loader = self, .object = info->path, .at = info->at, .told = told};

    tell_kind(walk, json_path_string(info->json, "kind"), info->json);
}

gboolean
loader_knows_kind_effect(const char *kind)
{
    return field_effect_find(KINDS_KIND, kind) != NULL;
}

void
loader_tell_kind_effect(Loader *self, const char *kind, const char *object)
{
    const FieldEffect *row = field_effect_find(KINDS_KIND, kind);

    if (row != NULL && row->class == FIELD_NOT_MODELLED)
        loader_warn(self, &self->reader.at, object, NULL, "not modelled: %s: %s", kind, row->text);
}
