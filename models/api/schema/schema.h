/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* The types of API objects as Kubernetes 1.18 to 1.36 publish them: names and types of fields, how
 * lists and maps merge. One table, kubernetes.types, for strategic merge patches, server-side
 * apply, validation of fields, and OpenAPI. All of it is constant. */

typedef struct SchemaType SchemaType;
typedef struct SchemaField SchemaField;

typedef enum {
    SCHEMA_STRING,
    SCHEMA_BYTES, /* base64 */
    SCHEMA_BOOL,
    SCHEMA_INT32,
    SCHEMA_INT64,
    SCHEMA_DOUBLE,
    SCHEMA_TIME,
    SCHEMA_MICRO_TIME,
    SCHEMA_QUANTITY,      /* a string or a number */
    SCHEMA_INT_OR_STRING, /* a port, a percentage */
    SCHEMA_ANY,           /* any JSON: RawExtension, a custom resource's part without a schema */
    SCHEMA_STRUCT,
    SCHEMA_LIST,
    SCHEMA_MAP, /* of strings to @element */
} SchemaShape;

/* How server-side apply takes a list (x-kubernetes-list-type) or a map (x-kubernetes-map-type). */
typedef enum {
    SCHEMA_ATOMIC,   /* one value: the last writer has all of it */
    SCHEMA_GRANULAR, /* maps and structs: each member has its managers */
    SCHEMA_SET,      /* a list: each value has its managers */
    SCHEMA_KEYED,    /* a list: items are the same if all of @keys are */
} SchemaMerge;

struct SchemaType {
    const char *name; /* of a struct: "io.k8s.api.core.v1.PodSpec"; NULL: of no struct */
    SchemaShape shape;
    SchemaMerge merge;
    const SchemaType *element;   /* of a list or map */
    const SchemaField *fields;   /* of a struct, or known members of a custom resource's map: in the
                                    order of names; ends with a NULL name */
    const char *const *keys;     /* SCHEMA_KEYED: ends with NULL */
    const SchemaField *choices;  /* of SCHEMA_ANY: one of these fields holds the value in protobuf;
                                    ends with a NULL name. NULL: the message holds its JSON */
    const char *const *words;    /* of a string: an enumeration; ends with NULL. NULL: any */
    const char *patch_merge_key; /* of a list of structs with patchStrategy merge; else NULL */
    gboolean patch_merges;       /* patchStrategy merge: items are added, not replaced */
    gboolean patch_retains_keys; /* patchStrategy retainKeys, of a struct or a list's structs */
    gboolean granular;           /* a struct that is atomic elsewhere, but not here */
    gboolean patch_replaces;     /* patchStrategy replace, of a struct */
    gboolean custom;             /* a custom resource's: it takes no strategic merge patches */
};

/* What the API server asks of a field of a new object, beside its type: the words behind "+" in
 * kubernetes.types. models/api/checks looks. */
typedef struct {
    const char *required;     /* the detail of "Required value"; "": none; NULL: may be absent */
    const char *format;       /* of the text, or of a list's items, or of a map's values: a name of
                                 checks/formats.c */
    const char *keys;         /* the same, of a map's keys */
    const char *unique;       /* a list: the member that differs; "": the items themselves */
    const char *immutable;    /* in updates: the detail of "Forbidden"; "": "field is immutable" */
    const char *const *words; /* an enumeration in the order of Kubernetes' text */
    gint64 minimum, maximum;  /* if has_min, has_max */
    unsigned bytes_max;       /* 0: any length */
    unsigned items_max;       /* 0: any number */
    gboolean has_min, has_max;
    gboolean zero;      /* 0 counts as absent */
    gboolean always;    /* nothing is checked as 0 or "" */
    gboolean whole;     /* faults of items are told of the list */
    gboolean ruled;     /* a rule, not the table, reports words outside of the enumeration */
    gboolean is_member; /* of a union: at most one member may be set */
} SchemaChecks;

struct SchemaField {
    const char *name;
    const SchemaType *type;
    gboolean required;
    const char *fallback; /* JSON: the default that OpenAPI tells ("\"TCP\"", "{}"); NULL: none */
    unsigned number;      /* in protobuf; 0: it has none */
    unsigned message; /* In protobuf the field lies in the message of another field: that field's
                         number, plus 256 times the number of the field around it; 0: the struct's
                         own message. In JSON it stands beside the struct's own fields */
    gboolean pointer; /* of a scalar: Go has a pointer, so zero differs from absent; otherwise zero
                         in protobuf means absent */
    guint8 since, until;        /* the first and last minor release with the field; 0: no limit */
    const SchemaChecks *checks; /* NULL: none */
    const char *set; /* JSON: what the API server gives a struct that lacks it; NULL: nothing */
};

/**
 * schema_find:
 * @api_version: "apps/v1"
 * @kind: "Deployment"
 * Returns: the kind's type; %NULL if no release of Kubernetes and of the snapshot controller has
 * it. Every group version has options of requests (DeleteOptions) and Status
 */
const SchemaType *schema_find(const char *api_version, const char *kind);
/* A kind, and its type. */
typedef struct {
    const char *api_version, *kind; /* "-": of every group version */
    const SchemaType *type;
} SchemaKind;
extern const SchemaKind schema_kinds[]; /* ends with a NULL kind */

/* Whether that minor release has the field. 0: some release has */
static inline gboolean
schema_is_in(const SchemaField *field, int minor)
{
    return minor == 0 || (field->since <= minor && (field->until == 0 || minor <= field->until));
}
/* Returns: the field of a struct, or a known member of a custom resource's map; %NULL if there is
 * no field of that name. @type may be NULL */
const SchemaField *schema_field(const SchemaType *type, const char *name);
/* Returns: the type of the member @name of a struct or map; %NULL: unknown, or any */
const SchemaType *schema_member(const SchemaType *type, const char *name);
/* Returns: the @n-th struct in the order of names; %NULL: there are no more */
const SchemaType *schema_struct(unsigned n);
