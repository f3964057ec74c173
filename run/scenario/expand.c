/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario-private.h"

/* The action `expand`. */

static void
expand_init(void *target)
{
    *(ExpandFields *)target =
        (ExpandFields){.name = "*", .above = 0.9, .by = 0.1, .every = 10 * SIM_SECOND};
}

static void
expand_check(SchemaReader *reader, const json_t *value, void *target)
{
    if (((const ExpandFields *)target)->every == 0)
        schema_fault_member(reader, value, "every", NULL, "must be longer than 0s");
}

/* clang-format off */
#define AT(member) offsetof(ExpandFields, member)
static const FileField expand_fields[] = {
    {"namespace", &schema_string, AT(namespace), 0, "default", "Namespace of the claims"},
    {"name", &schema_string, AT(name), 0, "all", "Name of the claims, with * and ? for several"},
    {"above", &schema_part, AT(above), 0, "0.9",
     "Part of the bytes or of the inodes in use that asks for more"},
    {"by", &schema_part, AT(by), 0, "0.1", "Part of the capacity that is added, rounded up to whole Gi"},
    {"upTo", &schema_quantity, AT(up_to), SCHEMA_REQUIRED, NULL, "Largest size of a claim"},
    {"every", &schema_duration, AT(every), 0, "10s", "Time between two looks"},
    {NULL, NULL, 0, 0, NULL, NULL},
};
const FileType scenario_expand_type = SCHEMA_STRUCT("expand", expand_fields, ExpandFields,
    .init = expand_init, .check = expand_check);
/* clang-format on */

void
loader_build_expand(const ExpandFields *fields, ScenarioAction *action)
{
    action->type = ACTION_EXPAND;
    action->kind = KIND_CLAIM;
    action->namespace = (char *)(fields->namespace != NULL ? fields->namespace : "default");
    action->name = (char *)fields->name;
    action->expand.above = fields->above;
    action->expand.by = fields->by;
    action->expand.up_to = fields->up_to;
    action->expand.every = fields->every;
}
