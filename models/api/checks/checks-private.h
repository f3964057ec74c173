/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "checks.h"
#include "models/api/fields.h"
#include "models/api/schema/schema.h"

/* The walk over one object. Paths that functions take are relative to the walk's place; "" is the
 * place itself. */
typedef struct {
    ApiParser *parser;
    const json_t *object;    /* the whole */
    const json_t *old;       /* what it replaces; NULL: it is new */
    const char *subresource; /* NULL: none */
    const SchemaType *type;  /* of the whole; NULL: only metadata is known */
    json_t *nothing;         /* (owned): {}: a struct that is not there, as Go has it */
    const json_t *place;     /* the innermost value that is there */
    unsigned n_faults;
    int minor;
} Check;

/* A rule over several fields, of each struct of a type. */
typedef struct {
    const char *id;   /* Kubernetes' function */
    const char *type; /* "core.v1.PodSpec": the end of the type's name; NULL: end of a table */
    void (*check)(Check *check, const json_t *value);
} CheckRule;

/* pods.c, containers.c, workloads.c, services.c, config.c, definitions.c */
extern const CheckRule check_pod_rules[], check_container_rules[], check_workload_rules[],
    check_service_rules[], check_volume_rules[], check_quota_rules[], check_config_rules[],
    check_definition_rules[];
/* updates.c, pod-updates.c: of the whole object, whose stored form is check->old */
extern const CheckRule check_update_rules[], check_pod_update_rules[];

/* checks.c */

/* metadata.c */
void check_metadata(Check *check);
/* Of a template: @path is "metadata", but Kubernetes leaves it out of paths. */
void check_template_metadata(Check *check, const json_t *metadata);
void check_labels(Check *check, const json_t *labels, const char *path);

/* containers.c: of a struct whose members are "+union" in kubernetes.types */
void check_union(Check *check, const SchemaType *type, const json_t *value);

/* volumes.c: @mount: of the container */
void check_mount_flags(Check *check, const json_t *container, const json_t *mount);

/* formats.c: Returns: the @n-th fault of the text in Kubernetes' words; NULL: there are no more */
const char *
check_format_fault(const Check *check, const char *format, const char *text, unsigned n);
/* The format's faults at the path. @value: (nullable): "" */
void check_format(Check *check, const json_t *value, const char *path, const char *format);
/* A number from 1 to 65535, or the name of a port. */
void check_port(Check *check, const json_t *value, const char *path);

/* Faults. @where: the value at fault, or what lacks something; NULL: the place. */
void check_fault(Check *check, const json_t *where, const char *path, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
void check_report(
    Check *check, const json_t *where, const char *path, const char *hint, const char *words);
/* Returns: (owned): "did you mean ...?"; NULL: none of @words is like @text (nullable) */
char *check_hint(const char *text, const char *const *words);
void check_required(Check *check, const char *path, const char *detail);
void check_invalid(Check *check, const json_t *value, const char *path, const char *detail);
void check_forbidden(Check *check, const json_t *where, const char *path, const char *detail);
void check_duplicate(Check *check, const json_t *value, const char *path);
void
check_unsupported(Check *check, const json_t *value, const char *path, const char *const *words);
/* The parser says nothing at this path, though nothing was told there. */
void check_silence(const Check *check, const char *path);
/* "field is immutable", if the two differ */
void check_immutable(Check *check, const char *value_path, const char *told_path);

/* Reading, where anything may be of a wrong type. */
gboolean check_has(const json_t *object, const char *path); /* and not null */
gboolean check_flag(const json_t *object, const char *path);
/* Returns: the value printed as Go does with %#v */
char *check_go_value(const json_t *value);
/* same.c */
/* Returns: whether Kubernetes treats the two values as equal: null, "", 0 and empty lists count as
 * absent, quantities are compared as numbers. @type: (nullable) */
gboolean api_check_same(const SchemaType *type, const json_t *value, const json_t *other);
