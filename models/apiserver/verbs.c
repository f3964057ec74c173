/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request does to the store at the instant at which it is committed: create, update, patch,
 * delete, bind, evict. Reads the stored object, checks preconditions (resourceVersion, uid),
 * admission and finalizers, and answers with the stored object or a code.
 *
 * Invariant: an object leaves the store only when it is being deleted, has no finalizer and no
 * grace left; a write that changes nothing gets no new resourceVersion. */
#include "verbs.h"

#include "checks.h"
#include "models/api/namespace.h"
#include "models/api/workload.h"

static void
verbs_answer(ApiCall *call, const Object *object /* taken */)
{
    call->code = API_OK;
    call->object = object;
}

static void
verbs_refuse(const ApiVerbs *self, ApiCall *call, ApiCode code)
{
    call->code = code;
    call->message = g_strdup(self->message->str);
}

static void G_GNUC_PRINTF(3, 4) refuse_with(ApiCall *call, ApiCode code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    call->message = strings_formatv(format, args);
    call->code = code;
    va_end(args);
}

static const char *
resource_of(const ApiVerbs *self, const ApiCall *call)
{
    return objects_resource_name(self->store->objects, call->request.key);
}

static void
refuse_conflict(const ApiVerbs *self, ApiCall *call)
{
    refuse_with(call, API_CONFLICT,
                "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please "
                "apply your changes to the latest version and try again",
                resource_of(self, call), call->request.key->name);
}

static void
refuse_not_found(const ApiVerbs *self, ApiCall *call)
{
    refuse_with(call, API_NOT_FOUND, "%s \"%s\" not found", resource_of(self, call),
                call->request.key->name);
}

/* Whether a deletion is complete: nothing holds the object, and no grace is left (API-51,
 * API-S7). */
static gboolean
may_go(const Object *object)
{
    if (object_kind(object) == KIND_NAMESPACE && NAMESPACE_CONST(object)->finalizers != NULL)
        return FALSE; /* API-56 */
    return object_is_deleted(object) && object->finalizers == NULL && object->deletion_grace_s <= 0;
}

/* Admission does not look whether the object exists: it refuses or charges an existing one like a
 * new one (API-20). */
static gboolean
admission_refuses_again(ApiVerbs *self, ApiCall *call)
{
    if (self->store->counts[KIND_RESOURCE_QUOTA] == 0 && self->store->counts[KIND_LIMIT_RANGE] == 0)
        return FALSE;
    g_autoptr(Object) object = object_edit(call->request.object);
    g_string_truncate(self->message, 0);
    ApiCode code = admission_create(self->admission, object, self->message);
    if (code != API_OK)
        verbs_refuse(self, call, code);
    return code != API_OK;
}

/* DS-32: the generation of the template only, in an annotation that no update takes away. @before:
 * NULL: of a new set */
static void
count_template_generation(const ApiVerbs *self, const Object *before, Object *after)
{
    Strings *strings = objects_strings(self->store->objects);

    if (object_kind(after) != KIND_DAEMON_SET)
        return;
    const char *text =
        object_annotation(before != NULL ? before : after, ANNOTATION_TEMPLATE_GENERATION);
    int64_t number = text == NULL ? 0 : CLAMP(g_ascii_strtoll(text, NULL, 10), 0, G_MAXINT32);
    if (before == NULL) {
        number = MAX(number, 1);
    } else {
        const PodTemplate *old = workload_template(before), *new = workload_template(after);
        number += field_equal(&field_pod_template, &old, &new) ? 0 : 1;
    }
    if (number > 0)
        object_set_annotation(after, strings_intern(strings, ANNOTATION_TEMPLATE_GENERATION),
                              strings_internf(strings, "%" G_GINT64_FORMAT, number));
}

/* API-3 */
static gboolean
counts_generation(const ApiVerbs *self, const ObjectKey *key)
{
    return key->resource != 0
               ? objects_resource_at(self->store->objects, key->resource)->counts_generation
               : kind_class(key->kind)->has_generation;
}

static void
commit_create(ApiVerbs *self, ApiCall *call)
{
    ObjectKey *key = call->request.key;

    if (api_store_get(self->store, key) != NULL) {
        if (admission_refuses_again(self, call))
            return;
        refuse_with(call, API_EXISTS, "%s \"%s\" already exists", resource_of(self, call),
                    key->name);
        return;
    }

    g_autoptr(Object) object = object_edit(call->request.object);
    object->uid = objects_uid(self->store->objects, key, ++key->incarnation);
    object->created_at = sim_now(self->store->sim);
    object->generation = counts_generation(self, key) ? 1 : 0;
    count_template_generation(self, NULL, object);
    g_string_truncate(self->message, 0);
    if (*key->namespace != '\0' && self->store->implies_namespaces)
        namespace_imply(self->store, key->namespace, FALSE);
    ApiCode code = namespace_admit(self->store, object, self->message);
    if (code == API_OK)
        code = admission_create(self->admission, object, self->message);
    if (code != API_OK) {
        verbs_refuse(self, call, code);
        return;
    }
    verbs_answer(call, api_store_commit(self->store, WATCH_ADDED, g_steal_pointer(&object),
                                        call->responds_at, call->n));
    if (key->kind == KIND_NAMESPACE)
        namespace_furnish(self->store, key->name);
}

static gboolean
is_status_write(ApiVerb verb)
{
    return verb == API_UPDATE_STATUS || verb == API_PATCH_STATUS;
}

/* Stores @after unless it is refused, changes nothing (API-2), or ends a deletion (API-51). */
static void
commit_change(ApiVerbs *self, ApiCall *call, const Object *before, Object *changed /* taken */)
{
    g_autoptr(Object) after = changed;

    g_string_truncate(self->message, 0);
    ApiCode code = admission_update(self->admission, before, after,
                                    is_status_write(call->request.verb), self->message);
    if (code == API_OK && quota_handles(object_kind(before), call->request.verb))
        code = quota_admit(self->store, before, after, self->message);
    if (code != API_OK) {
        verbs_refuse(self, call, code);
        return;
    }
    if (before->manifest == after->manifest && object_equal(before, after)) {
        verbs_answer(call, object_ref(before));
        return;
    }
    WatchType type = may_go(after) ? WATCH_DELETED : WATCH_MODIFIED;
    verbs_answer(call, api_store_commit(self->store, type, g_steal_pointer(&after),
                                        call->responds_at, call->n));
}

/* API-3: changes of metadata or status do not count. */
static void
count_generation(const ApiVerbs *self, const Object *before, Object *after)
{
    if (object_kind(after) == KIND_POD && after->generation > 0 &&
        !pod_spec_asks_same(POD_CONST(before)->spec, POD_CONST(after)->spec))
        after->generation++;
    if (counts_generation(self, after->key) &&
        (!object_spec_equal(before, after) || !object_rest_equal(before, after)))
        after->generation++;
    count_template_generation(self, before, after);
}

static void
commit_update(ApiVerbs *self, ApiCall *call, gboolean status)
{
    const ApiRequest *request = &call->request;
    const Object *before = api_store_get(self->store, request->key);

    if (before == NULL) {
        refuse_not_found(self, call);
        return;
    }
    if ((request->object->resource_version != 0 &&
         request->object->resource_version != before->resource_version) ||
        (object_uid_is_set(request->object->uid) &&
         !object_uid_equal(request->object->uid, before->uid))) {
        refuse_conflict(self, call);
        return;
    }

    Object *after = object_edit(before);
    object_take_fields(after, request->object, status);
    object_take_metadata(after, request->object); /* writes of the status take it, too (CGO-44) */
    if (!status)
        count_generation(self, before, after);
    commit_change(self, call, before, after);
}

static gboolean
precondition_holds(const ApiVerbs *self, ApiCall *call, const Object *before)
{
    const ApiRequest *request = &call->request;

    if (before == NULL) {
        refuse_not_found(self, call);
        return FALSE;
    }
    if ((object_uid_is_set(request->uid) && !object_uid_equal(request->uid, before->uid)) ||
        (request->resource_version != 0 && request->resource_version != before->resource_version)) {
        refuse_conflict(self, call);
        return FALSE;
    }
    return TRUE;
}

static void
commit_patch(ApiVerbs *self, ApiCall *call, gboolean status)
{
    const Object *before = api_store_get(self->store, call->request.key);

    if (!precondition_holds(self, call, before))
        return;

    Object *after = object_edit(before);
    call->request.edit(after, call->request.arg);
    if (!status)
        count_generation(self, before, after);
    commit_change(self, call, before, after);
}

/* WL-90: the grace of a pod; none if no kubelet has it, or it is over. WL-91: a deletion under way
 * keeps its grace, even if the pod has ended meanwhile, unless the new one asks for less. */
static int32_t
pod_grace(const Pod *pod, int32_t asked_s)
{
    int32_t pending_s = MAX(pod->meta.deletion_grace_s, 0);

    if (object_is_deleted(&pod->meta))
        return asked_s >= 0 ? MIN(asked_s, pending_s) : pending_s;
    if (pod->node_name == NULL || pod_is_terminal(pod))
        return 0;
    return asked_s >= 0 ? asked_s : pod->spec->grace_s;
}

/* API-55: the finalizer makes the object wait for the garbage collector. */
static void
set_propagation(const ApiVerbs *self, Object *object, ApiPropagation propagation)
{
    static const char *const finalizers[] = {
        [API_FOREGROUND] = FINALIZER_FOREGROUND, [API_ORPHAN] = FINALIZER_ORPHAN};
    Strings *strings = objects_strings(self->store->objects);

    if (propagation != API_BACKGROUND && kind_owns_others(object_kind(object)))
        object_add_finalizer(object, strings_intern(strings, finalizers[propagation]));
}

static void
commit_delete(ApiVerbs *self, ApiCall *call)
{
    const Object *before = api_store_get(self->store, call->request.key);

    if (!precondition_holds(self, call, before))
        return;
    if (namespace_is_immortal(before)) {
        refuse_with(call, API_FORBIDDEN,
                    "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                    object_name(before));
        return;
    }

    gboolean is_pod = object_kind(before) == KIND_POD;
    int32_t grace_s = is_pod ? pod_grace(POD_CONST(before), call->request.grace_s) : 0;
    if (object_is_deleted(before) && grace_s >= before->deletion_grace_s && !may_go(before)) {
        verbs_answer(call, object_ref(before)); /* API-53, WL-91: the grace may only get shorter */
        return;
    }

    Object *after = object_edit(before);
    if (!object_is_deleted(before))
        set_propagation(self, after, call->request.propagation);
    if (object_is_deleted(before)) /* counted from the first deletion (WL-91) */
        after->deleted_at -= (MAX(before->deletion_grace_s, 0) - grace_s) * SIM_SECOND;
    else
        after->deleted_at = sim_now(self->store->sim) + grace_s * SIM_SECOND;
    after->deletion_grace_s = grace_s;
    if (object_kind(after) == KIND_NAMESPACE) { /* API-56 */
        NAMESPACE(after)->phase = NAMESPACE_TERMINATING;
        after->deletion_grace_s = -1;
    }
    if (after->generation > 0 && !object_is_deleted(before))
        after->generation++; /* API-3 */
    if (!may_go(after)) {
        verbs_answer(
            call, api_store_commit(self->store, WATCH_MODIFIED, after, call->responds_at, call->n));
        return;
    }
    if (is_pod) { /* WL-90: two writes, both seen by watchers */
        Object *last = object_edit(after);
        object_unref(
            api_store_commit(self->store, WATCH_MODIFIED, after, call->responds_at, call->n));
        after = last;
    }
    verbs_answer(call,
                 api_store_commit(self->store, WATCH_DELETED, after, call->responds_at, call->n));
    if (call->request.key->kind == KIND_OTHER && *call->request.key->namespace != '\0')
        namespace_furnish(self->store, call->request.key->namespace);
}

/* API-22. */
static void
commit_bind(ApiVerbs *self, ApiCall *call)
{
    const Object *before = api_store_get(self->store, call->request.key);
    const char *name = call->request.key->name;

    if (!precondition_holds(self, call, before))
        return;
    if (object_is_deleted(before)) {
        refuse_with(call, API_CONFLICT,
                    "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is being "
                    "deleted, cannot be assigned to a host",
                    name, name);
        return;
    }
    if (POD_CONST(before)->node_name != NULL) {
        refuse_with(call, API_CONFLICT,
                    "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is already "
                    "assigned to node \"%s\"",
                    name, name, POD_CONST(before)->node_name);
        return;
    }

    Object *after = object_edit(before);
    admission_bind(self->admission, POD(after), call->request.node_name);
    verbs_answer(call,
                 api_store_commit(self->store, WATCH_MODIFIED, after, call->responds_at, call->n));
}

/* WL-113: before it deletes, the server writes the budget's status and the reason into the pod. */
static void
commit_eviction(ApiVerbs *self, ApiCall *call)
{
    const Object *before = api_store_get(self->store, call->request.key);

    if (!precondition_holds(self, call, before))
        return;
    g_string_truncate(self->message, 0);
    ApiCode code = eviction_admit(self->store, POD_CONST(before), self->message);
    if (code != API_OK) {
        verbs_refuse(self, call, code);
        return;
    }
    before = api_store_get(self->store, call->request.key);
    Object *told = object_edit(before);
    if (eviction_tell(self->store, POD(told)))
        api_store_write(self->store, told);
    else
        object_unref(told);
    commit_delete(self, call);
}

void
api_verbs_commit(ApiVerbs *self, ApiCall *call)
{
    switch (call->request.verb) {
    case API_GET: /* API-15: what is stored now */
        if (api_store_get(self->store, call->request.key) != NULL)
            verbs_answer(call, object_ref(api_store_get(self->store, call->request.key)));
        else
            refuse_not_found(self, call);
        return;
    case API_LIST: /* API-16: likewise */
        verbs_answer(call, NULL);
        return;
    case API_CREATE:
        commit_create(self, call);
        return;
    case API_UPDATE:
    case API_UPDATE_STATUS:
        commit_update(self, call, call->request.verb == API_UPDATE_STATUS);
        return;
    case API_PATCH:
    case API_PATCH_STATUS:
        commit_patch(self, call, call->request.verb == API_PATCH_STATUS);
        return;
    case API_DELETE:
        commit_delete(self, call);
        return;
    case API_BIND:
        commit_bind(self, call);
        return;
    case API_EVICT:
        commit_eviction(self, call);
        return;
    case N_API_VERBS:
        break;
    }
    g_assert_not_reached();
}
