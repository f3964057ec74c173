/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of Kubernetes' types, and what a decoder says with it: unknown and duplicate fields,
 * values of another type. ' stands for " in JSON. */
#include <string.h>

#include "models/api/object.h"
#include "models/api/schema/json-syntax.h"
#include "models/api/schema/strict-fields.h"
#include "tests/lib/test.h"

/* NAME|APIVERSION|KIND|BODY|FAULTS: with ", " between; or the message. clang-format 14 dies of
 * structs with such strings. */
/* clang-format off: one line per case */
static const char *const cases[] = {
    "nothing|v1|Pod|{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}, 'spec': "
    "{'containers': [{'name': 'c'}]}}|",
    "unknown at the top|v1|Pod|{'kind': 'Pod', 'specs': {'a': {'b': 1}}}|unknown field \"specs\"",
    "unknown in a list|v1|Pod|{'spec': {'volumes': [{'name': 'a'}, {'nmae': 'b', 'emptyDir': {'x': "
    "1}}]}}|unknown field \"spec.volumes[1].nmae\", unknown field \"spec.volumes[1].emptyDir.x\"",
    "names of fields have a case|v1|Pod|{'Spec': {}, 'spec': {'nodename': 'x'}}|unknown field "
    "\"Spec\", unknown field \"spec.nodename\"",
    "labels are free|v1|ConfigMap|{'metadata': {'labels': {'anything': 'x'}}, 'data': {'any': "
    "'x'}}|",
    "duplicate|apps/v1|Deployment|{'spec': {'replicas': 1, 'paused': true, 'replicas': "
    "2}}|duplicate field \"spec.replicas\"",
    "duplicate thrice is told once|apps/v1|Deployment|{'spec': {'replicas': 1, 'replicas': 2, "
    "'replicas': 3}}|duplicate field \"spec.replicas\"",
    "duplicate key of a map|v1|ConfigMap|{'data': {'a': 'x', 'a': 'y'}}|duplicate field \"data.a\"",
    "in order|v1|Pod|{'spec': {'x': 1, 'nodeName': 'a', 'nodeName': 'b', 'y': 2}, 'spec': "
    "{}}|unknown field \"spec.x\", duplicate field \"spec.nodeName\", unknown field \"spec.y\", "
    "duplicate field \"spec\"",
    "nothing below an unknown field|v1|Pod|{'x': {'a': 1, 'a': 2}}|unknown field \"x\"",
    "escapes|v1|Pod|{'sp\\u0065c': {'a\\'b': 1}}|unknown field \"spec.a\"b\"",
    "no JSON|v1|Pod|{'x': 1, 'y'|unknown field \"x\", unknown field \"y\"",
    "of a kind without a type|example.com/v1|Thing|{'x': 1, 'y': {'z': 1, 'z': 2}}|duplicate field "
    "\"y.z\"",
};

static const char *const misfits[] = {
    "all fits|apps/v1|Deployment|{'spec': {'replicas': 1, 'template': {'spec': {'containers': "
    "[{'name': 'a', 'resources': {'limits': {'cpu': 1, 'memory': '1Gi'}}}]}}}}|",
    "null fits everywhere|apps/v1|Deployment|{'spec': {'replicas': null}}|",
    "string for a number|apps/v1|Deployment|{'spec': {'replicas': '1'}}|json: cannot unmarshal "
    "string into Go struct field DeploymentSpec.spec.replicas of type int32",
    "too large|apps/v1|Deployment|{'spec': {'replicas': 4294967296}}|json: cannot unmarshal number "
    "4294967296 into Go struct field DeploymentSpec.spec.replicas of type int32",
    "number for a string in a list|v1|Pod|{'spec': {'containers': [{'env': [{'name': 'a', 'value': "
    "1}]}]}}|json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value "
    "of type string",
    "object for a list|v1|Pod|{'spec': {'containers': {}}}|json: cannot unmarshal object into Go "
    "struct field PodSpec.spec.containers of type []v1.Container",
    "list for a struct|v1|Pod|{'spec': []}|json: cannot unmarshal array into Go struct field "
    "Pod.spec of type v1.PodSpec",
    "bool in labels|v1|Pod|{'metadata': {'labels': {'a': true}}}|json: cannot unmarshal bool into "
    "Go struct field ObjectMeta.metadata.labels.a of type string",
    "no object|v1|Pod|[]|json: cannot unmarshal array into Go value of type v1.Pod",
};
/* clang-format on */

enum { NAME, API_VERSION, KIND, BODY, SAID };

static char *
json_text(const char *text)
{
    char *json = g_strdup(text);

    for (char *p = json; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    return json;
}

TEST(faults_of_bodies)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) row = g_strsplit(cases[i], "|", 5);
        g_autofree char *body = json_text(row[BODY]);
        g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

        strict_fields(schema_find(row[API_VERSION], row[KIND]), 32, body, strlen(body), faults);
        g_autofree char *message = strict_error(faults);
        g_autofree char *wanted = g_strconcat("strict decoding error: ", row[SAID], NULL);
        if (strcmp(message, wanted) != 0)
            fail_msg("%s: %s", row[NAME], message);
    }
}

/* The object that a body makes has the same unknown fields, and none after pruning. */
TEST(unknown_fields_are_pruned)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) row = g_strsplit(cases[i], "|", 5);
        g_autofree char *body = json_text(row[BODY]);
        g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
        const SchemaType *type = schema_find(row[API_VERSION], row[KIND]);
        json_t *object = json_loads(body, 0, NULL);

        if (object == NULL)
            continue;
        strict_prune(type, 32, object);
        strict_unknown_fields(type, 32, object, faults);
        assert_int_equal(faults->len, 0);
        json_decref(object);
    }
}

TEST(values_of_another_type)
{
    for (gsize i = 0; i < G_N_ELEMENTS(misfits); i++) {
        g_auto(GStrv) row = g_strsplit(misfits[i], "|", 5);
        g_autofree char *body = json_text(row[BODY]);
        json_t *object = json_loads(body, 0, NULL);
        g_autofree char *message =
            strict_type_error(schema_find(row[API_VERSION], row[KIND]), object);

        if (strcmp(message != NULL ? message : "", row[SAID]) != 0)
            fail_msg("%s: %s", row[NAME], message);
        json_decref(object);
    }
}

TEST(nulls_are_as_good_as_nothing)
{
    json_auto_t *map =
        json_loads("{\"data\": {\"a\": null, \"b\": \"c\"}, \"immutable\": null}", 0, NULL);

    strict_drop_nulls(schema_find("v1", "ConfigMap"), map);
    json_auto_t *expected = json_loads("{\"data\": {\"a\": \"\", \"b\": \"c\"}}", 0, NULL);
    assert_true(json_equal(map, expected));
}

/* Of a custom resource, where the definition preserves unknown fields. */
TEST(nulls_go_from_maps_of_anything)
{
    static const SchemaType any = {.shape = SCHEMA_MAP, .custom = TRUE};
    json_auto_t *map = json_loads("{\"a\": null, \"b\": {\"c\": null}}", 0, NULL);

    strict_drop_nulls(&any, map);
    json_auto_t *expected = json_loads("{\"b\": {}}", 0, NULL);
    assert_true(json_equal(map, expected));
}

/* Go's encoding/base64: where it says "illegal base64 data at input byte". */
TEST(base64_has_its_place)
{
    static const struct {
        const char *text;
        long fault;
    } rows[] = {
        {"",            -1},
        {"YQ==",        -1},
        {"YWI=",        -1},
        {"YWJj\nYQ==",  -1},
        {"not base64!", 3 },
        {"abc",         0 },
        {"YWJjab",      4 },
        {"=",           0 },
        {"Y===",        1 },
        {"YQ=a",        3 },
        {"YQ==YQ==",    4 },
        {"YW=",         3 },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strict_base64_fault(rows[i].text) != rows[i].fault)
            fail_msg("%s: %ld", rows[i].text, strict_base64_fault(rows[i].text));
}

/* Each kind that a model knows has a type, and the type has each field that the model reads. */
TEST(modelled_kinds_have_types)
{
    for (ObjectKind kind = 0; kind < KIND_OTHER; kind++) {
        const KindClass *class = kind_class(kind);
        const SchemaType *type = schema_find(class->api_version, class->kind);

        if (kind == KIND_LOCAL_VOLUME) /* of no real driver */
            continue;
        if (type == NULL)
            fail_msg("%s %s has no type", class->api_version, class->kind);
        for (const Field *field = class->fields; field->path != NULL; field++) {
            const SchemaType *at = type;
            g_auto(GStrv) names = g_strsplit(field->path, ".", -1);

            if (field->flags & FIELD_INTERNAL)
                continue;
            for (char **name = names; *name != NULL && at != NULL; name++) {
                (*name)[strcspn(*name, "[")] = '\0';
                while (at->shape == SCHEMA_LIST)
                    at = at->element;
                if (at->shape == SCHEMA_ANY)
                    break;
                at = schema_member(at, *name);
            }
            if (at == NULL)
                fail_msg("%s has no %s", class->kind, field->path);
        }
    }
}

static const SchemaType *
bare(const SchemaType *type)
{
    while (type->element != NULL)
        type = type->element;
    return type;
}

/* Lists merge by fields that their items have, and fields stand in one order. */
TEST(the_table_holds_together)
{
    unsigned n = 0;

    for (const SchemaType *type; (type = schema_struct(n)) != NULL; n++)
        for (const SchemaField *field = type->fields; field->name != NULL; field++) {
            const SchemaType *items = field->type->shape == SCHEMA_LIST ? field->type : NULL;

            if (bare(field->type)->shape == SCHEMA_STRUCT)
                assert_non_null(bare(field->type)->fields);
            if (items == NULL)
                continue;
            for (unsigned i = 0; items->keys != NULL && items->keys[i] != NULL; i++)
                assert_non_null(schema_field(items->element, items->keys[i]));
            if (items->patch_merge_key != NULL)
                assert_non_null(schema_field(items->element, items->patch_merge_key));
            if (items->merge == SCHEMA_SET)
                assert_int_not_equal(items->element->shape, SCHEMA_STRUCT);
        }
    assert_true(n > 300);
}

/* As encoding/json of Go 1.23 words them. */
TEST(syntax_faults_are_in_gos_words)
{
    static const char *const rows[][2] = {
        {"{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\\n\"], \"b\": {}}", NULL                                                              },
        {" 1 ",                                                          NULL                                                              },
        {"",                                                             "unexpected end of JSON input"                                    },
        {"{\"spec\"",                                                    "unexpected end of JSON input"                                    },
        {"{\"spec\": ",                                                  "unexpected end of JSON input"                                    },
        {"[1, 2",                                                        "unexpected end of JSON input"                                    },
        {"\"open",                                                       "unexpected end of JSON input"                                    },
        {"garbage",                                                      "invalid character 'g' looking for beginning of value"            },
        {"'a'",                                                          "invalid character '\\'' looking for beginning of value"          },
        {"{a: 1}",                                                       "invalid character 'a' looking for beginning of object key string"},
        {"{\"a\": 1,}",                                                  "invalid character '}' looking for beginning of object key string"},
        {"{\"a\" 1}",                                                    "invalid character '1' after object key"                          },
        {"{\"a\": 1 \"b\"}",                                             "invalid character '\"' after object key:value pair"              },
        {"{\"a\": 01}",                                                  "invalid character '1' after object key:value pair"               },
        {"[1 2]",                                                        "invalid character '2' after array element"                       },
        {"[1,]",                                                         "invalid character ']' looking for beginning of value"            },
        {"{} {}",                                                        "invalid character '{' after top-level value"                     },
        {"trve",                                                         "invalid character 'v' in literal true (expecting 'u')"           },
        {"-x",                                                           "invalid character 'x' in numeric literal"                        },
        {"1.x",                                                          "invalid character 'x' after decimal point in numeric literal"    },
        {"1ex",                                                          "invalid character 'x' in exponent of numeric literal"            },
        {"\"\\x\"",                                                      "invalid character 'x' in string escape code"                     },
        {"\"\\u12g4\"",                                                  "invalid character 'g' in \\u hexadecimal character escape"       },
        {"\"a\nb\"",                                                     "invalid character '\\n' in string literal"                       },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *fault = json_syntax_fault(rows[i][0], strlen(rows[i][0]));
        if (rows[i][1] == NULL)
            assert_null(fault);
        else
            assert_string_equal(fault, rows[i][1]);
    }
}
