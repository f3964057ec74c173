/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that a real kubectl 1.32 sent as protobuf are the objects that it means, and so are some
 * that were made by hand (options of requests in any group, values of several types, messages
 * within messages). Damaged ones are refused, or are some object, but never end the program. Each
 * field of each kind that discovery serves has a number. Objects that are drawn from the types come
 * back equal from protobuf. */
#include <gio/gio.h>
#include <string.h>

#include "models/api/field.h"
#include "models/api/schema/resources.h"
#include "models/api/schema/schema.h"
#include "serve/api/protobuf/protobuf.h"
#include "sim/random.h"
#include "tests/lib/test.h"

/* Returns: (owned): of {body: base64, object} */
static json_t *
read_cases(void)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "protobuf-bodies.json", NULL);
    json_t *cases = json_load_file(path, 0, NULL);

    assert_true(json_array_size(cases) >= 4);
    return cases;
}

static guchar *
body_of(const json_t *row, gsize *length)
{
    return g_base64_decode(json_string_value(json_object_get(row, "body")), length);
}

TEST(recorded_bodies_are_objects)
{
    json_auto_t *cases = read_cases();
    json_t *row;
    gsize i;

    json_array_foreach(cases, i, row) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = body_of(row, &length);
        json_auto_t *found = protobuf_decode(bytes, length, &error);
        const json_t *wanted = json_object_get(row, "object");

        assert_null(error);
        if (!json_equal(found, wanted))
            fail_msg("%s", json_dumps(found, JSON_SORT_KEYS));
    }
}

static void
decode_spoilt(const guchar *bytes, gsize length)
{
    g_autoptr(GError) error = NULL;
    g_autofree guchar *copy = g_memdup2(bytes, MAX(length, 1)); /* nothing lies behind it */
    json_auto_t *found = protobuf_decode(copy, length, &error);

    assert_true((found == NULL) == (error != NULL));
}

TEST(damaged_bodies_end_nothing)
{
    const SimStream stream = sim_stream_from(1, 0, "test/protobuf");

    json_auto_t *cases = read_cases();
    json_t *row;
    gsize i;

    json_array_foreach(cases, i, row) {
        gsize length;
        g_autofree guchar *bytes = body_of(row, &length);

        for (gsize cut = 0; cut < length; cut++)
            decode_spoilt(bytes, cut);
        for (unsigned round = 0; round < 2000; round++) {
            g_autofree guchar *copy = g_memdup2(bytes, length);
            for (unsigned k = 0; k < 3; k++) {
                uint64_t bits = sim_random_bits(stream, i * 10000 + round, k);
                copy[bits % length] = (guchar)(bits >> 32);
            }
            decode_spoilt(copy, length);
        }
    }
}

TEST(other_bytes_are_refused)
{
    static const char *const wrong[] = {
        "e30=", "azhzAA==", "azhzABL/////fw==", "azhzABc=", "azhzAAoECgJ2MQ==",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = g_base64_decode(wrong[i], &length);
        assert_null(protobuf_decode(bytes, length, &error));
        assert_non_null(error);
    }
}

/* A VolumeSnapshot, a Nothing of apps/v1. */
TEST(kinds_without_numbers_are_not_read)
{
    static const char *const bodies[] = {
        "azhzAAosChpzbmFwc2hvdC5zdG9yYWdlLms4cy5pby92MRIOVm9sdW1lU25hcHNob3QSAA==",
        "azhzAAoSCgdhcHBzL3YxEgdOb3RoaW5nEgA="};

    for (gsize i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = g_base64_decode(bodies[i], &length);
        assert_null(protobuf_decode(bytes, length, &error));
        assert_true(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED));
    }
}

/* @within: what is being looked at: types have fields of their own type */
static void
check_numbers(const SchemaType *type, gboolean is_kind, GHashTable *within)
{
    while (type->element != NULL)
        type = type->element;
    const SchemaField *fields = type->choices != NULL ? type->choices : type->fields;

    if (fields == NULL || !g_hash_table_add(within, (gpointer)type))
        return;
    for (const SchemaField *field = fields; field->name != NULL; field++) {
        if (is_kind && g_strv_contains((const char *[]){"apiVersion", "kind", NULL}, field->name))
            continue;
        if (field->number == 0)
            fail_msg("%s.%s has no number", type->name, field->name);
        for (const SchemaField *other = fields; other < field; other++)
            if (other->number == field->number && other->message == field->message &&
                (other->until == 0 || field->since <= other->until) &&
                (field->until == 0 || other->since <= field->until))
                fail_msg("%s.%s has the number of %s", type->name, field->name, other->name);
        check_numbers(field->type, FALSE, within);
    }
}

TEST(served_kinds_have_numbers)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    const ApiResource *row;

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++) {
        g_autofree char *api_version = *row->group == '\0'
                                           ? g_strdup(row->version)
                                           : g_strconcat(row->group, "/", row->version, NULL);
        const SchemaType *type = schema_find(api_version, row->kind);

        if (type == NULL)
            fail_msg("%s %s has no type", api_version, row->kind);
    }
    for (const SchemaKind *kind = schema_kinds; kind->kind != NULL; kind++)
        if (!kind->type->custom)
            check_numbers(kind->type, TRUE, seen);
}

/* ---- Drawn objects ---- */

typedef struct {
    SimStream stream;
    uint64_t object, n; /* which object; draws so far */
} Draw;

static unsigned
protobuf_draw(Draw *self, unsigned below)
{
    return (unsigned)(sim_random_bits(self->stream, self->object, self->n++) % below);
}

/* Returns: (owned): some value that is not zero, or @may_be_zero */
static json_t *
draw_scalar(Draw *self, const SchemaType *type, gboolean may_be_zero)
{
    static const char *const words[] = {"a", "web-0", "\u00e9t\u00e9", "x/y.z", "0"};
    static const char *const quantities[] = {"1Gi", "100m", "0", "5e3"};
    unsigned n = protobuf_draw(self, 4), n_words = 0;
    char buffer[API_TIME_BUFFER];

    while (type->words != NULL && type->words[n_words] != NULL)
        n_words++;
    switch ((int)type->shape) {
    case SCHEMA_BOOL:
        return json_boolean(!may_be_zero || n > 0);
    case SCHEMA_INT32:
        return json_integer(may_be_zero && n == 0 ? 0 : n % 2 ? 1 + (int)n : -(int)n - 70000);
    case SCHEMA_INT64:
        return json_integer(may_be_zero && n == 0 ? 0 : n % 2 ? 5000000000 : -1);
    case SCHEMA_DOUBLE:
        return json_real(0.5 + n);
    case SCHEMA_TIME:
        return json_string(
            api_time_format((SimTime)(protobuf_draw(self, 1000000)) * SIM_SECOND, FALSE, buffer));
    case SCHEMA_MICRO_TIME:
        return json_string(api_time_format((SimTime)(1 + n) * SIM_SECOND - 1000, TRUE, buffer));
    case SCHEMA_QUANTITY:
        return json_string(quantities[n]);
    case SCHEMA_INT_OR_STRING:
        return n % 2 ? json_integer(n - 1) : json_string("25%");
    case SCHEMA_BYTES:
        return json_string(n % 2 ? "AAH/" : "aGk=");
    case SCHEMA_ANY:
        return json_pack("{s:[i, n, b]}", "x", (int)n, TRUE);
    default:
        if (n_words > 0 && *type->words[n % n_words] != '\0')
            return json_string(type->words[n % n_words]);
        return json_string(may_be_zero && n == 0 ? ""
                                                 : words[protobuf_draw(self, G_N_ELEMENTS(words))]);
    }
}

static json_t *draw_value(Draw *self, const SchemaType *type, gboolean may_be_zero, unsigned depth);

static json_t *
draw_struct(Draw *self, const SchemaType *type, unsigned depth)
{
    json_t *object = json_object();

    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        if (field->number != 0 && depth < 9 &&
            protobuf_draw(self, depth < 3 ? 4 : 8) > 1 - (depth < 3))
            json_object_set_new(
                object, field->name,
                draw_value(self, field->type, field->pointer || field->required, depth + 1));
    return object;
}

/* Empty lists and maps are not told from missing ones, so there are none. */
static json_t *
draw_value(Draw *self, const SchemaType *type, gboolean may_be_zero, unsigned depth)
{
    unsigned n = 1 + protobuf_draw(self, 2);
    json_t *value;

    if (type->choices != NULL) {
        unsigned n_choices = 0;
        while (type->choices[n_choices].name != NULL)
            n_choices++;
        return draw_value(self, type->choices[protobuf_draw(self, n_choices)].type, TRUE, depth);
    }
    switch ((int)type->shape) {
    case SCHEMA_STRUCT:
        return draw_struct(self, type, depth);
    case SCHEMA_LIST:
        value = json_array();
        for (unsigned i = 0; i < n; i++)
            json_array_append_new(value, draw_value(self, type->element, TRUE, depth + 1));
        return value;
    case SCHEMA_MAP:
        value = json_object();
        for (unsigned i = 0; i < n; i++)
            json_object_set_new(value, i == 0 ? "k" : "example.com/l",
                                draw_value(self, type->element, TRUE, depth + 1));
        return value;
    default:
        return draw_scalar(self, type, may_be_zero);
    }
}

TEST(drawn_objects_come_back)
{
    Draw draw = {.stream = sim_stream_from(1, 0, "test/protobuf-objects")};

    for (unsigned round = 0; round < 20; round++)
        for (const SchemaKind *kind = schema_kinds; kind->kind != NULL; kind++) {
            const char *api_version =
                strcmp(kind->api_version, "-") == 0 ? "v1" : kind->api_version;
            g_autoptr(GError) error = NULL;
            gsize length;

            if (!protobuf_has(kind->type))
                continue;
            draw.object++;
            draw.n = 0;
            json_auto_t *object = draw_struct(&draw, kind->type, 0);
            json_object_set_new(object, "apiVersion", json_string(api_version));
            json_object_set_new(object, "kind", json_string(kind->kind));
            g_autoptr(GBytes) bytes = protobuf_encode(object);
            const guint8 *data = g_bytes_get_data(bytes, &length);
            json_auto_t *found = protobuf_decode(data, length, &error);
            if (!json_equal(found, object))
                fail_msg("%s\n%s", json_dumps(object, JSON_SORT_KEYS),
                         json_dumps(found, JSON_SORT_KEYS));
        }
}

/* A body may hold anything in a field that no model reads: such a value is left out. */
TEST(values_of_another_type_are_left_out)
{
    json_auto_t *object = json_pack("{s:s, s:s, s:{s:i, s:[s]}, s:s, s:{s:i, s:s}}", "apiVersion",
                                    "v1", "kind", "ConfigMap", "metadata", "name", 5, "labels", "x",
                                    "immutable", "yes", "data", "a", 1, "b", "c");
    gsize length;

    g_autoptr(GBytes) bytes = protobuf_encode(object);
    const guint8 *data = g_bytes_get_data(bytes, &length);
    json_auto_t *found = protobuf_decode(data, length, NULL);
    json_auto_t *wanted = json_pack("{s:s, s:s, s:{}, s:{s:s, s:s}}", "apiVersion", "v1", "kind",
                                    "ConfigMap", "metadata", "data", "a", "", "b", "c");
    assert_true(json_equal(found, wanted));
}

/* Lists: {metadata, items}. Watches: frames of {type, object}. */
TEST(lists_and_events_have_their_frames)
{
    json_auto_t *item = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Secret",
                                  "metadata", "name", "a"),
                *list = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "SecretList",
                                  "metadata", "resourceVersion", "7");
    g_autoptr(GByteArray) items = g_byte_array_new(), stream = g_byte_array_new();
    static const char list_bytes[] = "k8s\0"
                                     "\x0a\x10\x0a\x02v1\x12\x0aSecretList"
                                     "\x12\x0c\x0a\x03\x12\x01"
                                     "7\x12\x05\x0a\x03\x0a\x01"
                                     "a";
    static const char event_bytes[] = "\0\0\0\x24\x0a\x05"
                                      "ADDED\x12\x1b\x0a\x19"
                                      "k8s\0"
                                      "\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x05\x0a\x03\x0a\x01"
                                      "a";

    protobuf_append_item(items, schema_find("v1", "Secret"), item);
    g_autoptr(GBytes) bytes = protobuf_encode_list(list, items);
    assert_int_equal(g_bytes_get_size(bytes), sizeof list_bytes - 1);
    assert_memory_equal(g_bytes_get_data(bytes, NULL), list_bytes, sizeof list_bytes - 1);
    protobuf_append_event(stream, "ADDED", item);
    assert_int_equal(stream->len, sizeof event_bytes - 1);
    assert_memory_equal(stream->data, event_bytes, stream->len);
}
