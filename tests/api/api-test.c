/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"

#include "models/api/checks/checks.h"

static void
api_test_report(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    ApiTest *self = parser->data;

    assert_non_null(where);
    g_string_append(self->faults, message);
    if (hint != NULL)
        g_string_append_printf(self->faults, " [%s]", hint);
    g_string_append_c(self->faults, '\n');
}

ApiTest *
api_test_new(void)
{
    ApiTest *self = g_new0(ApiTest, 1);

    self->objects = objects_new(1);
    self->faults = g_string_new(NULL);
    self->parser = (ApiParser){
        .objects = self->objects,
        .report = api_test_report,
        .data = self,
        .path = g_string_new(NULL),
    };
    return self;
}

void
api_test_free(ApiTest *self)
{
    if (self == NULL)
        return;
    assert_int_equal(self->parser.path->len, 0); /* every api_parser_enter() has its leave */
    g_string_free(self->parser.path, TRUE);
    g_string_free(self->faults, TRUE);
    objects_free(self->objects);
    g_free(self);
}

json_t *
api_test_json(const char *text)
{
    g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
    json_error_t error;
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, &error);

    if (json == NULL)
        fail_msg("%s: %s", error.text, quoted);
    return json;
}

json_t *
api_test_load(const char *file)
{
    const char *srcdir = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *path =
        g_build_filename(srcdir == NULL ? "." : srcdir, "tests", "api", "data", file, NULL);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);

    if (json == NULL)
        fail_msg("%s: %s", path, error.text);
    return json;
}

Object *
api_test_read_json(ApiTest *self, const json_t *manifest)
{
    api_check_object(&self->parser, manifest, NULL);
    Object *object = api_parser_object(&self->parser, manifest);
    g_clear_pointer(&self->parser.told, g_hash_table_unref);
    return object;
}

Object *
api_test_read(ApiTest *self, const char *text)
{
    json_t *manifest = api_test_json(text);
    Object *object = api_test_read_json(self, manifest);

    json_decref(manifest);
    return object;
}

void
api_test_read_field(ApiTest *self, const FieldType *type, const char *text, void *field)
{
    json_t *value = api_test_json(text);

    field_type_parse(type, &self->parser, value, field);
    json_decref(value);
}

StringMap *
api_test_labels(ApiTest *self, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; words[i] != NULL; i++) {
        char *equals = strchr(words[i], '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        StringPair pair = {api_parser_intern(&self->parser, words[i]),
                           api_parser_intern(&self->parser, equals + 1)};
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}
