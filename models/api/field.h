/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "object.h"

/* Types of fields that several kinds have. A type of one kind only stands in the file of that
 * kind. */
extern const FieldType field_string;   /* const char *, interned; NULL: absent */
extern const FieldType field_bool;     /* gboolean */
extern const FieldType field_int;      /* int32_t */
extern const FieldType field_quantity; /* int64_t: Value(), rounded up (API-163) */
extern const FieldType field_milli;    /* int64_t: thousandths (CPU) */
extern const FieldType field_time; /* SimTime since the run's start, RFC 3339; TIME_UNSET: absent */
extern const FieldType field_micro_time;  /* the same with microseconds */
extern const FieldType field_string_map;  /* StringMap * */
extern const FieldType field_string_list; /* StringList * */
extern const FieldType field_uid;         /* ObjectUid */

gboolean field_equal(const FieldType *type, const void *a, const void *b);
/* Copies a value over another one, which is let go of. */
void field_copy(const FieldType *type, void *to, const void *from);
/* The value of an enumeration is an index into the type's words. */
void field_type_parse(const FieldType *type, ApiParser *parser, const json_t *value, void *field);
/* Returns: (owned): the value, over @manifest's value (nullable); NULL: absent */
json_t *
field_type_to_json(const FieldType *type, const void *field, const json_t *manifest, SimTime start);

/* The calendar's time 0: 2026-01-01T00:00:00Z, in seconds since 1970. A run begins then, unless its
 * scenario says otherwise: sim_start() is the beginning in the calendar. Fields of objects have
 * times since the beginning of the run; only parsing and printing convert them. */
#define API_EPOCH_S INT64_C(1767225600)
/* Returns: @at of a run that begins at @start, in ns since 1970 */
static inline int64_t
api_time_unix(SimTime start, SimTime at)
{
    return API_EPOCH_S * SIM_SECOND + start + at;
}

#define API_TIME_BUFFER 32
/* @time: (out): in the calendar. Returns: %FALSE if @text is not RFC 3339: "2026-01-01T00:00:00Z",
 * "2026-01-01T01:00:00.5+01:00" */
gboolean api_time_parse(const char *text, SimTime *time);
/* RFC 3339 in UTC; whole seconds as Kubernetes prints metav1.Time, or with microseconds
 * (metav1.MicroTime). Returns: @buffer */
const char *api_time_format(SimTime time, gboolean micro, char *buffer);

/**
 * quantity_parse:
 * @text: a Kubernetes quantity ("10Gi", "500m", "1e3"), API-160
 * @value: (out): rounded up to whole units (API-163); @milli: (out) (nullable): rounded up to
 * thousandths Returns: %FALSE if the text is none, with Kubernetes' words in @error
 */
gboolean quantity_parse(const char *text, int64_t *value, int64_t *milli, GError **error);
#define QUANTITY_BUFFER 32
/* The canonical text (API-162): binary suffixes. Returns: @buffer */
const char *quantity_format(int64_t value, char *buffer);
/* The same for thousandths, with decimal suffixes: "500m", "2". Returns: @buffer */
const char *quantity_format_milli(int64_t milli, char *buffer);
/* The same with decimal suffixes: "512", "2k", "10G". Returns: @buffer */
const char *quantity_format_decimal(int64_t value, char *buffer);
/* The form in which the API server keeps @text: "1.5Gi" becomes "1536Mi". Returns: %FALSE as
 * quantity_parse() */
gboolean quantity_canonical(const char *text, char *buffer, GError **error);

/* Reads manifests. All faults are reported, and parsing goes on. @where is the faulty value, or the
 * object that lacks something; @message begins with the path: "spec.accessModes: Required value: at
 * least 1 access mode is required"; @hint (nullable) tells how to mend it. */
struct ApiParser {
    Objects *objects;
    void (*report)(ApiParser *self, const json_t *where, const char *message, const char *hint);
    void *data;
    GString *path;                  /* of the value being read: "spec.resources.requests" */
    SimTime start;                  /* of the run, in the calendar: times become times since then */
    const ObjectKey *key;           /* of the object being read; api_parser_object() sets it */
    gboolean any_api_group;         /* data sources may have a faulty group, as before 1.27 */
    gboolean takes_others;          /* kinds that no model has, too: see ObjectResource */
    gboolean no_attributes_classes; /* names of VolumeAttributesClasses are not looked at */
    int minor;                      /* the release of Kubernetes that judges apiVersions; 0: any */
    /* The control plane, which hands in-tree volumes to CSI drivers; NULL: no volume migrates */
    const struct Release *migrates;
    GHashTable *told; /* (owned) (nullable): of char *: the paths at which api_check_object() found
                         faults: parsing says nothing more there */
};

/* Reports a fault at @where under the current path. */
void
api_parser_fault(ApiParser *self, const json_t *where, const char *hint, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Enters "name" or "[index]" below the current path; leave with the length returned. */
gsize api_parser_enter(ApiParser *self, const char *name);
gsize api_parser_enter_index(ApiParser *self, unsigned index);
gsize api_parser_enter_member(ApiParser *self, const char *name); /* "[name]" */
void api_parser_leave(ApiParser *self, gsize length);
const char *api_parser_intern(ApiParser *self, const char *text);
/* Returns: (owned): the object; NULL if its kind, name or namespace is faulty. Other faults are
 * only reported */
Object *api_parser_object(ApiParser *self, const json_t *manifest);
