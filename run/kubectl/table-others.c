/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "kinds.h"

/* What stands beside workloads: their disruption budgets and revisions, as
 * pkg/printers/internalversion/printers.go prints them. */

#define COLUMN_NAME                                                                                \
    {                                                                                              \
        "Name", FALSE, TRUE                                                                        \
    }
#define COLUMN_AGE                                                                                 \
    {                                                                                              \
        "Age", FALSE, FALSE                                                                        \
    }
#define COLUMNS_END                                                                                \
    {                                                                                              \
        NULL, FALSE, FALSE                                                                         \
    }

static void
add_number(GPtrArray *cells, json_t *object, const char *path)
{
    cell_add(cells, "%" PRId64, value_integer(object, path, 0));
}

const KindColumn disruption_budget_columns[] = {
    COLUMN_NAME,
    {"Min Available",       FALSE, FALSE},
    {"Max Unavailable",     FALSE, FALSE},
    {"Allowed Disruptions", FALSE, FALSE},
    COLUMN_AGE,
    COLUMNS_END,
};

/* A number, a percentage, or not set. */
static void
add_number_or_text(GPtrArray *cells, json_t *object, const char *path)
{
    json_t *value = value_at(object, path);

    if (json_is_integer(value))
        add_number(cells, object, path);
    else
        cell_add(cells, "%s", json_is_string(value) ? json_string_value(value) : "N/A");
}

void
disruption_budget_row(GPtrArray *cells, json_t *budget, ValueTime now)
{
    cell_add(cells, "%s", value_text(budget, "metadata.name"));
    add_number_or_text(cells, budget, "spec.minAvailable");
    add_number_or_text(cells, budget, "spec.maxUnavailable");
    add_number(cells, budget, "status.disruptionsAllowed");
    cell_add_age(cells, budget, now);
}

const KindColumn controller_revision_columns[] = {
    COLUMN_NAME, {"Controller", FALSE, FALSE},
     {"Revision",   FALSE, FALSE},
     COLUMN_AGE, COLUMNS_END,
};

/* "statefulset.apps/web" */
static void
add_controller(GPtrArray *cells, json_t *object)
{
    json_t *owner;
    gsize i;

    json_array_foreach(value_at(object, "metadata.ownerReferences"), i, owner)
    {
        g_autofree char *kind = g_ascii_strdown(value_text(owner, "kind"), -1);
        const char *version = value_text(owner, "apiVersion"), *slash = strchr(version, '/');

        if (!value_is_true(owner, "controller"))
            continue;
        cell_add(cells, "%s%s%.*s/%s", kind, slash != NULL ? "." : "",
                 slash != NULL ? (int)(slash - version) : 0, version, value_text(owner, "name"));
        return;
    }
    cell_add(cells, "<none>");
}

void
controller_revision_row(GPtrArray *cells, json_t *revision, ValueTime now)
{
    cell_add(cells, "%s", value_text(revision, "metadata.name"));
    add_controller(cells, revision);
    add_number(cells, revision, "revision");
    cell_add_age(cells, revision, now);
}
