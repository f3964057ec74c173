/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes jansson's values from the events of YAML, with a frame for each open list or mapping.
 * Scalars resolve as in YAML 1.1, as Kubernetes' tools read them. Aliases share their value; how
 * much they stand for is counted, so that a few lines cannot mean more than the memory holds. "<<"
 * merges at the end of its mapping, as the mapping's own keys win. Positions go to the side table
 * as values are closed. */
#include <string.h>

#include "yaml-private.h"

#define PATH_DEPTH_MAX 20 /* levels of a path in a message */
/* The most values that aliases may repeat: a file of a few lines can stand for more than any memory
 * holds. */
#define ALIASED_VALUES_MAX 1000000

typedef struct {
    json_t *value; /* owned */
    uint64_t n_values;
    unsigned height;
} Anchor;

/* Frees everything but the key. */
static void
frame_clear(YamlFrame *frame)
{
    json_decref(frame->container);
    g_free(frame->anchor);
    if (frame->merged != NULL)
        g_ptr_array_unref(frame->merged);
}

static void
anchor_free(void *data)
{
    Anchor *anchor = data;

    json_decref(anchor->value);
    g_free(anchor);
}

static char *
builder_path(const YamlBuilder *self)
{
    GString *path = g_string_new(NULL);

    for (unsigned i = 0; i < MIN(self->n_frames, PATH_DEPTH_MAX); i++) {
        const YamlFrame *frame = &self->frames[i];
        if (!frame->is_mapping)
            g_string_append_printf(path, "[%zu]", json_array_size(frame->container));
        else if (frame->has_key)
            g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", frame->key->str);
    }
    return g_string_free(path, FALSE);
}

static void
builder_add_fault(
    YamlBuilder *self, YamlMark mark, const char *path, const char *message, const char *hint)
{
    YamlPosition where = {yaml_positions_file(self->positions, self->file), mark.line, mark.column};

    self->failed = TRUE;
    if (self->is_words) {
        where.line = where.column = 0;
        path = "";
    }
    file_faults_add(self->faults, &where, path, message, hint);
}

void
yaml_builder_fault(YamlBuilder *self, YamlMark mark, const char *message, const char *hint)
{
    g_autofree char *path = builder_path(self);

    builder_add_fault(self, mark, path, message, hint);
}

void
yaml_builder_syntax_fault(YamlBuilder *self, YamlMark mark, const char *message)
{
    builder_add_fault(self, mark, "", message, NULL);
}

static YamlFrame *
builder_top(YamlBuilder *self)
{
    return self->n_frames > 0 ? &self->frames[self->n_frames - 1] : NULL;
}

/* The size of a value with all its aliases written out. */
typedef struct {
    uint64_t n_values;
    unsigned height;
    gboolean is_alias;
} Extent;

static const Extent single = {1, 0, FALSE};

static gboolean
is_merge_key(const GString *key)
{
    return key->len == 2 && memcmp(key->str, "<<", 2) == 0;
}

static uint64_t
key_bit(const GString *key)
{
    if (key->len == 0)
        return 1;
    unsigned sum = (unsigned char)key->str[0] * 5U + (unsigned char)key->str[key->len - 1] +
                   (unsigned)key->len * 7U;
    return UINT64_C(1) << sum % 64;
}

static gboolean
frame_has_member(const YamlFrame *frame)
{
    return (frame->keys_seen & key_bit(frame->key)) != 0 &&
           json_object_getn(frame->container, frame->key->str, frame->key->len) != NULL;
}

/* Whether @value is a manifest: a document, or an item of a document's list, such as kubectl's. */
static gboolean
is_manifest(const YamlBuilder *self, const json_t *value)
{
    if (!json_is_object(value))
        return FALSE;
    return self->n_frames == 0 || (self->n_frames == 2 && !self->frames[1].is_mapping);
}

/* Adds a finished value to its parent or to the documents. Takes @value. */
static void
builder_place(YamlBuilder *self, json_t *value, YamlMark mark, Extent extent)
{
    YamlFrame *frame = builder_top(self);
    YamlMarks marks = {
        .file = self->file,
        .value = mark,
        .is_alias = extent.is_alias,
        .is_sought = is_manifest(self, value),
    };

    if (self->is_words)
        marks.value = (YamlMark){0, 0};

    if (frame == NULL) {
        yaml_positions_set(self->positions, NULL, NULL, 0, value, &marks);
        if (json_is_null(value) || self->document_fails)
            json_decref(value);
        else
            g_ptr_array_add(self->documents, value);
        return;
    }
    frame->n_values += extent.n_values;
    frame->height = MAX(frame->height, extent.height + 1);
    if (!frame->is_mapping) {
        yaml_positions_set(self->positions, frame->container, NULL,
                           json_array_size(frame->container), value, &marks);
        json_array_append_new(frame->container, value);
        return;
    }

    if (!self->is_words)
        marks.key = frame->key_mark;
    if (is_merge_key(frame->key) && (json_is_object(value) || json_is_array(value))) {
        if (frame->merged == NULL)
            frame->merged = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
        g_ptr_array_add(frame->merged, value);
    } else if (frame_has_member(frame)) {
        yaml_builder_fault(self, frame->key_mark, "the key is here twice", "remove one of the two");
        json_decref(value);
    } else {
        yaml_positions_set(self->positions, frame->container, frame->key->str, 0, value, &marks);
        frame->keys_seen |= key_bit(frame->key);
        json_object_setn_new_nocheck(frame->container, frame->key->str, frame->key->len, value);
    }
    frame->has_key = FALSE;
}

static void
builder_remember(
    YamlBuilder *self, const char *anchor, json_t *value, uint64_t n_values, unsigned height)
{
    if (anchor == NULL)
        return;
    Anchor *known = g_new(Anchor, 1);
    *known = (Anchor){json_incref(value), n_values, height};
    g_hash_table_replace(self->anchors, g_strdup(anchor), known);
}

void
yaml_builder_alias(YamlBuilder *self, const char *name, YamlMark mark)
{
    const Anchor *anchor = g_hash_table_lookup(self->anchors, name);

    if (anchor == NULL) {
        g_autofree char *message = g_strdup_printf("no anchor &%s stands before this", name);
        yaml_builder_fault(self, mark, message, NULL);
        self->document_fails = TRUE;
        builder_place(self, json_null(), mark, single);
        return;
    }
    self->n_aliased += anchor->n_values;
    if (self->n_aliased > ALIASED_VALUES_MAX || self->n_frames + anchor->height > YAML_DEPTH_MAX) {
        if (!self->document_fails)
            yaml_builder_fault(self, mark, "aliases make this document too big", NULL);
        self->document_fails = TRUE;
        builder_place(self, json_null(), mark, single);
        return;
    }
    builder_place(self, json_incref(anchor->value), mark,
                  (Extent){anchor->n_values, anchor->height, TRUE});
}

/* "<<": adds the keys of the merged mappings that @target lacks; the first mapping wins. */
static void
merge_into(json_t *target, const json_t *source)
{
    const char *key;
    json_t *value;
    gsize i;

    json_array_foreach((json_t *)source, i, value) {
        merge_into(target, value);
    }
    json_object_foreach((json_t *)source, key, value) {
        if (json_object_get(target, key) == NULL)
            json_object_set_nocheck(target, key, value);
    }
}

void
yaml_builder_open(YamlBuilder *self, gboolean is_mapping, YamlMark mark, const char *anchor)
{
    YamlFrame *frame = &self->frames[self->n_frames++];
    GString *key = frame->key;

    if (is_mapping && key == NULL)
        key = g_string_new(NULL);
    *frame = (YamlFrame){
        .container = is_mapping ? json_object() : json_array(),
        .is_mapping = is_mapping,
        .key = key,
        .mark = mark,
        .anchor = g_strdup(anchor),
        .n_values = 1,
    };
}

void
yaml_builder_close(YamlBuilder *self)
{
    YamlFrame *frame = builder_top(self);

    for (unsigned i = 0; frame->merged != NULL && i < frame->merged->len; i++)
        merge_into(frame->container, frame->merged->pdata[i]);
    builder_remember(self, frame->anchor, frame->container, frame->n_values, frame->height);
    json_t *container = json_incref(frame->container);
    self->n_frames--;
    builder_place(self, container, frame->mark, (Extent){frame->n_values, frame->height, FALSE});
    frame_clear(frame);
}

/* ---- Scalars ---- */

/* Unquoted words that are no strings: YAML 1.1, as Kubernetes' tools read it. */
static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                    "y",    "Y",    "on",   "On",  "ON",  NULL};
static const char *const falses[] = {"false", "False", "FALSE", "no",  "No",  "NO",
                                     "n",     "N",     "off",   "Off", "OFF", NULL};

/* Returns: (owned): NULL: another word */
static json_t *
word_value(const char *text, gsize length)
{
    if (length > 5 || strchr("~nNtTyYoOfF", text[0]) == NULL)
        return NULL;
    if (g_strv_contains(nulls, text))
        return json_null();
    if (g_strv_contains(trues, text))
        return json_true();
    return g_strv_contains(falses, text) ? json_false() : NULL;
}

/* 12, -3, 0x1f, 0b11, 0o17, 017, 1_000. */
static json_t *
integer_value(const char *text, gsize length)
{
    char few[64];
    g_autofree char *many = length < sizeof few ? NULL : g_malloc(length + 1);
    char *digits = many != NULL ? many : few, *to = digits;
    gboolean negative = *text == '-';
    int base = 10;
    guint64 number;

    for (const char *from = text + (*text == '-' || *text == '+'); *from != '\0'; from++)
        if (*from != '_')
            *to++ = *from;
    *to = '\0';

    const char *start = digits;
    if (start[0] == '0' && start[1] != '\0') {
        base = g_ascii_tolower(start[1]) == 'x'   ? 16
               : g_ascii_tolower(start[1]) == 'b' ? 2
               : start[1] == 'o'                  ? 8
               : g_ascii_isdigit(start[1])        ? 8
                                                  : 10;
        start += base == 10 ? 0 : g_ascii_isdigit(start[1]) ? 1 : 2;
    }
    if (!g_ascii_isxdigit(*start) ||
        !g_ascii_string_to_unsigned(start, (guint)base, 0, (guint64)INT64_MAX + negative, &number,
                                    NULL))
        return NULL;
    return json_integer(negative ? (json_int_t)(0 - number) : (json_int_t)number);
}

static gboolean
looks_like_number(const char *text)
{
    gboolean digit = FALSE;

    for (const char *c = text; *c != '\0'; c++) {
        digit |= g_ascii_isdigit(*c);
        if (!g_ascii_isdigit(*c) && strchr("+-.eE_", *c) == NULL)
            return FALSE;
    }
    return digit;
}

/* Returns: (owned): NULL: the text is a string */
static json_t *
plain_value(YamlBuilder *self, const char *text, gsize length, YamlMark mark)
{
    json_t *value = word_value(text, length);
    char *end;

    if (value != NULL)
        return value;
    if (strchr("+-.0123456789", text[0]) == NULL)
        return NULL;
    value = integer_value(text, length);
    if (value != NULL || g_str_has_prefix(text, "0x"))
        return value;

    const char *rest = text + (*text == '-' || *text == '+');
    if (g_ascii_strcasecmp(rest, ".inf") == 0 || g_ascii_strcasecmp(rest, ".nan") == 0) {
        yaml_builder_fault(self, mark, "JSON has no such number", NULL);
        return json_null();
    }
    if (!looks_like_number(text))
        return NULL;
    double number = g_ascii_strtod(text, &end);
    if (end == text || *end != '\0')
        return NULL;
    value = json_real(number);
    if (value == NULL) { /* infinity */
        yaml_builder_fault(self, mark, "the number is too big", NULL);
        value = json_null();
    }
    return value;
}

void
yaml_builder_scalar(YamlBuilder *self,
                    const char *text,
                    gsize length,
                    gboolean is_plain,
                    YamlMark mark,
                    const char *anchor)
{
    YamlFrame *frame = builder_top(self);

    if (yaml_builder_wants_key(self)) {
        g_string_truncate(frame->key, 0);
        g_string_append_len(frame->key, text, (gssize)length);
        frame->key_mark = mark;
        frame->has_key = TRUE;
        if (anchor != NULL) {
            json_t *key = json_stringn_nocheck(text, length);
            builder_remember(self, anchor, key, 1, 0);
            json_decref(key);
        }
        return;
    }

    json_t *value = is_plain ? plain_value(self, text, length, mark) : NULL;
    if (value == NULL)
        value = json_stringn_nocheck(text, length);
    builder_remember(self, anchor, value, 1, 0);
    builder_place(self, value, mark, single);
}

void
yaml_builder_begin_document(YamlBuilder *self)
{
    g_hash_table_remove_all(self->anchors);
    self->document_fails = FALSE;
}

gboolean
yaml_builder_wants_key(const YamlBuilder *self)
{
    const YamlFrame *frame = self->n_frames > 0 ? &self->frames[self->n_frames - 1] : NULL;

    return frame != NULL && frame->is_mapping && !frame->has_key;
}

gboolean
yaml_builder_is_full(const YamlBuilder *self)
{
    return self->n_frames == YAML_DEPTH_MAX;
}

void
yaml_builder_init(YamlBuilder *self,
                  YamlPositions *positions,
                  const char *file,
                  GPtrArray *faults,
                  GPtrArray *documents)
{
    *self = (YamlBuilder){
        .positions = positions,
        .file = yaml_positions_add_file(positions, file),
        .faults = faults,
        .documents = documents,
        .anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, anchor_free),
    };
}

void
yaml_builder_clear(YamlBuilder *self)
{
    while (self->n_frames > 0)
        frame_clear(&self->frames[--self->n_frames]);
    for (unsigned i = 0; i < YAML_DEPTH_MAX; i++)
        if (self->frames[i].key != NULL)
            g_string_free(self->frames[i].key, TRUE);
    g_hash_table_unref(self->anchors);
}
