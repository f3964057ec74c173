/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz-writes [ROUNDS [SEED]]: recorded writes with spoilt objects, bodies and managers, and
 * patches made at random. An error is fine; a crash is not, nor a changed argument, nor managers
 * that cannot be read again. What is applied twice is applied once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/patch/patch.h"
#include "models/api/schema/strict-fields.h"
#include "run/files/packed.h"
#include "serve/api/apply/managed-fields.h"
#include "serve/api/apply/managers.h"
#include "tests/lib/spoil.h"

typedef struct {
    GPtrArray *rows; /* of json_t */
    GRand *random;
    unsigned n_done, n_refused, n_twice;
} FuzzWritesFuzzer;

static int
fuzz_writes_draw(FuzzWritesFuzzer *self, gsize n)
{
    return n > 0 ? g_rand_int_range(self->random, 0, (gint32)n) : 0;
}

/* Returns: (owned): @value with up to @most places spoilt */
static json_t *
spoil(FuzzWritesFuzzer *self, const json_t *value, int most)
{
    json_t *spoilt = json_deep_copy(value);

    for (int i = fuzz_writes_draw(self, (gsize)most + 1); i > 0 && spoilt != NULL; i--) {
        json_t *more = spoil_json(spoilt, self->random);
        json_decref(spoilt);
        spoilt = more;
    }
    return spoilt;
}

/* Returns: (owned): a JSON patch */
static json_t *
random_operations(FuzzWritesFuzzer *self, const json_t *object, const json_t *value)
{
    static const char *const kinds[] = {"add", "remove", "replace", "move", "copy", "test", "x"};
    json_t *operations = json_array();

    for (int i = fuzz_writes_draw(self, 6); i >= 0; i--) {
        g_autoptr(GString) path = g_string_new(NULL), from = g_string_new(NULL);

        spoil_append_pointer(path, object, self->random);
        spoil_append_pointer(from, object, self->random);
        json_array_append_new(operations,
                              json_pack("{s:s, s:s, s:s, s:O}", "op",
                                        kinds[fuzz_writes_draw(self, G_N_ELEMENTS(kinds))], "path",
                                        path->str, "from", from->str, "value", value));
    }
    return operations;
}

/* Puts directives of strategic merge patches into some objects of @value. */
static void
add_directives(FuzzWritesFuzzer *self, json_t *value)
{
    static const char *const words[] = {"delete", "replace", "merge", "x"};
    json_t *member;
    const char *name;
    gsize i;

    json_array_foreach(value, i, member) {
        add_directives(self, member);
    }
    json_t *members = json_copy(value);
    json_object_foreach(members, name, member) {
        add_directives(self, member);
        g_autofree char *order = g_strconcat("$setElementOrder/", name, NULL);
        g_autofree char *deletion = g_strconcat("$deleteFromPrimitiveList/", name, NULL);
        switch (fuzz_writes_draw(self, 12)) {
        case 0:
            json_object_set(value, order, member);
            break;
        case 1:
            json_object_set(value, deletion, member);
            break;
        case 2:
            json_object_set_new(value, "$retainKeys", json_pack("[s]", name));
            break;
        case 3:
            json_object_set_new(value, "$patch",
                                json_string(words[fuzz_writes_draw(self, G_N_ELEMENTS(words))]));
            break;
        default:
            break;
        }
    }
    json_decref(members);
}

static void
expect(gboolean holds, const char *what, const json_t *row, const json_t *body)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    json_dumpf(row, stderr, JSON_COMPACT);
    fprintf(stderr, "\nbody: ");
    json_dumpf(body, stderr, JSON_COMPACT | JSON_ENCODE_ANY);
    fprintf(stderr, "\n");
    exit(1);
}

/* Checks what a patch made, and what an update records of it. */
static void
check_patched(FuzzWritesFuzzer *self,
              const json_t *row,
              const json_t *live,
              json_t *patched,
              const SchemaType *type)
{
    FieldWriter writer = {.manager = "fuzz", .time = "2026-01-01T00:00:00Z", .has_status = TRUE};

    self->n_refused += patched == NULL;
    self->n_done += patched != NULL;
    /* a request without apiVersion gets no further than its decoder */
    const char *version = json_string_value(json_object_get(patched, "apiVersion"));
    if (version == NULL || *version == 0) {
        json_decref(patched);
        return;
    }
    g_free(strict_type_error(type, patched));
    strict_prune(type, 0, patched);
    json_t *stored = managed_fields_update(live, patched, type, &writer);
    g_autoptr(GPtrArray) managers =
        managers_read(json_object_get(json_object_get(stored, "metadata"), "managedFields"));
    expect(managers != NULL, "the managers are faulty", row, patched);
    json_decref(stored);
    json_decref(patched);
}

static json_t *
apply(const json_t *live, const json_t *body, const SchemaType *type, gboolean force)
{
    FieldWriter writer = {.manager = "fuzz", .time = "2026-01-01T00:00:00Z", .has_status = TRUE};
    g_autoptr(GPtrArray) conflicts = NULL;

    return managed_fields_apply(live, body, type, &writer, force, &conflicts, NULL);
}

/* @spoilt: the stored object is not one that a server would have */
static void
check_apply(FuzzWritesFuzzer *self,
            const json_t *row,
            const json_t *live,
            const json_t *body,
            const SchemaType *type,
            gboolean spoilt)
{
    json_t *once = apply(live, body, type, TRUE), *calm = apply(live, body, type, FALSE);

    self->n_refused += once == NULL;
    self->n_done += once != NULL;
    if (once != NULL && !spoilt) {
        json_t *twice = apply(once, body, type, FALSE);

        expect(twice != NULL && json_equal(once, twice), "twice is not once", row, body);
        json_decref(twice);
        self->n_twice++;
    }
    json_decref(once);
    json_decref(calm);
}

static void
fuzz_round(FuzzWritesFuzzer *self)
{
    const json_t *row = g_ptr_array_index(self->rows, fuzz_writes_draw(self, self->rows->len));
    const json_t *recorded = json_object_get(row, "live"), *after = json_object_get(row, "after");
    gboolean spoilt = fuzz_writes_draw(self, 2) == 0;
    json_t *live = spoil(self, json_is_object(recorded) ? recorded : after, spoilt ? 4 : 0);
    json_t *body =
        spoil(self, fuzz_writes_draw(self, 2) == 0 ? after : json_object_get(row, "body"), 3);
    const SchemaType *type = schema_find(json_string_value(json_object_get(after, "apiVersion")),
                                         json_string_value(json_object_get(after, "kind")));
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    if (fuzz_writes_draw(self, 10) > 0)
        json_object_del(json_object_get(body, "metadata"), "managedFields");
    if (json_is_object(live) && body != NULL) {
        char *text = json_dumps(body, JSON_ENCODE_ANY);
        g_autoptr(GString) bytes = g_string_new(text);
        json_t *operations = random_operations(self, live, body), *before = json_deep_copy(live);

        free(text);
        spoil_text(bytes, self->random);
        strict_fields(type, 0, bytes->str, bytes->len, faults);
        check_apply(self, row, live, body, fuzz_writes_draw(self, 8) == 0 ? NULL : type, spoilt);
        check_patched(self, row, live, json_patch_apply(live, operations, NULL), type);
        check_patched(self, row, live, json_patch_apply(live, body, NULL), type);
        check_patched(self, row, live, merge_patch_apply(live, body, NULL), type);
        add_directives(self, body);
        check_patched(self, row, live, strategic_merge_apply(live, body, type, NULL), type);
        expect(json_equal(live, before), "the stored object changed", row, body);
        json_decref(operations);
        json_decref(before);
    }
    json_decref(live);
    json_decref(body);
}

static gboolean
read_rows(FuzzWritesFuzzer *self)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "recorded-writes.jsonl.xz", NULL);
    g_autofree char *text = NULL;

    if (!packed_get_contents(path, &text, NULL, NULL))
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        json_t *row = json_loads(*line, 0, NULL);

        if (row != NULL)
            g_ptr_array_add(self->rows, row);
    }
    return self->rows->len > 0;
}

int
main(int argc, char **argv)
{
    FuzzWritesFuzzer self = {.rows = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref)};
    long rounds = argc > 1 ? atol(argv[1]) : 300;

    self.random = g_rand_new_with_seed(argc > 2 ? (guint32)atol(argv[2]) : 1);
    if (g_getenv("KVOLSIM_SRCDIR") == NULL || !read_rows(&self)) {
        fprintf(stderr, "KVOLSIM_SRCDIR has no recorded writes\n");
        return 2;
    }
    for (long i = 0; i < rounds; i++)
        fuzz_round(&self);
    printf("%u writes done, %u refused, %u applied twice\n", self.n_done, self.n_refused,
           self.n_twice);
    g_rand_free(self.random);
    g_ptr_array_unref(self.rows);
    return 0;
}
