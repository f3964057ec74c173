/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario-private.h"

/* "from: FILE" in spec.workload: the file's items take the place of the item that names it. */

/* The reader's place is the item. Returns: (borrowed): the list in the file; NULL after a fault */
static json_t *
read_items(Loader *self, const json_t *item)
{
    const json_t *name = json_object_get(item, "from");

    if (json_object_size(item) != 1) {
        schema_fault_member(&self->reader, item, "from", NULL,
                            "has no other fields beside it: the file's items have them");
        return NULL;
    }
    if (!json_is_string(name) || json_string_length(name) == 0)
        return NULL; /* the fields' check tells it */
    SchemaPlace place = schema_enter_member(&self->reader, item, "from");
    GPtrArray *documents = loader_read_file(self, json_string_value(name));
    json_t *items = documents != NULL && documents->len == 1 ? documents->pdata[0] : NULL;
    if (documents != NULL && !json_is_array(items))
        schema_fault(&self->reader, NULL, "%s must have one list of items",
                     json_string_value(name));
    schema_leave(&self->reader, place);
    return json_is_array(items) ? items : NULL;
}

/* Appends the items of a file. They may not name further files. */
static void
append_items(Loader *self, json_t *all, const json_t *included)
{
    for (gsize i = 0; i < json_array_size(included); i++) {
        const json_t *item = json_array_get(included, i);
        if (json_object_get(item, "from") != NULL) {
            SchemaJump jump = schema_go_file(&self->reader, included);
            SchemaPlace place = schema_enter_item(&self->reader, included, i);
            schema_fault_member(&self->reader, item, "from", NULL,
                                "is only for the scenario's own file");
            schema_leave(&self->reader, place);
            schema_come_back(&self->reader, jump);
        }
    }
    json_array_extend(all, (json_t *)included);
}

void
loader_include_workload(Loader *self)
{
    const json_t *document = self->document, *spec = json_object_get(document, "spec");
    json_t *workload = json_object_get(spec, "workload"), *all;

    if (!json_is_array(workload))
        return;
    all = json_array();
    yaml_positions_find(self->positions, document, &self->reader.at);
    SchemaPlace outer = schema_enter_member(&self->reader, document, "spec");
    SchemaPlace inner = schema_enter_member(&self->reader, spec, "workload");
    for (gsize i = 0; i < json_array_size(workload); i++) {
        json_t *item = json_array_get(workload, i);
        json_t *included = NULL;
        if (json_object_get(item, "from") != NULL) {
            SchemaPlace place = schema_enter_item(&self->reader, workload, i);
            included = read_items(self, item);
            schema_leave(&self->reader, place);
        }
        if (included != NULL)
            append_items(self, all, included);
        else
            json_array_append(all, item);
    }
    json_array_clear(workload);
    json_array_extend(workload, all);
    json_decref(all);
    schema_leave(&self->reader, inner);
    schema_leave(&self->reader, outer);
}
