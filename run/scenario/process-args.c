/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process-args.h"

#include <string.h>

#include "effects.h"
#include "models/api/fields.h"

/* "registry.k8s.io/sig-storage/csi-provisioner:v5.2.0@sha256:..." -> "csi-provisioner" (owned) */
static char *
program_of(const char *path)
{
    g_autofree char *base = g_path_get_basename(path != NULL ? path : "");
    g_auto(GStrv) parts = g_strsplit_set(base, ":@", 2);

    return g_strdup(parts[0] != NULL ? parts[0] : "");
}

/* "csi-provisioner" (the image's name) and "origin-csi-external-provisioner" (builds of vendors)
 * mean "external-provisioner", the project's name. Other provisioners are called external, too, so
 * only a few words may stand before that one. */
static const ProcessClass *
process_named(const char *name)
{
    static const char *const prefixes[] = {"origin-csi-external-", "ose-csi-external-",
                                           "csi-external-", "mirrored-longhornio-csi-", "csi-"};
    const ProcessClass *class = process_class_find(name);

    for (unsigned i = 0; class == NULL && i < G_N_ELEMENTS(prefixes); i++) {
        if (!g_str_has_prefix(name, prefixes[i]))
            continue;
        g_autofree char *external = g_strconcat("external-", name + strlen(prefixes[i]), NULL);
        class = process_class_find(external);
    }
    return class == NULL || class->scope == PER_NODE ? NULL : class;
}

const ProcessClass *
process_of_container(const json_t *container)
{
    const json_t *command = json_array_get(json_object_get(container, "command"), 0);
    const char *members[] = {json_path_string(container, "image"), json_string_value(command),
                             json_path_string(container, "name")};
    const ProcessClass *class = NULL;

    for (unsigned i = 0; class == NULL && i < G_N_ELEMENTS(members); i++) {
        g_autofree char *program = program_of(members[i]);
        class = process_named(program);
    }
    return class;
}

ArgumentKind
process_argument(const ProcessClass *class, const char *argument, char **name, const char **value)
{
    const char *bare = argument + strspn(argument, "-");
    const char *equals = strchr(bare, '=');

    *name = NULL;
    *value = NULL;
    if (bare == argument || *bare == '\0')
        return ARGUMENT_NO_FLAG;
    *name = equals != NULL ? g_strndup(bare, (gsize)(equals - bare)) : g_strdup(bare);
    *value = equals != NULL ? equals + 1 : NULL;
    if (process_class_flag(class, *name) != NULL)
        return ARGUMENT_FLAG;
    const FieldEffect *effect = flag_effect_find(class->name, *name);
    return effect != NULL && effect->class != FIELD_NOT_MODELLED ? ARGUMENT_NO_EFFECT
                                                                 : ARGUMENT_UNKNOWN;
}
