/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/known.h"

void
case_expect_known(Case *self, const char *path, const char *const *names)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)case_get(self, path), name, value) /* only read */
        if (!g_strv_contains(names, name))
            case_fail(self, "%s.%s is unknown", path, name);
}

void
case_expect_flag(Case *self, const char *path, gboolean found)
{
    const json_t *expected = case_get(self, path);

    if (!json_is_boolean(expected))
        case_fail(self, "%s is not in the case", path);
    else if (json_is_true(expected) != !!found)
        case_fail(self, "%s: expected %s", path, json_is_true(expected) ? "true" : "false");
}
