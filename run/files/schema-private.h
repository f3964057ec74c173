/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* Shared by the files that read and describe the types of schema.h. */

/* A fault such as: "5 minutes" is not a duration. A scalar is quoted, a list or mapping is named */
void schema_fault_not(SchemaReader *self, const FileType *type, const json_t *value);
/* Returns: FALSE after a fault: @value is no duration. 0 needs no unit */
gboolean
schema_duration_value(SchemaReader *self, const FileType *type, const json_t *value, SimTime *time);

/* JSON Schema of the types: see FileType.schema. */
json_t *schema_json_string(const FileType *type);
json_t *schema_json_number(const FileType *type);
json_t *schema_json_ref(const FileType *type);
json_t *schema_json_map(const FileType *type);
