/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api.h"
#include "models/api/schema/schema.h"
#include "run/teach/sequence.h"
#include "stage.h"
#include "status.h"
#include "store.h"

/* Shared by the files of the API: api.c finds out what a request is about; read.c, watch.c, write.c
 * answer it; own.c has kvolsim's own. */

struct ServeApi {
    ServeApiOptions options;
    ServeStore *store;
    ServeStage *stage;
    GHashTable *documents; /* path -> GBytes: OpenAPI and discovery, of ... */
    unsigned generation;   /* ... this generation of the store */
    GPtrArray *watches;    /* of Watch (borrowed) */
    guint watch_source;    /* ends them, and asks for bookmarks; 0: none */
    GHashTable *starts;    /* of WatchStart: of watches that have just begun; NULL: none */
    guint start_source;    /* forgets them; 0: none */
    gboolean is_retired;   /* another run has taken the place of this one */
    uint64_t n_names;      /* names made of generateName */
    struct EndpointsKeeper *endpoints; /* (owned): NULL: nobody has asked for any yet */
};

/* The forms of an answer. */
typedef enum {
    FORM_OBJECT,
    FORM_TABLE,
    FORM_METADATA, /* PartialObjectMetadata */
} AnswerForm;

typedef enum { MEDIA_JSON, MEDIA_YAML, MEDIA_PROTOBUF } AnswerMedia;

/* What a request is about. */
typedef struct {
    ServeApi *api;
    Exchange *exchange; /* (owned) */
    StoreKind *kind;
    const ApiResource *row;
    const SchemaType *type;  /* NULL: none is known */
    CustomResources *custom; /* (owned): to which @row and @type may belong; NULL: none */
    char *api_version;       /* "apps/v1" */
    char *namespace;         /* "": none */
    char *name;              /* NULL: the collection */
    char *subresource;       /* NULL: none */
    AnswerForm form;
    AnswerMedia media;
    const char *form_version; /* of a Table: "meta.k8s.io/v1" */
    char *qualified; /* owned: "pods/binding": the resource in refusals with a subresource */
} Target;

Target *target_copy(const Target *self);
void target_free(Target *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Target, target_free)
/* Whom refusals are about. Its strings live as long as @self. */
StatusSubject target_subject(const Target *self);
/* Answers with an object in the form that was asked for. @object: (taken) */
void target_answer(const Target *self, unsigned code, json_t *object);
/* ... with an object that has no other forms, as JSON or protobuf. @object: (taken) */
void target_send(const Target *self, unsigned code, json_t *object);
/* ... with a Status, which gives the code. @status: (taken) */
void target_refuse(const Target *self, json_t *status);
/* Sets apiVersion and kind of an object of the store, which are stored in another version. */
void target_set_version(const Target *self, json_t *object);
/* Whether the request's subresource is @name. */
gboolean target_is(const Target *self, const char *subresource);

/* read.c */
void read_object(const Target *target);
void read_list(const Target *target);
/* Whether ?labelSelector= and ?fieldSelector= let @object through. */
typedef struct {
    const char *labels, *fields; /* NULL: none */
} Selection;
/* Reads the selectors. Returns: (owned): %NULL; a refusal if one of them is invalid */
json_t *selection_read(const Target *target, Selection *selection);
gboolean selection_takes(const Selection *self, json_t *object);
/* Returns: (owned): a Scale of @object */
json_t *scale_of(const ApiResource *row, const json_t *object);
/* Returns: (borrowed): where an object has what its Scale shows. @member: as in a
 * CustomResourceDefinition: "specReplicasPath" */
const char *scale_path(const ApiResource *row, const char *member);

/* watch.c */
void watch_begin(const Target *target);
/* After the last one. */
void watches_free(ServeApi *self);

/* write.c; delete.c */
void write_create(const Target *target);
void write_change(const Target *target); /* PUT and PATCH */
void write_delete(const Target *target);
void write_delete_collection(const Target *target);
void write_eviction(const Target *target);
void write_binding(const Target *target);

/* body.c */
/**
 * body_read:
 * @kind: (nullable): what it should be
 * @refusal: (out): (owned): why it cannot be read
 * Returns: (owned): the body as JSON: from JSON, YAML or protobuf; %NULL with @refusal. An empty
 * body is an empty object
 */
json_t *body_read(const Exchange *exchange, const char *kind, json_t **refusal);
/* Returns: (owned): why a body that can be read is no object; %NULL: it is one */
json_t *body_fault(const Target *target, const json_t *body);
/* Returns: (owned): the parts of a body that its type does not have: with fieldValidation=Strict a
 * refusal (its message), else warnings are added to the exchange. NULL: go on */
char *body_check_fields(const Target *target, json_t *body, gboolean is_text);

/* reviews.c: kinds that are asked for, never stored. Returns: FALSE: another kind */
gboolean review_answer(const Target *target);

/* documents.c: discovery, OpenAPI, version, health. Returns: FALSE: another path */
gboolean documents_answer(ServeApi *self, Exchange *exchange);

/* own.c: /kvolsim/v1/. Returns: FALSE: another path */
gboolean own_answer(ServeApi *self, Exchange *exchange);
/* Returns: (owned): the clock's state */
json_t *own_clock_json(const ServeApi *self);
/* Returns: (owned): the faults that have begun */
json_t *own_faults_json(const ServeApi *self);

/* own-stage.c: what the page asks for. */
void own_get_stage(ServeApi *self, Exchange *exchange);
void own_get_components(ServeApi *self, Exchange *exchange);
void own_get_story(ServeApi *self, Exchange *exchange);
void own_get_describe(ServeApi *self, Exchange *exchange);
void own_get_summary(ServeApi *self, Exchange *exchange);
/* own-figures.c */
void own_get_figures(ServeApi *self, Exchange *exchange);
/* own-marks.c */
void own_get_marks(ServeApi *self, Exchange *exchange);
/* Returns: (owned): its lanes and messages */
json_t *own_sequence_json(const Sequence *sequence);
