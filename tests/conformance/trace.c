/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/trace.h"

#include <stdlib.h>
#include <string.h>

#include "models/api/fields.h"
#include "sim/strings.h"
#include "tests/conformance/compare.h"

static char *trace_set_text(const json_t *value);

static void
append_set(GString *text, const json_t *list)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        g_ptr_array_add(items, trace_set_text(item));
    g_ptr_array_sort(items, strings_compare);
    for (unsigned k = 0; k < items->len; k++)
        g_string_append_printf(text, "%s%s", k == 0 ? "" : ",", (const char *)items->pdata[k]);
}

static void
append_members(GString *text, const json_t *object)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
        g_ptr_array_add(names, (void *)name);
    g_ptr_array_sort(names, strings_compare);
    for (unsigned i = 0; i < names->len; i++) {
        g_autofree char *member = trace_set_text(json_object_get(object, names->pdata[i]));
        g_string_append_printf(text, "%s%s:%s", i == 0 ? "" : ",", (const char *)names->pdata[i],
                               member);
    }
}

/* (owned): the same text for the same value, lists being sets. */
static char *
trace_set_text(const json_t *value)
{
    g_autoptr(GString) text = g_string_new(json_is_object(value) ? "{" : "[");

    if (!json_is_object(value) && !json_is_array(value)) {
        char *plain = case_json_text(value);
        g_string_assign(text, plain);
        free(plain);
    } else if (json_is_object(value)) {
        append_members(text, value);
        g_string_append_c(text, '}');
    } else {
        append_set(text, value);
        g_string_append_c(text, ']');
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
expect_answer(Case *self, size_t number, const json_t *step, const json_t *answer, gboolean failed)
{
    const json_t *expected = json_object_get(step, "returns"),
                 *error = json_object_get(step, "error");
    const char *call = json_path_string(step, "call");
    g_autofree char *found_text = trace_set_text(answer), *text = trace_set_text(expected);

    if (error != NULL && json_is_true(error) != failed)
        case_fail(self, "step %zu, %s: %s", number, call, failed ? "failed" : "did not fail");
    if (g_strcmp0(json_string_value(expected), "<elapsed>") == 0 && json_is_integer(answer) &&
        json_integer_value(answer) >= 0)
        return;
    if (expected != NULL && strcmp(text, found_text) != 0)
        case_fail(self, "step %zu, %s: expected %s, found %s", number, call, text, found_text);
}

void
case_replay(Case *self, const TraceCall *calls, void *data)
{
    const json_t *step;
    size_t i;

    json_array_foreach(case_get(self, "steps"), i, step) {
        const char *name = json_path_string(step, "call");
        const TraceCall *call = calls;
        gboolean failed = FALSE;
        while (call->call != NULL && g_strcmp0(call->call, name) != 0)
            call++;
        if (call->call == NULL) {
            case_fail(self, "no such call: %s", name == NULL ? "(none)" : name);
            return;
        }
        json_t *answer = call->run(data, json_object_get(step, "args"), &failed);
        expect_answer(self, i + 1, step, answer, failed);
        json_decref(answer);
    }
}
