/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/csi/flex-call.h"
#include "models/external-resizer/external-resizer.h"

/* The open wishes of a Bound claim: another class of attributes, or more room. */

static const char *
handle_of(const Question *self, const Claim *claim, const char **driver)
{
    const Volume *volume = why_volume_of(self, claim);

    *driver = volume == NULL || volume->source == NULL ? NULL : volume->source->driver;
    return *driver == NULL ? NULL : volume->source->handle;
}

/* Since when a condition of the claim has been there. */
static SimTime
changed_at(const Claim *claim, const char *type)
{
    const ClaimCondition *condition = claim_conditions_find(claim->conditions, type);

    return condition == NULL ? TIME_UNSET : condition->changed_at;
}

static gboolean
ask_resizer(Question *self, const Claim *claim, CsiMethod method, const char *working)
{
    const char *driver, *handle = handle_of(self, claim, &driver);

    const Volume *volume = why_volume_of(self, claim);
    const SecretReference *secret =
        volume == NULL ? NULL : volume_source_secret(volume->source, SECRET_CONTROLLER_EXPAND);

    if (method == CSI_CONTROLLER_EXPAND_VOLUME && secret != NULL &&
        why_get(self, KIND_SECRET, secret->namespace, secret->name) == NULL) {
        why_link(self, &volume->meta, TIME_UNSET, "needs the Secret %s/%s, which does not exist",
                 secret->namespace, secret->name);
        return why_because(self, "secret-missing");
    }
    return (driver != NULL && why_ask_driver(self, driver, &external_resizer_process, NULL)) ||
           (handle != NULL && why_ask_call(self, driver, method, handle, NULL)) ||
           why_ask_work(self, &external_resizer_class, driver, claim->meta.key, working);
}

/* Returns: (owned): ": DRIVER answers METHOD with CODE: MESSAGE"; "" if it did not fail */
static char *
last_answer(const Question *self, const Claim *claim, CsiMethod method)
{
    const char *name, *handle = handle_of(self, claim, &name);
    const CsiDriver *driver = name == NULL ? NULL : cluster_find_driver(self->cluster, name);
    const WhyCall *call = why_calls_find(self->calls, driver, method, handle, NULL);

    if (call == NULL)
        return g_strdup("");
    g_autofree char *text = g_strdup_printf(
        why_words(self, N_("answers %s with %s%s%s")), csi_call_name(driver, method),
        csi_code_name(call->code), call->message != NULL ? ": " : "",
        call->message != NULL ? call->message : "");
    return g_strdup_printf(": driver/%s %s", name, text);
}

static gboolean
ask_class_change(Question *self, const Claim *claim)
{
    const char *wanted = claim->attributes_class, *status = claim->modify_status;
    const char *driver;

    handle_of(self, claim, &driver);
    if (g_strcmp0(status, "Pending") == 0) {
        why_link(self, &claim->meta, TIME_UNSET,
                 "names the VolumeAttributesClass %s, which did not exist", wanted);
        return why_because(self, "attributes-class-missing");
    }
    if (g_strcmp0(status, "Infeasible") == 0) {
        g_autofree char *answer = last_answer(self, claim, CSI_CONTROLLER_MODIFY_VOLUME);
        why_link(self, &claim->meta, changed_at(claim, "ModifyingVolume"),
                 "cannot have the VolumeAttributesClass %s%s", claim->modify_target, answer);
        return why_because(self, "attributes-class-infeasible");
    }
    if (g_strcmp0(wanted, claim->current_attributes_class) == 0)
        return FALSE;
    why_link(self, &claim->meta, changed_at(claim, "ModifyingVolume"),
             "is to get the VolumeAttributesClass %s", wanted);
    if (status == NULL && why_doing(self, &external_resizer_class, driver, claim->meta.key) == NULL)
        return why_because(self, "no-resizer");
    return ask_resizer(self, claim, CSI_CONTROLLER_MODIFY_VOLUME, "modifying");
}

static gboolean
ask_expansion(Question *self, const Claim *claim)
{
    char wanted[QUANTITY_BUFFER];
    const char *status = claim->resize_status;

    if (status != NULL && g_str_has_suffix(status, "Infeasible")) {
        g_autofree char *answer =
            last_answer(self, claim,
                        g_str_has_prefix(status, "Node") ? CSI_NODE_EXPAND_VOLUME
                                                         : CSI_CONTROLLER_EXPAND_VOLUME);
        why_link(self, &claim->meta, changed_at(claim, "ControllerResizeError"), "cannot have %s%s",
                 quantity_format(claim->request_bytes, wanted), answer);
        return why_because(self, "expansion-infeasible");
    }
    if (g_strcmp0(status, "NodeResizePending") == 0 ||
        claim_condition_is_true(claim, "FileSystemResizePending")) {
        const GPtrArray *pods = why_pods_of_claim(self, claim);
        why_link(self, &claim->meta, changed_at(claim, "FileSystemResizePending"),
                 "grows to %s on its node", quantity_format(claim->request_bytes, wanted));
        for (unsigned i = 0; i < pods->len; i++) {
            const Pod *pod = pods->pdata[i];
            const char *driver, *handle = handle_of(self, claim, &driver);
            const Node *node = (const Node *)why_get(self, KIND_NODE, NULL, pod->node_name);
            if (node != NULL &&
                ((why_is_silent(node) && why_ask_node(self, node)) ||
                 why_ask_process(self, "kubelet", pod->node_name) ||
                 why_ask_call(self, driver, CSI_NODE_EXPAND_VOLUME, handle, pod->node_name)))
                return TRUE;
            if (!pod_is_ready(pod) && why_ask_pod(self, pod))
                return TRUE;
        }
        return why_because(self, pods->len > 0 ? "expanding" : "unmounted");
    }
    if (claim->capacity_bytes == 0 || claim->request_bytes <= claim->capacity_bytes)
        return FALSE;
    why_link(self, &claim->meta, changed_at(claim, "Resizing"), "is to grow to %s",
             quantity_format(claim->request_bytes, wanted));
    return why_ask_process(self, "kube-controller-manager", NULL) ||
           ask_resizer(self, claim, CSI_CONTROLLER_EXPAND_VOLUME, "expanding");
}

gboolean
why_ask_change(Question *self, const Claim *claim)
{
    return claim->phase == CLAIM_BOUND && !object_is_deleted(&claim->meta) &&
           ((claim->attributes_class != NULL && ask_class_change(self, claim)) ||
            ask_expansion(self, claim));
}
