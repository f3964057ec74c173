/* SPDX-License-Identifier: GPL-3.0-or-later */
/* patch-file strategic|merge|json OBJECT PATCH: prints the patched object, its keys sorted.
 * patch-file sort OBJECT: prints the object so. Status 1: the patch is refused. */
#include <stdio.h>
#include <string.h>

#include "models/api/patch/patch.h"

static json_t *
patched(const char *type, const json_t *object, const json_t *patch, GError **error)
{
    const char *version = json_string_value(json_object_get(object, "apiVersion"));
    const char *kind = json_string_value(json_object_get(object, "kind"));

    if (strcmp(type, "json") == 0)
        return json_patch_apply(object, patch, error);
    if (strcmp(type, "merge") == 0)
        return merge_patch_apply(object, patch, error);
    return strategic_merge_apply(object, patch, schema_find(version, kind), error);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    json_t *object = argc > 2 ? json_load_file(argv[2], 0, NULL) : NULL;
    json_t *patch = argc > 3 ? json_load_file(argv[3], 0, NULL) : NULL, *result;

    if (object == NULL || (patch == NULL && strcmp(argv[1], "sort") != 0)) {
        fprintf(stderr, "usage: patch-file strategic|merge|json OBJECT PATCH\n");
        return 2;
    }
    result = patch == NULL ? json_incref(object) : patched(argv[1], object, patch, &error);
    json_decref(object);
    json_decref(patch);
    if (result == NULL) {
        printf("%s\n", error->message);
        return 1;
    }
    patch_drop_nulls(result);
    json_dumpf(result, stdout, JSON_SORT_KEYS | JSON_INDENT(1));
    printf("\n");
    json_decref(result);
    return 0;
}
