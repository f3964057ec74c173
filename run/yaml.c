/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "yaml.h"

#include "yaml-private.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 100
#define PATH_DEPTH_MAX 20 /* of paths in messages */
/* Values that aliases may repeat, in all: a file of a few lines can stand for more than any memory holds. */
#define ALIASED_VALUES_MAX 1000000

/* ---- Positions ---- */

typedef struct {
    const void *owner; /* the value; or, of a shared one, what it is in */
    uint32_t part;     /* 0; or, of a shared one, which part of it */
    uint32_t file;     /* index in files */
    uint32_t line, column, key_line, key_column;
} Entry;

struct YamlPositions {
    Entry *entries; /* open addressing; owner NULL: free */
    gsize n_entries, mask;
    GPtrArray *files; /* of char * */
};

YamlPositions *
yaml_positions_new(void)
{
    YamlPositions *self = g_new0(YamlPositions, 1);

    self->mask = 255;
    self->entries = g_new0(Entry, self->mask + 1);
    self->files = g_ptr_array_new_with_free_func(g_free);
    return self;
}

void
yaml_positions_free(YamlPositions *self)
{
    if (self == NULL)
        return;
    g_free(self->entries);
    g_ptr_array_unref(self->files);
    g_free(self);
}

uint32_t
yaml_positions_add_file(YamlPositions *self, const char *file)
{
    g_ptr_array_add(self->files, g_strdup(file));
    return self->files->len - 1;
}

static gsize
entry_hash(const void *owner, uint32_t part)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)owner >> 4) + (uint64_t)part * UINT64_C(0x9e3779b97f4a7c15);

    hash *= UINT64_C(0xff51afd7ed558ccd);
    return (gsize)(hash ^ hash >> 32);
}

static Entry *
entry_at(const YamlPositions *self, const void *owner, uint32_t part)
{
    gsize i = entry_hash(owner, part) & self->mask;

    while (self->entries[i].owner != NULL &&
           (self->entries[i].owner != owner || self->entries[i].part != part))
        i = (i + 1) & self->mask;
    return &self->entries[i];
}

static void
positions_grow(YamlPositions *self)
{
    g_autofree Entry *old = self->entries;
    gsize n_old = self->mask + 1;

    self->mask = self->mask * 4 + 3;
    self->entries = g_new0(Entry, self->mask + 1);
    for (gsize i = 0; i < n_old; i++)
        if (old[i].owner != NULL)
            *entry_at(self, old[i].owner, old[i].part) = old[i];
}

static gboolean
is_shared(const json_t *value)
{
    return json_is_boolean(value) || json_is_null(value);
}

static uint32_t
part_of_key(const char *key)
{
    return g_str_hash(key) | 1;
}

static uint32_t
part_of_index(gsize index)
{
    return (uint32_t)index * 2 + 2;
}

static void
positions_set(
    YamlPositions *self, const void *owner, uint32_t part, const Entry *at, gboolean is_alias)
{
    if ((self->n_entries + 1) * 2 > self->mask)
        positions_grow(self);

    Entry *entry = entry_at(self, owner, part);
    if (entry->owner != NULL && is_alias)
        return; /* it stands where its anchor is */
    self->n_entries += entry->owner == NULL;
    *entry = *at;
    entry->owner = owner;
    entry->part = part;
}

void
yaml_positions_set(YamlPositions *self,
                   const json_t *parent,
                   const char *key,
                   gsize index,
                   const json_t *value,
                   const YamlMarks *marks)
{
    Entry entry = {
        .file = marks->file,
        .line = marks->value.line,
        .column = marks->value.column,
        .key_line = marks->key.line,
        .key_column = marks->key.column,
    };

    if (!is_shared(value))
        positions_set(self, value, 0, &entry, marks->is_alias);
    else if (parent != NULL)
        positions_set(self, parent, key != NULL ? part_of_key(key) : part_of_index(index), &entry,
                      FALSE);
}

static const Entry *
positions_get(const YamlPositions *self, const void *owner, uint32_t part)
{
    const Entry *entry = entry_at(self, owner, part);
    return entry->owner != NULL ? entry : NULL;
}

static gboolean
entry_position(const YamlPositions *self, const Entry *entry, gboolean of_key, YamlPosition *found)
{
    if (entry == NULL)
        return FALSE;

    gboolean key = of_key && entry->key_line != 0;
    found->file = self->files->pdata[entry->file];
    found->line = key ? entry->key_line : entry->line;
    found->column = key ? entry->key_column : entry->column;
    return TRUE;
}

gboolean
yaml_positions_find(const YamlPositions *self, const json_t *value, YamlPosition *found)
{
    if (value == NULL || is_shared(value))
        return FALSE;
    return entry_position(self, positions_get(self, value, 0), FALSE, found);
}

static const Entry *
member_entry(const YamlPositions *self, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (value == NULL)
        return NULL;
    return is_shared(value) ? positions_get(self, object, part_of_key(key))
                            : positions_get(self, value, 0);
}

gboolean
yaml_positions_member(const YamlPositions *self,
                      const json_t *object,
                      const char *key,
                      YamlPosition *found)
{
    return entry_position(self, member_entry(self, object, key), FALSE, found) ||
           yaml_positions_find(self, object, found);
}

gboolean
yaml_positions_key(const YamlPositions *self,
                   const json_t *object,
                   const char *key,
                   YamlPosition *found)
{
    return entry_position(self, member_entry(self, object, key), TRUE, found) ||
           yaml_positions_find(self, object, found);
}

gboolean
yaml_positions_item(const YamlPositions *self,
                    const json_t *array,
                    gsize index,
                    YamlPosition *found)
{
    const json_t *value = json_array_get(array, index);

    if (value == NULL)
        return yaml_positions_find(self, array, found);
    const Entry *entry = is_shared(value) ? positions_get(self, array, part_of_index(index))
                                          : positions_get(self, value, 0);
    return entry_position(self, entry, FALSE, found) || yaml_positions_find(self, array, found);
}

gboolean
yaml_positions_path(const YamlPositions *self,
                    const json_t *root,
                    const char *path,
                    YamlPosition *found)
{
    gboolean any = yaml_positions_find(self, root, found);
    const json_t *value = root;

    while (*path != '\0' && value != NULL) {
        if (*path == '[') {
            gsize index = (gsize)g_ascii_strtoull(path + 1, (char **)&path, 10);
            if (*path != ']' || !json_is_array(value) || json_array_get(value, index) == NULL)
                return any;
            path++;
            any |= yaml_positions_item(self, value, index, found);
            value = json_array_get(value, index);
        } else {
            path += *path == '.';
            gsize length = strcspn(path, ".[");
            g_autofree char *key = g_strndup(path, length);
            path += length;
            if (json_object_get(value, key) == NULL)
                return any;
            any |= yaml_positions_member(self, value, key, found);
            value = json_object_get(value, key);
        }
    }
    return any;
}

static void
copy_shared(YamlPositions *self, const json_t *from, const json_t *to, uint32_t part)
{
    const Entry *entry = positions_get(self, from, part);

    if (entry != NULL) {
        Entry same = *entry; /* the table may move */
        positions_set(self, to, part, &same, FALSE);
    }
}

void
yaml_positions_copy(YamlPositions *self, const json_t *value, const json_t *copy)
{
    const char *key;
    json_t *member;
    gsize i;

    copy_shared(self, value, copy, 0);
    json_object_foreach((json_t *)copy, key, member)
    {
        if (is_shared(member))
            copy_shared(self, value, copy, part_of_key(key));
    }
    json_array_foreach((json_t *)copy, i, member)
    {
        if (is_shared(member))
            copy_shared(self, value, copy, part_of_index(i));
    }
}

void
yaml_positions_place(YamlPositions *self,
                     const json_t *parent,
                     const char *key,
                     gsize index,
                     const json_t *value,
                     const YamlPosition *at)
{
    YamlMarks marks = {
        .value = {at->line, at->column}
    };

    if (!is_shared(value))
        return;
    while (marks.file < self->files->len && !g_str_equal(self->files->pdata[marks.file], at->file))
        marks.file++;
    if (marks.file == self->files->len)
        yaml_positions_add_file(self, at->file);
    yaml_positions_set(self, parent, key, index, value, &marks);
}

/* ---- Reading ---- */

/* A list or mapping that is being read. */
typedef struct {
    json_t *container; /* owned */
    gboolean is_mapping, has_key;
    GString *key;
    YamlMark key_mark, mark;
    char *anchor;
    GPtrArray *merged; /* of json_t (borrowed): values of "<<"; NULL: none */
    uint64_t n_values; /* in it, as if aliases were written out */
    unsigned height;
} Frame;

typedef struct {
    json_t *value; /* owned */
    uint64_t n_values;
    unsigned height;
} Anchor;

typedef struct {
    yaml_parser_t parser;
    const char *text;
    gsize length;
    YamlPositions *positions;
    uint32_t file;
    const YamlReport *report;
    GPtrArray *documents;
    GArray *frames; /* of Frame */
    GHashTable *anchors;
    uint64_t n_aliased;
    gboolean failed;         /* anything was reported */
    gboolean is_words;       /* of a command line: without lines and columns */
    gboolean document_fails; /* its aliases do: dropped */
} Reader;

static void
frame_clear(void *data)
{
    Frame *frame = data;

    json_decref(frame->container);
    if (frame->key != NULL)
        g_string_free(frame->key, TRUE);
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

static YamlMark
mark_from(const yaml_mark_t *mark)
{
    return (YamlMark){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

static char *
reader_path(const Reader *self)
{
    GString *path = g_string_new(NULL);

    for (unsigned i = 0; i < MIN(self->frames->len, PATH_DEPTH_MAX); i++) {
        const Frame *frame = &g_array_index(self->frames, Frame, i);
        if (!frame->is_mapping)
            g_string_append_printf(path, "[%zu]", json_array_size(frame->container));
        else if (frame->has_key)
            g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", frame->key->str);
    }
    return g_string_free(path, FALSE);
}

static void
reader_fault(Reader *self, YamlMark mark, const char *message, const char *hint)
{
    g_autofree char *path = reader_path(self);
    YamlPosition where = {self->positions->files->pdata[self->file], mark.line, mark.column};

    self->failed = TRUE;
    self->report->report(self->report->data, &where, path, message, hint);
}

static Frame *
reader_top(Reader *self)
{
    return self->frames->len > 0 ? &g_array_index(self->frames, Frame, self->frames->len - 1)
                                 : NULL;
}

/* How big a value is, as if all aliases in it were written out. */
typedef struct {
    uint64_t n_values;
    unsigned height;
    gboolean is_alias;
} Extent;

static const Extent single = {1, 0, FALSE};

/* Puts a finished value where it belongs. Takes @value. */
static void
reader_place(Reader *self, json_t *value, YamlMark mark, Extent extent)
{
    Frame *frame = reader_top(self);
    YamlMarks marks = {.file = self->file, .value = mark, .is_alias = extent.is_alias};

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
    if (g_str_equal(frame->key->str, "<<") && (json_is_object(value) || json_is_array(value))) {
        if (frame->merged == NULL)
            frame->merged = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
        g_ptr_array_add(frame->merged, value);
    } else if (json_object_get(frame->container, frame->key->str) != NULL) {
        reader_fault(self, frame->key_mark, "the key is here twice", "remove one of the two");
        json_decref(value);
    } else {
        yaml_positions_set(self->positions, frame->container, frame->key->str, 0, value, &marks);
        json_object_set_new_nocheck(frame->container, frame->key->str, value);
    }
    frame->has_key = FALSE;
}

static void
reader_remember(Reader *self, const char *anchor, json_t *value, uint64_t n_values, unsigned height)
{
    if (anchor == NULL)
        return;
    Anchor *known = g_new(Anchor, 1);
    *known = (Anchor){json_incref(value), n_values, height};
    g_hash_table_replace(self->anchors, g_strdup(anchor), known);
}

static void
reader_alias(Reader *self, const yaml_event_t *event)
{
    const Anchor *anchor =
        g_hash_table_lookup(self->anchors, (const char *)event->data.alias.anchor);
    YamlMark mark = mark_from(&event->start_mark);

    if (anchor == NULL) {
        g_autofree char *message = g_strdup_printf("no anchor &%s stands before this",
                                                   (const char *)event->data.alias.anchor);
        reader_fault(self, mark, message, NULL);
        self->document_fails = TRUE;
        reader_place(self, json_null(), mark, single);
        return;
    }
    self->n_aliased += anchor->n_values;
    if (self->n_aliased > ALIASED_VALUES_MAX || self->frames->len + anchor->height > DEPTH_MAX) {
        if (!self->document_fails)
            reader_fault(self, mark, "aliases make this document too big", NULL);
        self->document_fails = TRUE;
        reader_place(self, json_null(), mark, single);
        return;
    }
    reader_place(self, json_incref(anchor->value), mark,
                 (Extent){anchor->n_values, anchor->height, TRUE});
}

/* "<<": keys of the merged mappings that the mapping has not itself; the first of several wins. */
static void
merge_into(json_t *target, const json_t *source)
{
    const char *key;
    json_t *value;
    gsize i;

    json_array_foreach((json_t *)source, i, value)
    {
        merge_into(target, value);
    }
    json_object_foreach((json_t *)source, key, value)
    {
        if (json_object_get(target, key) == NULL)
            json_object_set_nocheck(target, key, value);
    }
}

static void
reader_open(Reader *self, const yaml_event_t *event, gboolean is_mapping)
{
    const yaml_char_t *anchor =
        is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    Frame frame = {
        .container = is_mapping ? json_object() : json_array(),
        .is_mapping = is_mapping,
        .key = is_mapping ? g_string_new(NULL) : NULL,
        .mark = mark_from(&event->start_mark),
        .anchor = g_strdup((const char *)anchor),
        .n_values = 1,
    };

    g_array_append_val(self->frames, frame);
}

static void
reader_close(Reader *self)
{
    Frame frame = *reader_top(self);

    for (unsigned i = 0; frame.merged != NULL && i < frame.merged->len; i++)
        merge_into(frame.container, frame.merged->pdata[i]);
    reader_remember(self, frame.anchor, frame.container, frame.n_values, frame.height);
    json_incref(frame.container);
    g_array_set_size(self->frames, self->frames->len - 1);
    reader_place(self, frame.container, frame.mark, (Extent){frame.n_values, frame.height, FALSE});
}

/* ---- Scalars ---- */

typedef struct {
    const char *text;
    json_type type;
} Word;

/* What is no string though it has no quotes: YAML 1.1, as Kubernetes' tools take it. */
static const Word words[] = {
    {"",      JSON_NULL },
    {"~",     JSON_NULL },
    {"null",  JSON_NULL },
    {"Null",  JSON_NULL },
    {"NULL",  JSON_NULL },
    {"true",  JSON_TRUE },
    {"True",  JSON_TRUE },
    {"TRUE",  JSON_TRUE },
    {"yes",   JSON_TRUE },
    {"Yes",   JSON_TRUE },
    {"YES",   JSON_TRUE },
    {"y",     JSON_TRUE },
    {"Y",     JSON_TRUE },
    {"on",    JSON_TRUE },
    {"On",    JSON_TRUE },
    {"ON",    JSON_TRUE },
    {"false", JSON_FALSE},
    {"False", JSON_FALSE},
    {"FALSE", JSON_FALSE},
    {"no",    JSON_FALSE},
    {"No",    JSON_FALSE},
    {"NO",    JSON_FALSE},
    {"n",     JSON_FALSE},
    {"N",     JSON_FALSE},
    {"off",   JSON_FALSE},
    {"Off",   JSON_FALSE},
    {"OFF",   JSON_FALSE},
};

static json_t *
word_value(const char *text, gsize length)
{
    if (length > 5)
        return NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i].text, text) == 0)
            return words[i].type == JSON_NULL ? json_null()
                                              : json_boolean(words[i].type == JSON_TRUE);
    return NULL;
}

/* 12, -3, 0x1f, 0b11, 0o17, 017, 1_000. */
static json_t *
integer_value(const char *text)
{
    g_autofree char *digits = g_strdup(text);
    gboolean negative = *text == '-';
    int base = 10;
    char *to = digits;
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

/* Returns: NULL: a string */
static json_t *
plain_value(Reader *self, const char *text, gsize length, YamlMark mark)
{
    json_t *value = word_value(text, length);
    char *end;

    if (value != NULL)
        return value;
    if (strchr("+-.0123456789", text[0]) == NULL)
        return NULL;
    value = integer_value(text);
    if (value != NULL || g_str_has_prefix(text, "0x"))
        return value;

    const char *rest = text + (*text == '-' || *text == '+');
    if (g_ascii_strcasecmp(rest, ".inf") == 0 || g_ascii_strcasecmp(rest, ".nan") == 0) {
        reader_fault(self, mark, "JSON has no such number", NULL);
        return json_null();
    }
    if (!looks_like_number(text))
        return NULL;
    double number = g_ascii_strtod(text, &end);
    if (end == text || *end != '\0')
        return NULL;
    value = json_real(number);
    if (value == NULL) { /* an infinity */
        reader_fault(self, mark, "the number is too big", NULL);
        value = json_null();
    }
    return value;
}

static gboolean
tag_is_known(const char *tag)
{
    static const char *const known[] = {
        "!",           YAML_STR_TAG, YAML_INT_TAG, YAML_FLOAT_TAG,     YAML_BOOL_TAG,
        YAML_NULL_TAG, YAML_SEQ_TAG, YAML_MAP_TAG, YAML_TIMESTAMP_TAG,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_equal(known[i], tag))
            return TRUE;
    return FALSE;
}

static void
reader_check_tag(Reader *self, const yaml_event_t *event, const yaml_char_t *tag)
{
    if (tag == NULL || tag_is_known((const char *)tag))
        return;
    g_autofree char *message = g_strdup_printf("unknown tag \"%s\"", (const char *)tag);
    reader_fault(self, mark_from(&event->start_mark), message, NULL);
}

static void
reader_scalar(Reader *self, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    gsize length = event->data.scalar.length;
    YamlMark mark = mark_from(&event->start_mark);
    Frame *frame = reader_top(self);
    const char *tag = (const char *)event->data.scalar.tag;
    gboolean plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                     (tag == NULL || (!g_str_equal(tag, YAML_STR_TAG) && !g_str_equal(tag, "!")));

    reader_check_tag(self, event, event->data.scalar.tag);
    if (memchr(text, '\0', length) != NULL) {
        reader_fault(self, mark, "text with a NUL character", NULL);
        length = strlen(text);
    }
    if (frame != NULL && frame->is_mapping && !frame->has_key) {
        g_string_truncate(frame->key, 0);
        g_string_append_len(frame->key, text, (gssize)length);
        frame->key_mark = mark;
        frame->has_key = TRUE;
        if (event->data.scalar.anchor != NULL) {
            g_autofree char *anchor = g_strdup((const char *)event->data.scalar.anchor);
            json_t *key = json_stringn_nocheck(text, length);
            reader_remember(self, anchor, key, 1, 0);
            json_decref(key);
        }
        return;
    }

    json_t *value = plain ? plain_value(self, text, length, mark) : NULL;
    if (value == NULL)
        value = json_stringn_nocheck(text, length);
    reader_remember(self, (const char *)event->data.scalar.anchor, value, 1, 0);
    reader_place(self, value, mark, single);
}

/* ---- Documents ---- */

/* A key that is a list, a mapping or an alias: JSON has strings only. */
static gboolean
reader_key_is_odd(Reader *self, const yaml_event_t *event)
{
    const Frame *frame = reader_top(self);

    return frame != NULL && frame->is_mapping && !frame->has_key &&
           (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT ||
            event->type == YAML_ALIAS_EVENT);
}

/* Returns: FALSE: stop reading */
static gboolean
reader_take(Reader *self, const yaml_event_t *event)
{
    if (reader_key_is_odd(self, event)) {
        reader_fault(self, mark_from(&event->start_mark), "a key must be a word", NULL);
        return FALSE;
    }
    if ((event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT) &&
        self->frames->len >= DEPTH_MAX) {
        reader_fault(self, mark_from(&event->start_mark), "nested too deeply", NULL);
        return FALSE;
    }

    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
        reader_check_tag(self, event, event->data.mapping_start.tag);
        reader_open(self, event, TRUE);
        break;
    case YAML_SEQUENCE_START_EVENT:
        reader_check_tag(self, event, event->data.sequence_start.tag);
        reader_open(self, event, FALSE);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        reader_close(self);
        break;
    case YAML_SCALAR_EVENT:
        reader_scalar(self, event);
        break;
    case YAML_ALIAS_EVENT:
        reader_alias(self, event);
        break;
    case YAML_DOCUMENT_START_EVENT:
        g_hash_table_remove_all(self->anchors);
        self->document_fails = FALSE;
        break;
    case YAML_STREAM_END_EVENT:
        return FALSE;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return TRUE;
}

/* How often @c stands before the byte that cannot be read; @since: bytes after the last, from 1. */
static unsigned
count_before(const Reader *self, char c, unsigned *since)
{
    unsigned n = 0;

    *since = 1;
    for (gsize i = 0; i < MIN(self->parser.problem_offset, self->length); i++) {
        n += self->text[i] == c;
        *since = self->text[i] == c ? 1 : *since + 1;
    }
    return n;
}

static void
reader_syntax_fault(Reader *self)
{
    const yaml_parser_t *parser = &self->parser;
    g_autofree char *message = NULL;
    YamlPosition where = {self->positions->files->pdata[self->file], 0, 0};

    if (parser->error == YAML_READER_ERROR) {
        message = g_strdup_printf("not UTF-8 text: %s (byte %zu)", parser->problem,
                                  parser->problem_offset);
        where.line = 1 + count_before(self, '\n', &where.column);
    } else {
        message = parser->context != NULL
                      ? g_strdup_printf("%s, %s", parser->problem, parser->context)
                      : g_strdup(parser->problem != NULL ? parser->problem : "not YAML");
        where.line = (unsigned)parser->problem_mark.line + 1;
        where.column = (unsigned)parser->problem_mark.column + 1;
    }
    self->failed = TRUE;
    self->report->report(self->report->data, &where, "", message, NULL);
}

static gboolean
read_all(Reader *self)
{
    gboolean more = TRUE;

    if (!yaml_parser_initialize(&self->parser))
        g_error("out of memory");
    yaml_parser_set_input_string(&self->parser, (const unsigned char *)self->text, self->length);
    self->frames = g_array_new(FALSE, FALSE, sizeof(Frame));
    g_array_set_clear_func(self->frames, frame_clear);
    self->anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, anchor_free);

    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&self->parser, &event)) {
            reader_syntax_fault(self);
            break;
        }
        more = reader_take(self, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&self->parser);
    g_array_unref(self->frames);
    g_hash_table_unref(self->anchors);
    return !self->failed;
}

gboolean
yaml_read(YamlPositions *positions,
          const char *file,
          const char *text,
          gsize length,
          const YamlReport *report,
          GPtrArray *documents)
{
    Reader self = {
        .text = text,
        .length = length,
        .positions = positions,
        .file = yaml_positions_add_file(positions, file),
        .report = report,
        .documents = documents,
    };

    return read_all(&self);
}

gboolean
yaml_read_words(YamlPositions *positions,
                const char *file,
                const char *text,
                gsize length,
                const YamlReport *report,
                GPtrArray *documents)
{
    Reader self = {
        .text = text,
        .length = length,
        .positions = positions,
        .file = yaml_positions_add_file(positions, file),
        .report = report,
        .documents = documents,
        .is_words = TRUE,
    };

    return read_all(&self);
}
