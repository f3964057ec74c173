/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shrink.h"

#include <string.h>

typedef struct {
    GPtrArray *lines; /* of char * */
    StillFails still_fails;
    void *data;
    unsigned n_left; /* tries */
    gboolean has_changed;
} Shrinker;

typedef struct {
    unsigned from, to;
} ShrinkBlock;

static char *
shrink_text_of(const GPtrArray *lines)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < lines->len; i++)
        g_string_append_printf(text, "%s\n", (const char *)lines->pdata[i]);
    return g_string_free(text, FALSE);
}

/* A list's items stand deeper than the key above them, also where YAML indents both alike; a
 * document is deeper than its "---". */
static unsigned
depth_of(const char *line)
{
    unsigned indent = (unsigned)strspn(line, " ");

    if (g_str_has_prefix(line, "---") || line[0] == '#')
        return 0;
    return 1 + 2 * indent + (g_str_has_prefix(line + indent, "- ") ? 1 : 0);
}

static ShrinkBlock
block_at(const GPtrArray *lines, unsigned from)
{
    unsigned depth = depth_of(lines->pdata[from]), to = from + 1;

    while (to < lines->len && depth_of(lines->pdata[to]) > depth)
        to++;
    return (ShrinkBlock){from, to};
}

static gboolean
is_kept(const char *line)
{
    return g_str_has_suffix(line, "# end");
}

static gboolean
has_kept(const GPtrArray *lines, ShrinkBlock block)
{
    for (unsigned i = block.from; i < block.to; i++)
        if (is_kept(lines->pdata[i]))
            return TRUE;
    return FALSE;
}

/* Keeps @lines (taken) if the failure is still there. */
static gboolean
keep_if_failing(Shrinker *self, GPtrArray *lines)
{
    g_autofree char *text = shrink_text_of(lines);

    if (self->n_left == 0 || (self->n_left--, !self->still_fails(self->data, text))) {
        g_ptr_array_unref(lines);
        return FALSE;
    }
    g_ptr_array_unref(self->lines);
    self->lines = lines;
    self->has_changed = TRUE;
    return TRUE;
}

static GPtrArray *
lines_new(void)
{
    return g_ptr_array_new_with_free_func(g_free);
}

static gboolean
drop(Shrinker *self, const GArray *blocks, unsigned first, unsigned n)
{
    GPtrArray *lines = lines_new();

    for (unsigned i = 0; i < self->lines->len; i++) {
        gboolean is_dropped = FALSE;
        for (unsigned k = first; k < MIN(first + n, blocks->len); k++) {
            const ShrinkBlock *block = &g_array_index(blocks, ShrinkBlock, k);
            is_dropped |= i >= block->from && i < block->to;
        }
        if (!is_dropped)
            g_ptr_array_add(lines, g_strdup(self->lines->pdata[i]));
    }
    return keep_if_failing(self, lines);
}

static GArray *
blocks_of(const GPtrArray *lines, unsigned depth)
{
    GArray *blocks = g_array_new(FALSE, FALSE, sizeof(ShrinkBlock));

    for (unsigned i = 0; i < lines->len; i++)
        if (depth_of(lines->pdata[i]) == depth && ((const char *)lines->pdata[i])[0] != '#') {
            ShrinkBlock block = block_at(lines, i);
            if (!has_kept(lines, block))
                g_array_append_val(blocks, block);
        }
    return blocks;
}

/* Halves of the blocks of a depth, quarters, ... single ones. */
static void
drop_blocks(Shrinker *self, unsigned depth)
{
    g_autoptr(GArray) blocks = blocks_of(self->lines, depth);

    for (unsigned n = MAX(blocks->len, 1); n > 0 && blocks->len > 0; n /= 2)
        for (unsigned first = 0; first < blocks->len && self->n_left > 0;) {
            if (!drop(self, blocks, first, n)) {
                first += n;
                continue;
            }
            g_array_unref(blocks);
            blocks = blocks_of(self->lines, depth);
        }
}

static gboolean
replace_line(Shrinker *self, unsigned number, const char *line)
{
    GPtrArray *lines = lines_new();

    for (unsigned i = 0; i < self->lines->len; i++)
        g_ptr_array_add(lines, g_strdup(i == number ? line : self->lines->pdata[i]));
    return keep_if_failing(self, lines);
}

/* The end of the element of a flow mapping or sequence that begins behind a comma. */
static const char *
end_of_element(const char *at)
{
    int depth = 0;
    gboolean in_quotes = FALSE;

    for (; *at != '\0'; at++) {
        in_quotes ^= *at == '"';
        if (in_quotes)
            continue;
        if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
            break;
        depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0;
    }
    return at;
}

static void
drop_elements(Shrinker *self, unsigned number)
{
    for (unsigned at = 0; at < strlen(self->lines->pdata[number]) && self->n_left > 0; at++) {
        const char *line = self->lines->pdata[number];
        if (line[at] != ',')
            continue;
        const char *end = end_of_element(line + at + 1);
        g_autofree char *shorter = g_strdup_printf("%.*s%s", (int)at, line, end);
        if (replace_line(self, number, shorter))
            at--;
    }
}

/* "count: 8" becomes "count: 1", or else "count: 4". */
static void
lower_numbers(Shrinker *self, unsigned number)
{
    static const struct {
        const char *key;
        guint64 least;
    } keys[] = {
        {"count: ",       1},
        {"replicas: ",    1},
        {"at: ",          0},
        {"completions: ", 1},
        {"parallelism: ", 1},
        {"for: ",         1}
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        const char *line = self->lines->pdata[number], *found = strstr(line, keys[i].key);
        char *end;
        if (found == NULL)
            continue;
        int before = (int)(found - line) + (int)strlen(keys[i].key);
        guint64 value = g_ascii_strtoull(line + before, &end, 10), lower = keys[i].least;
        for (; lower < value && self->n_left > 0; lower = lower + (value - lower + 1) / 2) {
            g_autofree char *changed =
                g_strdup_printf("%.*s%" G_GUINT64_FORMAT "%s", before, line, lower, end);
            if (replace_line(self, number, changed))
                break;
        }
    }
}

char *
shrink(const char *text, StillFails still_fails, void *data, unsigned tries_max)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Shrinker self = {
        .lines = lines_new(), .still_fails = still_fails, .data = data, .n_left = tries_max};

    for (unsigned i = 0; lines[i] != NULL; i++)
        if (lines[i][0] != '\0')
            g_ptr_array_add(self.lines, g_strdup(lines[i]));
    do {
        self.has_changed = FALSE;
        for (unsigned depth = 0; depth <= 1 + 2 * 16 + 1; depth++)
            drop_blocks(&self, depth);
        for (unsigned i = 0; i < self.lines->len; i++) {
            if (is_kept(self.lines->pdata[i]))
                continue;
            lower_numbers(&self, i);
            drop_elements(&self, i);
        }
    } while (self.has_changed && self.n_left > 0);
    char *result = shrink_text_of(self.lines);
    g_ptr_array_unref(self.lines);
    return result;
}
