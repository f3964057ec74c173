/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "api-private.h"
#include "table.h"

/* Kinds that are only asked for: may I, who am I. Whoever reaches a served cluster may do all. */

static json_t *
answer_rules(json_t *review)
{
    json_object_set_new(review, "status",
                        json_pack("{s:[{s:[s], s:[s], s:[s]}], s:[{s:[s], s:[s]}], s:b}",
                                  "resourceRules", "verbs", "*", "apiGroups", "*", "resources", "*",
                                  "nonResourceRules", "verbs", "*", "nonResourceURLs", "*",
                                  "incomplete", FALSE));
    return review;
}

static json_t *
answer_access(json_t *review)
{
    json_object_set_new(review, "status", json_pack("{s:b}", "allowed", TRUE));
    return review;
}

static json_t *
answer_self(json_t *review)
{
    json_object_set_new(review, "status",
                        json_pack("{s:{s:s, s:[s, s, s]}}", "userInfo", "username",
                                  "kubernetes-admin", "groups", "system:masters",
                                  "kubeadm:cluster-admins", "system:authenticated"));
    return review;
}

static json_t *
answer_token(json_t *review)
{
    json_object_set_new(review, "status",
                        json_pack("{s:b, s:{}, s:s}", "authenticated", FALSE, "user", "error",
                                  "a simulated cluster issues no tokens"));
    return review;
}

static const struct {
    const char *resource;
    json_t *(*answer)(json_t *review);
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
                           ? body_read(target->exchange, &refusal)
                           : NULL;
        if (body == NULL) {
            target_refuse(target, refusal != NULL ? refusal : status_method_not_allowed());
            return TRUE;
        }
        target_set_version(target, body);
        target_send(target, 201, reviews[i].answer(body));
        return TRUE;
    }
    return FALSE;
}
