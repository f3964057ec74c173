/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "managed-fields.h"

#include <string.h>

/* FieldManagerMaxLength in k8s.io/apimachinery's meta/v1/validation, in bytes */
#define MANAGER_BYTES_MAX 128

char *
manager_of_user_agent(const char *user_agent)
{
    /* prefixFromUserAgent() in k8s.io/apiserver's handlers/create.go */
    g_autofree char *valid = g_utf8_make_valid(user_agent != NULL ? user_agent : "", -1);
    GString *manager = g_string_new(NULL);

    for (const char *p = valid; *p != '\0' && *p != '/'; p = g_utf8_next_char(p)) {
        gunichar character = g_utf8_get_char(p);
        gsize bytes = (gsize)g_unichar_to_utf8(character, NULL);

        if (!g_unichar_isprint(character))
            continue;
        if (manager->len + bytes > MANAGER_BYTES_MAX)
            break;
        g_string_append_unichar(manager, character);
    }
    return g_string_free(manager, FALSE);
}

char *
manager_fault(const char *manager, gboolean is_apply)
{
    if (is_apply && *manager == '\0')
        return g_strdup("fieldManager: Required value: is required for apply patch");
    if (strlen(manager) > MANAGER_BYTES_MAX)
        return g_strdup_printf("fieldManager: Too long: may not be more than %d bytes",
                               MANAGER_BYTES_MAX);
    for (const char *p = manager; *p != '\0'; p = g_utf8_next_char(p)) {
        gunichar character = g_utf8_get_char_validated(p, -1);

        if (character < (gunichar)-2 && g_unichar_isprint(character))
            continue;
        g_autofree char *shown = g_strescape(manager, NULL);
        return g_strdup_printf(
            "fieldManager: Invalid value: \"%s\": invalid character U+%04X (at position %zu)",
            shown, character < (gunichar)-2 ? character : 0xFFFD, (gsize)(p - manager));
    }
    return NULL;
}

/* Managers that are no part of kube-controller-manager, by the name of the component's client. */
static const struct {
    const char *client, *manager;
} managers[] = {
    {"scheduler",               "kube-scheduler"                        },
    {"kubelet",                 "kubelet"                               },
    {"kubelet-heartbeat",       "kubelet"                               },
    {"external-provisioner",    "csi-provisioner"                       },
    {"external-attacher",       "csi-attacher"                          },
    {"external-resizer",        "csi-resizer"                           },
    {"external-snapshotter",    "csi-snapshotter"                       },
    {"snapshot-controller",     "snapshot-controller"                   },
    {"external-health-monitor", "csi-external-health-monitor-controller"},
};

const char *
manager_of_component(const char *client)
{
    for (gsize i = 0; i < G_N_ELEMENTS(managers); i++)
        if (g_str_has_prefix(client, managers[i].client))
            return managers[i].manager;
    return "kube-controller-manager";
}
