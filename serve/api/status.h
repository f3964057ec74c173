/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/apiserver/apiserver.h"

/* Answers of the API server that are no objects: metav1.Status, in Kubernetes' words
 * (k8s.io/apimachinery's pkg/api/errors). */

/* Whom an answer is about. */
typedef struct {
    const char *group;    /* "": the legacy group */
    const char *resource; /* "persistentvolumeclaims"; with a subresource "pods/binding" */
    const char *kind;     /* "PersistentVolumeClaim" */
    const char *name;     /* NULL: none */
} StatusSubject;

/**
 * status_new:
 * @code: HTTP's; it gives the reason, too (404: NotFound)
 * @message: (taken)
 * Returns: (owned): a failure
 */
json_t *status_format(unsigned code, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* 404: "pods \"x\" not found"; 409: "pods \"x\" already exists"; 409: "Operation cannot be
 * fulfilled on pods \"x\": @why". (owned) */
json_t *status_not_found(const StatusSubject *subject);
json_t *status_exists(const StatusSubject *subject);
json_t *status_conflict(const StatusSubject *subject, const char *why);
/* 422: "Pod \"x\" is invalid: [...]" with a cause for each fault. @faults: of char *: "spec.x:
 * Required value: ..." (owned) */
json_t *status_invalid(const StatusSubject *subject, const GPtrArray *faults);
/* 405. (owned) */
json_t *status_method_not_allowed(void);
/* Adds details.name, group and kind. Returns: @status */
json_t *status_of(json_t *status, const StatusSubject *subject);
/* Adds a cause to the details. */
void status_add_cause(json_t *status, const char *reason, const char *message, const char *field);
/* Returns: (owned): the modelled server's refusal; @code is not API_OK */
json_t *status_of_refusal(const StatusSubject *subject, ApiCode code, const char *message);
/* Returns: (owned): status Success: an object is gone. @uid: of the object */
json_t *status_deleted(const StatusSubject *subject, const char *uid);
/* Returns: HTTP's code of a Status; 200 for another object */
unsigned status_code(const json_t *answer);
