/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The positions of values, by address: jansson's values have no room for them. true, false and null
 * exist once for all, so their place is kept with the parent and a hash of the key. Without faults
 * nobody asks for most positions: they are noted in a list, and enter the table with the first
 * look-up that misses. An address can be used again, and the table always has the latest value
 * there. */
#include "yaml-private.h"

#include <string.h>

typedef struct {
    const void *owner; /* the value, or the parent of a shared value */
    uint32_t part;     /* 0, or the member of the parent */
    uint32_t file;     /* index in files */
    uint32_t line, column, key_line, key_column;
} YamlPositionsEntry;

/* A position that is not in the table yet: it is added at the first look-up that misses. */
typedef struct {
    YamlPositionsEntry entry;
    gboolean is_alias;
} Note;

/* A cluster's dump has a million values, and without faults only the positions of documents are
 * asked for. So other positions are appended to a list. An address can be used again for another
 * value: an entry of the table is always that of the last value. */
struct YamlPositions {
    YamlPositionsEntry *entries; /* open addressing; owner NULL: free */
    gsize n_entries, mask;
    GArray *notes;    /* of Note: positions that are not in the table yet */
    GPtrArray *files; /* of char * */
};

YamlPositions *
yaml_positions_new(void)
{
    YamlPositions *self = g_new0(YamlPositions, 1);

    self->mask = 255;
    self->entries = g_new0(YamlPositionsEntry, self->mask + 1);
    self->notes = g_array_new(FALSE, FALSE, sizeof(Note));
    self->files = g_ptr_array_new_with_free_func(g_free);
    return self;
}

void
yaml_positions_free(YamlPositions *self)
{
    if (self == NULL)
        return;
    g_free(self->entries);
    g_array_unref(self->notes);
    g_ptr_array_unref(self->files);
    g_free(self);
}

uint32_t
yaml_positions_add_file(YamlPositions *self, const char *file)
{
    g_ptr_array_add(self->files, g_strdup(file));
    return self->files->len - 1;
}

const char *
yaml_positions_file(const YamlPositions *self, uint32_t file)
{
    return self->files->pdata[file];
}

/* Values that were read one after another usually lie side by side in memory. Values of one page of
 * memory share a stretch of the table, so that a million look-ups do not miss the cache a million
 * times. Pages are scattered. */
#define PAGE_BITS 12
#define VALUE_BITS 6 /* few values are closer: a text with its key takes about 128 bytes */

static gsize
entry_hash(const void *owner, uint32_t part)
{
    uint64_t address = (uint64_t)(uintptr_t)owner;
    uint64_t page = (address >> PAGE_BITS) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t within = (address & ((UINT64_C(1) << PAGE_BITS) - 1)) >> VALUE_BITS;

    return (gsize)((page >> 32 << (PAGE_BITS - VALUE_BITS)) + within + part);
}

static YamlPositionsEntry *
entry_at(const YamlPositions *self, const void *owner, uint32_t part)
{
    gsize i = entry_hash(owner, part) & self->mask;

    while (self->entries[i].owner != NULL &&
           (self->entries[i].owner != owner || self->entries[i].part != part))
        i = (i + 1) & self->mask;
    return &self->entries[i];
}

static void
positions_resize(YamlPositions *self, gsize mask)
{
    g_autofree YamlPositionsEntry *old = self->entries;
    gsize n_old = self->mask + 1;

    self->mask = mask;
    self->entries = g_new0(YamlPositionsEntry, self->mask + 1);
    for (gsize i = 0; i < n_old; i++)
        if (old[i].owner != NULL)
            *entry_at(self, old[i].owner, old[i].part) = old[i];
}

static gboolean
yaml_positions_is_shared(const json_t *value)
{
    return json_is_boolean(value) || json_is_null(value);
}

static uint32_t
part_of_key(const char *key)
{
    return g_str_hash(key) * 2 + 1;
}

static uint32_t
part_of_index(gsize index)
{
    return (uint32_t)index * 2 + 2;
}

static void
positions_insert(YamlPositions *self, const Note *note)
{
    if ((self->n_entries + 1) * 2 > self->mask)
        positions_resize(self, self->mask * 4 + 3);

    YamlPositionsEntry *entry = entry_at(self, note->entry.owner, note->entry.part);
    if (entry->owner != NULL && note->is_alias)
        return; /* an alias has the position of its anchor */
    self->n_entries += entry->owner == NULL;
    *entry = note->entry;
}

static void
positions_insert_notes(YamlPositions *self)
{
    gsize mask = self->mask;

    while ((self->n_entries + self->notes->len) * 2 > mask)
        mask = mask * 2 + 1;
    if (mask != self->mask)
        positions_resize(self, mask);
    for (guint i = 0; i < self->notes->len; i++)
        positions_insert(self, &g_array_index(self->notes, Note, i));
    g_array_set_size(self->notes, 0);
}

static void
positions_set(YamlPositions *self, const Note *note, gboolean is_sought)
{
    if (is_sought || entry_at(self, note->entry.owner, note->entry.part)->owner != NULL)
        positions_insert(self, note);
    g_array_append_vals(self->notes, note, 1);
}

void
yaml_positions_set(YamlPositions *self,
                   const json_t *parent,
                   const char *key,
                   gsize index,
                   const json_t *value,
                   const YamlMarks *marks)
{
    gboolean is_part = yaml_positions_is_shared(value);
    const Note note = {
        .entry =
            {
                    .owner = is_part ? parent : value,
                    .part = !is_part      ? 0
                        : key != NULL ? part_of_key(key)
                                      : part_of_index(index),
                    .file = marks->file,
                    .line = marks->value.line,
                    .column = marks->value.column,
                    .key_line = marks->key.line,
                    .key_column = marks->key.column,
                    },
        .is_alias = marks->is_alias && !is_part,
    };

    if (note.entry.owner != NULL)
        positions_set(self, &note, marks->is_sought && !note.is_alias);
}

static const YamlPositionsEntry *
positions_get(YamlPositions *self, const void *owner, uint32_t part)
{
    const YamlPositionsEntry *entry = entry_at(self, owner, part);

    if (entry->owner == NULL && self->notes->len > 0) {
        positions_insert_notes(self);
        entry = entry_at(self, owner, part);
    }
    return entry->owner != NULL ? entry : NULL;
}

static gboolean
entry_position(const YamlPositions *self,
               const YamlPositionsEntry *entry,
               gboolean of_key,
               YamlPosition *found)
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
yaml_positions_find(YamlPositions *self, const json_t *value, YamlPosition *found)
{
    if (value == NULL || yaml_positions_is_shared(value))
        return FALSE;
    return entry_position(self, positions_get(self, value, 0), FALSE, found);
}

static const YamlPositionsEntry *
member_entry(YamlPositions *self, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (value == NULL)
        return NULL;
    return yaml_positions_is_shared(value) ? positions_get(self, object, part_of_key(key))
                                           : positions_get(self, value, 0);
}

gboolean
yaml_positions_member(YamlPositions *self,
                      const json_t *object,
                      const char *key,
                      YamlPosition *found)
{
    return entry_position(self, member_entry(self, object, key), FALSE, found) ||
           yaml_positions_find(self, object, found);
}

gboolean
yaml_positions_key(YamlPositions *self, const json_t *object, const char *key, YamlPosition *found)
{
    return entry_position(self, member_entry(self, object, key), TRUE, found) ||
           yaml_positions_find(self, object, found);
}

gboolean
yaml_positions_item(YamlPositions *self, const json_t *array, gsize index, YamlPosition *found)
{
    const json_t *value = json_array_get(array, index);

    if (value == NULL)
        return yaml_positions_find(self, array, found);
    const YamlPositionsEntry *entry = yaml_positions_is_shared(value)
                                          ? positions_get(self, array, part_of_index(index))
                                          : positions_get(self, value, 0);
    return entry_position(self, entry, FALSE, found) || yaml_positions_find(self, array, found);
}

gboolean
yaml_positions_path(YamlPositions *self, const json_t *root, const char *path, YamlPosition *found)
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
    const YamlPositionsEntry *entry = positions_get(self, from, part);

    if (entry != NULL) {
        Note same = {.entry = *entry};
        same.entry.owner = to;
        positions_set(self, &same, FALSE);
    }
}

void
yaml_positions_copy(YamlPositions *self, const json_t *value, const json_t *copy)
{
    const char *key;
    json_t *member;
    gsize i;

    copy_shared(self, value, copy, 0);
    json_object_foreach((json_t *)copy, key, member) {
        if (yaml_positions_is_shared(member))
            copy_shared(self, value, copy, part_of_key(key));
    }
    json_array_foreach((json_t *)copy, i, member) {
        if (yaml_positions_is_shared(member))
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

    if (!yaml_positions_is_shared(value))
        return;
    while (marks.file < self->files->len && !g_str_equal(self->files->pdata[marks.file], at->file))
        marks.file++;
    if (marks.file == self->files->len)
        yaml_positions_add_file(self, at->file);
    yaml_positions_set(self, parent, key, index, value, &marks);
}
