/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds that only answer a question: access reviews, the caller's own name, the state of
 * components. Every client of a served cluster may do all, so every answer is yes; the checks of
 * the question are those of the API server. Nothing is stored. */
#include <string.h>

#include "api-private.h"
#include "made/made.h"
#include "models/api/fields.h"
#include "table.h"

static json_t *
answer_rules(const Target *target, json_t *review)
{
    (void)target;
    json_object_set_new(review, "status",
                        json_pack("{s:[{s:[s], s:[s], s:[s]}], s:[{s:[s], s:[s]}], s:b}",
                                  "resourceRules", "verbs", "*", "apiGroups", "*", "resources", "*",
                                  "nonResourceRules", "verbs", "*", "nonResourceURLs", "*",
                                  "incomplete", FALSE));
    return review;
}

static json_t *
answer_self(const Target *target, json_t *review)
{
    (void)target;
    json_object_set_new(review, "status",
                        json_pack("{s:{s:s, s:[s, s, s]}}", "userInfo", "username",
                                  "kubernetes-admin", "groups", "system:masters",
                                  "kubeadm:cluster-admins", "system:authenticated"));
    return review;
}

static json_t *
answer_token(const Target *target, json_t *review)
{
    const char *token = json_path_string(review, "spec.token");

    if (token == NULL || *token == '\0')
        return status_format(400, "token is required for TokenReview in authentication");
    json_object_set_new(review, "status", token_review(target->api, token));
    return review;
}

/* ValidateSubjectAccessReviewSpec() and its like in pkg/apis/authorization/validation. Returns:
 * (owned): a refusal */
static json_t *
access_fault(const Target *target, const json_t *review)
{
    const json_t *spec = json_object_get(review, "spec");
    const json_t *groups = json_object_get(spec, "groups");
    const char *user = json_path_string(spec, "user"), *kind = target->row->kind,
               *namespace = json_path_string(spec, "resourceAttributes.namespace");
    gboolean has_resource = json_is_object(json_object_get(spec, "resourceAttributes")),
             has_path = json_is_object(json_object_get(spec, "nonResourceAttributes")),
             is_local = strcmp(kind, "LocalSubjectAccessReview") == 0;
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    if (has_resource && has_path)
        g_ptr_array_add(faults, g_strdup("spec.nonResourceAttributes: Invalid value: "
                                         "\"nonResourceAttributes\": cannot be specified in "
                                         "combination with resourceAttributes"));
    if (!has_resource && !has_path)
        g_ptr_array_add(faults,
                        g_strdup("spec.resourceAttributes: Invalid value: \"null\": exactly "
                                 "one of nonResourceAttributes or resourceAttributes must "
                                 "be specified"));
    if (!g_str_has_prefix(kind, "Self") && (user == NULL || *user == '\0') &&
        json_array_size(groups) == 0)
        g_ptr_array_add(faults, g_strdup("spec.user: Invalid value: \"\": at least one of user or "
                                         "group must be specified"));
    if (is_local && has_resource && g_strcmp0(namespace, target->namespace) != 0)
        g_ptr_array_add(faults,
                        g_strdup_printf("spec.resourceAttributes.namespace: Invalid value: \"%s\": "
                                        "must match metadata.namespace",
                                        namespace != NULL ? namespace : ""));
    if (is_local && has_path)
        g_ptr_array_add(faults, g_strdup("spec.nonResourceAttributes: Invalid value: "
                                         "\"nonResourceAttributes\": disallowed on this kind of "
                                         "request"));
    StatusSubject subject = {target->row->group, target->row->resource, kind, NULL};
    return faults->len == 0 ? NULL : status_invalid(&subject, faults);
}

static json_t *
answer_access(const Target *target, json_t *review)
{
    json_t *fault = access_fault(target, review);

    if (fault != NULL)
        return fault;
    json_object_set_new(review, "status", json_pack("{s:b}", "allowed", TRUE));
    return review;
}

static const struct {
    const char *resource;
    /* Returns: @review with its status, or a Status */
    json_t *(*answer)(const Target *target, json_t *review);
} reviews[] = {
    {"selfsubjectrulesreviews",   answer_rules },
    {"selfsubjectaccessreviews",  answer_access},
    {"localsubjectaccessreviews", answer_access},
    {"subjectaccessreviews",      answer_access},
    {"selfsubjectreviews",        answer_self  },
    {"tokenreviews",              answer_token },
};

static json_t *
components(void)
{
    static const char *const names[] = {"controller-manager", "scheduler", "etcd-0"};
    json_t *items = json_array();

    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        json_array_append_new(items,
                              json_pack("{s:{s:s, s:n}, s:[{s:s, s:s, s:s}]}", "metadata", "name",
                                        names[i], "creationTimestamp", "conditions", "type",
                                        "Healthy", "status", "True", "message", "ok"));
    return json_pack("{s:s, s:s, s:{}, s:o}", "kind", "ComponentStatusList", "apiVersion", "v1",
                     "metadata", "items", items);
}

static void
answer_components(const Target *target)
{
    json_t *list = components(), *item;
    gsize i;

    if (target->form != FORM_TABLE) {
        target_send(target, 200, list);
        return;
    }
    json_t *table = table_new(target->row, target->form_version, TRUE);
    json_array_foreach(json_object_get(list, "items"), i, item)
        table_add(table, target->row, item, TABLE_METADATA, 0);
    json_decref(list);
    exchange_answer_json(target->exchange, 200, table);
}

gboolean
review_answer(const Target *target)
{
    const char *resource = target->row->resource;
    json_t *refusal = NULL;

    if (strcmp(resource, "componentstatuses") == 0 && target->name == NULL) {
        exchange_warn(target->exchange, "v1 ComponentStatus is deprecated in v1.19+");
        answer_components(target);
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(reviews); i++) {
        if (strcmp(reviews[i].resource, resource) != 0)
            continue;
        json_t *body = strcmp(target->exchange->request.method, "POST") == 0
                           ? body_read(target->exchange, target->row->kind, &refusal)
                           : NULL;
        if (body == NULL) {
            target_refuse(target, refusal != NULL ? refusal : status_method_not_allowed());
            return TRUE;
        }
        refusal = body_fault(target, body);
        if (refusal != NULL) {
            json_decref(body);
            target_refuse(target, refusal);
            return TRUE;
        }
        json_t *answer = reviews[i].answer(target, body);
        if (answer != body) { /* refused */
            json_decref(body);
            target_refuse(target, answer);
            return TRUE;
        }
        target_set_version(target, answer);
        target_send(target, 201, answer);
        return TRUE;
    }
    return FALSE;
}
