/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "question.h"

#include <string.h>

/* The remedy as a command: the words in braces of a cause's row are filled in. */

/* Where a process is found; {process}: its name, or the name of the sidecar's image; {instance}:
 * the rest, such as a kubelet's node. */
static const struct {
    const char *process; /* how its name begins */
    const char *command;
} processes[] = {
    {"kubelet",   "ssh {instance} sudo systemctl restart kubelet"                              },
    {"kube-",     "kubectl get pods -n kube-system -l component={process} -o yaml"             },
    {"external-", "kubectl get deployments,statefulsets,daemonsets -A -o wide | grep {process}"},
    {"",          "kubectl get deployments,daemonsets -A -o wide | grep {process}"             },
};

static char *
find_process(const char *name)
{
    const char *slash = strchr(name, '/');
    g_autofree char *process =
        slash == NULL ? g_strdup(name) : g_strndup(name, (gsize)(slash - name));
    unsigned row = 0;

    while (!g_str_has_prefix(process, processes[row].process))
        row++;
    g_autoptr(GString) text = g_string_new(processes[row].command);
    g_autoptr(GString) image = g_string_new(process);
    g_string_replace(image, "external-", "csi-", 1);
    g_string_replace(text, "{process}", image->str, 0);
    g_string_replace(text, "{instance}", slash == NULL ? "" : slash + 1, 0);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean
is_of_api(const WhyLink *link)
{
    return !g_str_has_prefix(link->object, "driver/") &&
           !g_str_has_prefix(link->object, "process/");
}

/* The object that waits for the one at fault, in the words of kubectl. */
static char *
name_waiter(const Why *why)
{
    const WhyLink *fault = why_fault(why), *waiter = why->chain->pdata[0];

    for (unsigned i = 0; i < why->chain->len; i++) {
        const WhyLink *link = why->chain->pdata[i];
        if (is_of_api(link) && strcmp(link->object, fault->object) != 0)
            waiter = link;
    }
    const char *slash = strchr(waiter->object, '/');
    return g_strdup_printf("%.*s %s%s%s", (int)(slash - waiter->object), waiter->object, slash + 1,
                           waiter->namespace == NULL ? "" : " -n ",
                           waiter->namespace == NULL ? "" : waiter->namespace);
}

static const char *
namespace_of(const Why *why)
{
    for (unsigned i = why->chain->len; i-- > 0;) {
        const WhyLink *link = why->chain->pdata[i];
        if (link->namespace != NULL)
            return link->namespace;
    }
    return "default";
}

char *
why_command(const char *command, const Why *why)
{
    const WhyLink *fault = why_fault(why);
    const char *slash = fault == NULL ? NULL : strchr(fault->object, '/');

    if (command == NULL || slash == NULL)
        return NULL;
    if (strcmp(command, "{find}") == 0)
        return g_str_has_prefix(fault->object, "process/") ? find_process(slash + 1) : NULL;
    g_autoptr(GString) text = g_string_new(command);
    g_autofree char *kind = g_strndup(fault->object, (gsize)(slash - fault->object));
    g_autofree char *waiter = name_waiter(why);
    g_string_replace(text, "{waiter}", waiter, 0);
    g_string_replace(text, "{kind}", kind, 0);
    g_string_replace(text, "{name}", slash + 1, 0);
    g_string_replace(text, "{namespace}", namespace_of(why), 0);
    return g_string_free(g_steal_pointer(&text), FALSE);
}
