/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of the kinds that models do not run, as in pkg/printers/internalversion/printers.go of
 * Kubernetes 1.32: a row has a title, a function for the cell, a path and the text for a missing
 * value. Most cells are a value by its path; a function stands only where Kubernetes computes one.
 */
#include "columns.h"

#include <string.h>

#define NAME                                                                                       \
    {                                                                                              \
        "Name", cell_value, "metadata.name", "", COLUMN_NAME                                       \
    }
#define AGE                                                                                        \
    {                                                                                              \
        "Age", cell_age, "metadata.creationTimestamp", "<unknown>", 0                              \
    }
#define CREATED                                                                                    \
    {                                                                                              \
        "Created At", cell_value, "metadata.creationTimestamp", "<unknown>", 0                     \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, NULL, NULL, 0                                                                  \
    }

static void
cell_config_data(Cell *cell)
{
    g_string_append_printf(cell->text, "%zu",
                           value_length(cell->object, "data") +
                               value_length(cell->object, "binaryData"));
}

/* "Kind/name" */
static void
cell_role(Cell *cell)
{
    g_string_append_printf(cell->text, "%s/%s", value_text(cell->value, "kind"),
                           value_text(cell->value, "name"));
}

/* Names of the subjects of one kind, joined by ", ". */
static void
append_subjects(Cell *cell, const char *kind)
{
    gboolean in_namespace = strcmp(kind, "ServiceAccount") == 0;
    json_t *subject;
    gsize i;

    json_array_foreach(cell->value, i, subject) {
        if (strcmp(value_text(subject, "kind"), kind) != 0)
            continue;
        g_string_append_printf(cell->text, "%s%s%s%s", cell->text->len > 0 ? ", " : "",
                               in_namespace ? value_text(subject, "namespace") : "",
                               in_namespace ? "/" : "", value_text(subject, "name"));
    }
}

static void
cell_users(Cell *cell)
{
    append_subjects(cell, "User");
}

static void
cell_groups(Cell *cell)
{
    append_subjects(cell, "Group");
}

static void
cell_accounts(Cell *cell)
{
    append_subjects(cell, "ServiceAccount");
}

/* "pods: 1/3, requests.storage: 0/10Gi": limits are in a column of their own. */
static void
append_quota(Cell *cell, gboolean limits)
{
    json_t *hard = value_at(cell->object, "status.hard"), *used;
    g_auto(GStrv) names = value_keys(hard);

    used = value_at(cell->object, "status.used");
    for (unsigned i = 0; names[i] != NULL; i++) {
        if (g_str_has_prefix(names[i], "limits") != limits)
            continue;
        g_string_append_printf(cell->text, "%s%s: ", cell->text->len > 0 ? ", " : "", names[i]);
        value_append_quantity(cell->text, json_object_get(used, names[i]));
        g_string_append_c(cell->text, '/');
        value_append_quantity(cell->text, json_object_get(hard, names[i]));
    }
}

static void
cell_requests(Cell *cell)
{
    append_quota(cell, FALSE);
}

static void
cell_limits(Cell *cell)
{
    append_quota(cell, TRUE);
}

static void
cell_hosts(Cell *cell)
{
    json_t *rule;
    gsize i;

    json_array_foreach(cell->value, i, rule) {
        const char *host = value_text(rule, "host");
        if (*host != '\0')
            g_string_append_printf(cell->text, "%s%s", cell->text->len > 0 ? "," : "", host);
    }
}

static void
cell_ingress_ports(Cell *cell)
{
    g_string_append(cell->text, value_length(cell->object, "spec.tls") > 0 ? "80, 443" : "80");
}

static void
add_word(Cell *cell, const char *word)
{
    g_string_append_printf(cell->text, "%s%s", cell->text->len > 0 ? "," : "", word);
}

/* Addresses of load balancers. */
static void
cell_balancers(Cell *cell)
{
    json_t *one;
    gsize i;

    json_array_foreach(cell->value, i, one) {
        const char *address = value_text(one, "ip");
        add_word(cell, *address != '\0' ? address : value_text(one, "hostname"));
    }
}

/* "cpu: <unknown>/80%": there are no metrics, so nothing is known of the present.
 * formatHPAMetrics() */
static void
cell_targets(Cell *cell)
{
    int64_t plain = value_integer(cell->object, "spec.targetCPUUtilizationPercentage", 80);
    json_t *metric;
    gsize i;

    json_array_foreach(cell->value, i, metric) {
        const char *name = value_text(metric, "resource.name");
        int64_t share = value_integer(metric, "resource.target.averageUtilization", 0);
        g_string_append_printf(cell->text, "%s%s%s<unknown>/", i > 0 ? ", " : "", name,
                               *name != '\0' ? ": " : "");
        if (share > 0)
            g_string_append_printf(cell->text, "%" G_GINT64_FORMAT "%%", share);
        else
            g_string_append(cell->text, value_text(metric, "resource.target.averageValue"));
    }
    if (json_array_size(cell->value) == 0)
        g_string_append_printf(cell->text, "cpu: <unknown>/%" G_GINT64_FORMAT "%%", plain);
}

/* At most three of the words are told. formatEndpoints(), formatDiscoveryEndpoints() */
#define WORDS_TOLD 3

static void
add_some(Cell *cell, unsigned *n, const char *word)
{
    if ((*n)++ < WORDS_TOLD)
        add_word(cell, word);
}

static void
add_more(Cell *cell, unsigned n)
{
    if (n > WORDS_TOLD)
        g_string_append_printf(cell->text, " + %u more...", n - WORDS_TOLD);
}

/* "10.0.0.1:80,10.0.0.2:80" */
static void
cell_subsets(Cell *cell)
{
    json_t *subset, *address, *port;
    unsigned n = 0;
    gsize i, k, m;

    json_array_foreach(cell->value, i, subset) {
        json_array_foreach(json_object_get(subset, "addresses"), k, address) {
            json_array_foreach(json_object_get(subset, "ports"), m, port) {
                g_autofree char *word =
                    g_strdup_printf("%s:%" G_GINT64_FORMAT, value_text(address, "ip"),
                                    value_integer(port, "port", 0));
                add_some(cell, &n, word);
            }
            if (json_array_size(json_object_get(subset, "ports")) == 0)
                add_some(cell, &n, value_text(address, "ip"));
        }
    }
    add_more(cell, n);
}

static void
cell_slice_ports(Cell *cell)
{
    unsigned n = 0;
    json_t *port;
    gsize i;

    json_array_foreach(cell->value, i, port) {
        g_autofree char *word =
            g_strdup_printf("%" G_GINT64_FORMAT, value_integer(port, "port", 0));
        add_some(cell, &n, value_at(port, "port") == NULL ? "*" : word);
    }
    add_more(cell, n);
}

static void
cell_slice_addresses(Cell *cell)
{
    json_t *endpoint, *address;
    unsigned n = 0;
    gsize i, k;

    json_array_foreach(cell->value, i, endpoint)
        json_array_foreach(json_object_get(endpoint, "addresses"), k, address)
            add_some(cell, &n, json_string_value(address));
    add_more(cell, n);
}

/* Of the only condition, Healthy. */
static void
cell_health(Cell *cell)
{
    json_t *condition = json_array_get(cell->value, 0);

    g_string_append(cell->text,
                    strcmp(value_text(condition, "status"), "True") == 0 ? "Healthy" : "Unhealthy");
}

static void
cell_health_message(Cell *cell)
{
    g_string_append(cell->text, value_text(json_array_get(cell->value, 0), "message"));
}

static void
cell_health_error(Cell *cell)
{
    g_string_append(cell->text, value_text(json_array_get(cell->value, 0), "error"));
}

static const KindColumn components[] = {
    NAME,
    {"Status",  cell_health,         "conditions", "Unknown", 0},
    {"Message", cell_health_message, "conditions", "",        0},
    {"Error",   cell_health_error,   "conditions", "",        0},
    END
};
static const KindColumn config_maps[] = {
    NAME, {"Data", cell_config_data, "", "0", COLUMN_TYPED},
     AGE, END
};
static const KindColumn secrets[] = {
    NAME,
    {"Type", cell_value,  "type", "",  0           },
    {"Data", cell_length, "data", "0", COLUMN_TYPED},
    AGE,
    END
};
static const KindColumn accounts[] = {
    NAME, {"Secrets", cell_length, "secrets", "0", COLUMN_TYPED},
     AGE, END
};
const KindColumn quota_columns[] = {
    NAME, {"Request", cell_requests, "", "", 0},
     {"Limit",   cell_limits,   "", "", 0},
     AGE, END
};
static const KindColumn templates[] = {
    NAME,
    {"Containers", cell_containers, "name",                     "", 0},
    {"Images",     cell_containers, "image",                    "", 0},
    {"Pod Labels", cell_map,        "template.metadata.labels", "", 0},
    END
};
static const KindColumn created[] = {NAME, CREATED, END};
static const KindColumn bindings[] = {
    NAME,
    {"Role",            cell_role,     "roleRef",  "", 0          },
    AGE,
    {"Users",           cell_users,    "subjects", "", COLUMN_WIDE},
    {"Groups",          cell_groups,   "subjects", "", COLUMN_WIDE},
    {"ServiceAccounts", cell_accounts, "subjects", "", COLUMN_WIDE},
    END
};
static const KindColumn ingresses[] = {
    NAME,
    {"Class",   cell_value,         "spec.ingressClassName",       "<none>", 0},
    {"Hosts",   cell_hosts,         "spec.rules",                  "*",      0},
    {"Address", cell_balancers,     "status.loadBalancer.ingress", "",       0},
    {"Ports",   cell_ingress_ports, "",                            "",       0},
    AGE,
    END
};
static const KindColumn ingress_classes[] = {
    NAME,
    {"Controller", cell_value, "spec.controller",      "",       0},
    {"Parameters", cell_value, "spec.parameters.name", "<none>", 0},
    AGE,
    END
};
static const KindColumn autoscalers[] = {
    NAME,
    {"Reference", cell_role,    "spec.scaleTargetRef",    "",          0           },
    {"Targets",   cell_targets, "spec.metrics",           "<unknown>", 0           },
    {"MinPods",   cell_value,   "spec.minReplicas",       "<unset>",   0           },
    {"MaxPods",   cell_value,   "spec.maxReplicas",       "0",         COLUMN_TYPED},
    {"Replicas",  cell_value,   "status.currentReplicas", "0",         COLUMN_TYPED},
    AGE,
    END
};
static const KindColumn node_metrics[] = {
    NAME,
    {"cpu",    cell_value, "usage.cpu",    "", 0},
    {"memory", cell_value, "usage.memory", "", 0},
    {"Window", cell_value, "window",       "", 0},
    END
};
static const KindColumn scales[] = {
    NAME,
    {"Desired",   cell_value, "spec.replicas",   "0", COLUMN_INTEGER},
    {"Available", cell_value, "status.replicas", "0", COLUMN_INTEGER},
    AGE,
    END
};
static const KindColumn policies[] = {
    NAME, {"Pod-Selector", cell_selector, "spec.podSelector", "<none>", 0},
     AGE, END
};
static const KindColumn endpoints[] = {
    NAME, {"Endpoints", cell_subsets, "subsets", "<none>", 0},
     AGE, END
};
static const KindColumn slices[] = {
    NAME,
    {"AddressType", cell_value,           "addressType", "",        0},
    {"Ports",       cell_slice_ports,     "ports",       "<unset>", 0},
    {"Endpoints",   cell_slice_addresses, "endpoints",   "<unset>", 0},
    AGE,
    END
};
static const KindColumn runtime_classes[] = {
    NAME, {"Handler", cell_value, "handler", "", 0},
     AGE, END
};

static const struct {
    const char *kind;
    const KindColumn *columns;
} rows[] = {
    {"ComponentStatus",          components     },
    {"ConfigMap",                config_maps    },
    {"Secret",                   secrets        },
    {"ServiceAccount",           accounts       },
    {"PodTemplate",              templates      },
    {"ResourceQuota",            quota_columns  },
    {"LimitRange",               created        },
    {"Role",                     created        },
    {"ClusterRole",              created        },
    {"CustomResourceDefinition", created        },
    {"RoleBinding",              bindings       },
    {"ClusterRoleBinding",       bindings       },
    {"Ingress",                  ingresses      },
    {"IngressClass",             ingress_classes},
    {"HorizontalPodAutoscaler",  autoscalers    },
    {"NodeMetrics",              node_metrics   },
    {"Scale",                    scales         },
    {"NetworkPolicy",            policies       },
    {"Endpoints",                endpoints      },
    {"EndpointSlice",            slices         },
    {"RuntimeClass",             runtime_classes},
};

const KindColumn *
columns_find(const char *kind)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return rows[i].columns;
    return NULL;
}
