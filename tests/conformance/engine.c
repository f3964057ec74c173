/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/engine.h"

#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/client/process-private.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan-private.h"
#include "models/timing/timing-test.h"

#include <string.h>

#define NOT_CACHED "x-not-in-controller-cache"
/* Nothing that a single sync waits for takes longer. */
#define SYNC_TIME (60 * SIM_SECOND)
/* Watches that say nothing: their events come after the end of every case. */
#define SILENCE (INT64_C(1000) * 24 * 3600 * SIM_SECOND)

/* ---- The case ---- */

const json_t *
case_get(const Case *self, const char *path)
{
    g_hash_table_add(self->read, g_strdup(path));
    return json_path_get(self->json, path);
}

const char *
case_string(const Case *self, const char *path)
{
    return json_string_value(case_get(self, path));
}

const char *
case_text(Case *self, const json_t *json, const char *path)
{
    const char *text = json_path_string(json, path);

    if (json == self->json)
        g_hash_table_add(self->read, g_strdup(path));
    if (text == NULL)
        case_fail(self, "no text: %s", path);
    return text == NULL ? "" : text;
}

gboolean
case_flag(const Case *self, const char *path)
{
    return json_is_true(case_get(self, path));
}

gboolean
case_gate(const Case *self, const char *name, gboolean default_value)
{
    const json_t *value = json_object_get(case_get(self, "feature_gates"), name);

    return json_is_boolean(value) ? json_is_true(value) : default_value;
}

void
case_fail(Case *self, const char *format, ...)
{
    va_list args;

    if (self->faults->len > 0)
        g_string_append(self->faults, "; ");
    va_start(args, format);
    g_string_append_vprintf(self->faults, format, args);
    va_end(args);
}

/* ---- Objects ---- */

/* Real uids in place of the cases' short ones: the same for the same text. */
char *
case_uid(const char *text)
{
    char buffer[OBJECT_UID_BUFFER];
    ObjectUid uid = {sim_hash_string(text), sim_hash_combine(sim_hash_string(text), 1)};

    if (text[0] == '\0' || object_uid_parse(text, &uid))
        return g_strdup(text);
    return g_strdup(object_uid_format(uid, buffer));
}

static json_t *
uid_of_text(const char *text)
{
    g_autofree char *uid = case_uid(text);

    return json_string(uid);
}

/* Requirements need a key: models rely on the API server for that. */
static void
adapt_requirements(const char *name, json_t *list)
{
    json_t *item;
    size_t i;

    if (!g_str_has_suffix(name, "Expressions") && !g_str_has_suffix(name, "Fields"))
        return;
    json_array_foreach(list, i, item)
        if (!json_is_object(item))
            json_array_set_new(list, i, json_pack("{s:s}", "key", ""));
        else if (!json_is_string(json_object_get(item, "key")))
            json_object_set_new(item, "key", json_string(""));
}

/* Makes a manifest of a case one that the parser takes. Changes @value. */
static void
adapt(json_t *value)
{
    const char *key;
    json_t *item;
    void *next;
    size_t i;

    json_object_del(value, NOT_CACHED);
    json_object_foreach_safe(value, next, key, item)
    {
        adapt(item);
        adapt_requirements(key, item);
        if (json_is_null(item))
            json_object_del(value, key);
        else if (strcmp(key, "uid") == 0 && json_is_string(item))
            json_object_set_new(value, key, uid_of_text(json_string_value(item)));
        else if (strcmp(key, "ephemeral") == 0 && json_is_object(item) &&
                 json_object_size(item) == 0)
            json_object_set_new(item, "volumeClaimTemplate", json_pack("{s:{}}", "spec"));
        /* A reference without a name still means that the volume is claimed. */
        else if (strcmp(key, "claimRef") == 0 && json_object_get(item, "name") == NULL)
            json_object_set_new(item, "name", json_string("-"));
    }
    json_array_foreach(value, i, item)
        adapt(item);
}

static void
ignore_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)parser;
    (void)where;
    (void)message;
    (void)hint;
}

Object *
case_object(Case *self, const json_t *manifest, ObjectKind kind)
{
    const char *name = json_path_string(manifest, "metadata.name");
    const char *namespace = json_path_string(manifest, "metadata.namespace");
    g_autoptr(GString) path = g_string_new(NULL);
    static const Release release = {RELEASE_DEFAULT_MINOR, NULL};
    ApiParser parser = {
        .objects = self->objects, .report = ignore_fault, .path = path, .migrates = &release};
    json_t *adapted = json_deep_copy(manifest);

    if (!kind_class(kind)->namespaced)
    namespace = NULL;
    else if (namespace == NULL) namespace = "default";
    adapt(adapted);
    ObjectKey *key = objects_key(self->objects, kind, namespace, name == NULL ? "-" : name);
    Object *object = api_parser_template(&parser, adapted, key);
    json_decref(adapted);
    g_ptr_array_add(self->owned, object);
    return object;
}

Object *
case_object_of_manifest(Case *self, const json_t *manifest)
{
    const char *name = json_path_string(manifest, "kind");
    ObjectKind kind;

    if (name != NULL && kind_find(NULL, name, &kind))
        return case_object(self, manifest, kind);
    case_fail(self, "an object of the kind %s", name == NULL ? "(none)" : name);
    return case_object(self, manifest, KIND_POD);
}

GPtrArray *
case_objects(Case *self, const char *path, ObjectKind kind)
{
    GPtrArray *objects = g_ptr_array_new();
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, path), i, manifest)
        g_ptr_array_add(objects, case_object(self, manifest, kind));
    return objects;
}

gboolean
case_is_api_only(const json_t *manifest)
{
    return json_is_true(json_object_get(manifest, NOT_CACHED));
}

void
case_import_object(Case *self, Object *object, CaseWhere where)
{
    if ((where & CASE_API) != 0)
        api_server_import(self->api, object_edit(object));
    if ((where & CASE_INFORMER) != 0) {
        const Object *stored = api_server_get(self->api, object->key);
        for (unsigned i = 0; model_classes[i] != NULL; i++) {
            Informer *informer = case_informer(self, model_classes[i], object_kind(object));
            if (informer == NULL)
                continue;
            informer_put(informer, (where & CASE_API) != 0 ? stored : object);
            return;
        }
    }
}

void
case_import(Case *self, const char *path, ObjectKind kind, CaseWhere where)
{
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, path), i, manifest)
        if (!case_is_api_only(manifest))
            case_import_object(self, case_object(self, manifest, kind), where);
    json_array_foreach(case_get(self, path), i, manifest)
        if (case_is_api_only(manifest))
            case_import_object(self, case_object(self, manifest, kind), where & CASE_API);
}

/* Null and empty values do not count, except where the cases keep them on purpose. */
static gboolean
is_nothing(const char *key, const json_t *value)
{
    static const char *const kept[] = {"selector",          "ephemeral",        "claimRef",
                                       "nodeSelectorTerms", "storageClassName", NULL};

    if (json_is_null(value))
        return TRUE;
    if (g_strv_contains(kept, key))
        return FALSE;
    if (json_is_object(value))
        return json_object_size(value) == 0;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    return json_is_string(value) && json_string_length(value) == 0;
}

/* Removes from @value what is not compared. */
static void
strip(json_t *value)
{
    static const char *const ignored[] = {"resourceVersion",
                                          "creationTimestamp",
                                          "lastPhaseTransitionTime",
                                          "lastTransitionTime",
                                          "message",
                                          "generation",
                                          "managedFields",
                                          "lastProbeTime",
                                          "time",
                                          "deletionGracePeriodSeconds",
                                          NULL};
    const char *key;
    json_t *item;
    void *next;
    size_t i;

    json_object_foreach_safe(value, next, key, item)
    {
        strip(item);
        if (strcmp(key, "deletionTimestamp") == 0)
            json_object_set_new(value, key, json_true());
        else if (g_strv_contains(ignored, key) || is_nothing(key, item))
            json_object_del(value, key);
    }
    json_array_foreach(value, i, item)
        strip(item);
}

json_t *
case_comparable(Case *self, const Object *object)
{
    json_t *json = object_to_json(object);

    (void)self;
    strip(json);
    return json;
}

ObjectKey *
case_key(Case *self, ObjectKind kind, const char *text)
{
    if (text == NULL) {
        case_fail(self, "no name of a %s", kind_class(kind)->kind);
        text = "-";
    }
    const char *slash = strchr(text, '/');
    g_autofree char *namespace =
        slash == NULL ? g_strdup("default") : g_strndup(text, (gsize)(slash - text));

    return objects_key(self->objects, kind, kind_class(kind)->namespaced ? namespace : NULL,
                       slash == NULL ? text : slash + 1);
}

ObjectKey *
case_find_key(Case *self, const char *path, ObjectKind kind, const char *name)
{
    const json_t *manifest;
    size_t i;

    json_array_foreach(case_get(self, path), i, manifest) {
        const char *namespace = json_path_string(manifest, "metadata.namespace");
        if (g_strcmp0(json_path_string(manifest, "metadata.name"), name) == 0)
            return objects_key(self->objects, kind,
                               !kind_class(kind)->namespaced ? NULL
                               : namespace == NULL           ? "default"
                                                             : namespace,
                               name);
    }
    return NULL;
}

/* ---- What is seen ---- */

static const char *const verb_words[] = {
    [API_GET] = "get",
    [API_LIST] = "list",
    [API_CREATE] = "create",
    [API_UPDATE] = "update",
    [API_UPDATE_STATUS] = "update",
    [API_PATCH] = "patch",
    [API_PATCH_STATUS] = "patch",
    [API_DELETE] = "delete",
    [API_BIND] = "create",
    [API_EVICT] = "create",
};

static const char *
subresource_of(ApiVerb verb)
{
    if (verb == API_UPDATE_STATUS || verb == API_PATCH_STATUS)
        return "status";
    if (verb == API_EVICT)
        return "eviction";
    return verb == API_BIND ? "binding" : NULL;
}

/* A refusal that a case wants, of the next matching calls. */
typedef struct {
    const char *verb, *resource; /* "*": any */
    ApiCode code;
    const char *message;
    json_int_t times;
} InjectedError;

static const struct {
    const char *name;
    ApiCode code;
} error_codes[] = {
    {"Forbidden",     API_FORBIDDEN},
    {"NotFound",      API_NOT_FOUND},
    {"Conflict",      API_CONFLICT },
    {"AlreadyExists", API_EXISTS   },
    {"Timeout",       API_TIMEOUT  },
};

static void
load_errors(Case *self)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "inject.api_errors"), i, item) {
        const json_t *times = json_object_get(item, "times");
        InjectedError *error = g_new0(InjectedError, 1);
        const char *error_name = json_path_string(item, "error");
        const char *name = error_name != NULL ? error_name : json_path_string(item, "kind");
        *error = (InjectedError){
            .verb = json_path_string(item, "verb"),
            .resource = json_path_string(item, "resource"),
            .code = API_INVALID, /* any other */
            .message = name,
            .times = times == NULL           ? 1
                     : json_is_string(times) ? G_MAXINT64 /* "always" */
                                             : json_integer_value(times),
        };
        for (unsigned k = 0; k < G_N_ELEMENTS(error_codes); k++)
            if (g_strcmp0(error_codes[k].name, name) == 0)
                error->code = error_codes[k].code;
        g_ptr_array_add(self->errors, error);
    }
}

static gboolean
word_matches(const char *pattern, const char *word)
{
    return pattern == NULL || strcmp(pattern, "*") == 0 || strcmp(pattern, word) == 0;
}

/* All requests come through here, those that will be refused, too. */
static ApiCode
request_comes(void *data, const ApiRequest *request, GString *message)
{
    Case *self = data;
    const char *resource = kind_class(request->key->kind)->resource;
    const char *verb = verb_words[request->verb];
    json_t *write = json_pack("{s:s, s:s}", "verb", verb, "resource", resource);

    if (request->verb != API_LIST)
        json_object_set_new(write, "name", json_string(request->key->name));
    if (request->key->namespace[0] != '\0')
        json_object_set_new(write, "namespace", json_string(request->key->namespace));
    if (subresource_of(request->verb) != NULL)
        json_object_set_new(write, "subresource", json_string(subresource_of(request->verb)));
    if (request->object != NULL)
        json_object_set_new(write, "object", case_comparable(self, request->object));
    json_array_append_new(self->writes, write);

    for (unsigned i = 0; i < self->errors->len; i++) {
        InjectedError *error = self->errors->pdata[i];
        if (error->times == 0 || !word_matches(error->verb, verb) ||
            !word_matches(error->resource, resource))
            continue;
        error->times--;
        g_string_assign(message, error->message == NULL ? "injected" : error->message);
        return error->code;
    }
    return API_OK;
}

static void
engine_request_answered(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    Case *self = data;

    (void)arrived_at;
    if (code == API_OK && request->verb != API_GET && request->verb != API_LIST &&
        !g_ptr_array_find(self->changed, request->key, NULL))
        g_ptr_array_add(self->changed, request->key);
}

static void
step_carried_out(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *text)
{
    Case *self = data;
    const Step *step = plan_step(plan, plan->cursor);

    (void)component;
    (void)rule;
    (void)text;
    if (step->kind == STEP_EVENT)
        json_array_append_new(self->events, json_pack("{s:s, s:s}", "type", step->event.type,
                                                      "reason", step->event.reason));
    if (step->kind == STEP_START && ++self->n_starts > 0 && self->before_start != NULL)
        self->before_start(self, self->n_starts);
}

void
case_forget(Case *self)
{
    json_array_clear(self->writes);
    json_array_clear(self->events);
    g_ptr_array_set_size(self->changed, 0);
}

/* ---- The world ---- */

static StringMap *
gates_of(Case *self)
{
    Strings *strings = objects_strings(self->objects);
    g_autoptr(StringMap) map = NULL;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)case_get(self, "feature_gates"), name, value) {
        if (!json_is_boolean(value)) /* "any" */
            continue;
        StringMap *with =
            string_map_with(map, strings_intern(strings, name),
                            strings_intern(strings, json_is_true(value) ? "true" : "false"));
        string_map_unref(map);
        map = with;
    }
    return g_steal_pointer(&map);
}

void
case_world_new(Case *self, const WorldOptions *options)
{
    SimOptions sim_options = {.seed = 1, .untraced = TRUE, .measured = options->measured};

    timing_init_instant(&self->timing);
    if (!options->live) {
        sim_dist_unref(self->timing.watch);
        self->timing.watch = sim_dist_new_constant(SILENCE);
    }
    self->sim = sim_new(&sim_options);
    self->gates = gates_of(self);
    ClusterOptions cluster_options = {
        .sim = self->sim,
        .objects = self->objects,
        .timing = &self->timing,
        .feature_gates = self->gates,
        .minor_version = options->minor_version == 0 ? 32 : options->minor_version,
        .unlimited_qps = TRUE,
        .only = options->only,
    };
    self->cluster = cluster_new(&cluster_options);
    self->api = cluster_api(self->cluster);
    load_errors(self);
    api_server_set_fault(self->api, request_comes, self);
    api_server_observe_requests(self->api, engine_request_answered, self);
    cluster_observe_plans(self->cluster, step_carried_out, self);
}

typedef struct {
    Case *self;
    const WorldOptions *options;
} Starting;

static void *
options_of_process(void *data, const ProcessClass *class)
{
    const Starting *starting = data;
    const WorldOptions *options = starting->options;
    const char *wanted = options->only != NULL ? options->only->process->name : options->process;

    if (g_strcmp0(wanted, class->name) != 0)
        return NULL;
    void *flags = process_options_new(class, objects_strings(starting->self->objects));
    if (options->set_options != NULL)
        options->set_options(starting->self, class, flags);
    return flags;
}

void
case_start(Case *self, const WorldOptions *options)
{
    Starting starting = {self, options};

    cluster_start(self->cluster, options_of_process, &starting);
}

void *
case_model(const Case *self, const ModelClass *class)
{
    return cluster_model(self->cluster, class, NULL);
}

Informer *
case_informer(const Case *self, const ModelClass *class, ObjectKind kind)
{
    const Component *model = cluster_model(self->cluster, class, NULL);

    return model == NULL ? NULL : process_informer(model->process, kind, NULL);
}

static void
nothing_happens(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

static const SimEventType time_goes_by = {
    .name = "conformance/time goes by",
    .fire = nothing_happens,
};

void
case_wait(Case *self, SimTime time)
{
    SimTime end = sim_now(self->sim) + time;

    sim_at(self->sim, end, &time_goes_by, NULL, WAIT_SCENARIO);
    sim_run_until(self->sim, end);
}

static void
plan_is_over(void *component, Plan *plan, PlanEnd end, const char *message)
{
    Case *self = plan_owner(plan);

    (void)component;
    self->plan_over = TRUE;
    self->plan_failed = end == PLAN_FAILED;
    self->plan_requeues = plan->requeue != PLAN_REQUEUE_NOT;
    self->plan_message = message;
}

void
case_run_start(Case *self, PlanStart *start)
{
    start->owner = self;
    start->done = plan_is_over;
    self->plan_over = FALSE;
    plan_start(start);
    case_wait(self, SYNC_TIME);
    if (!self->plan_over)
        case_fail(self, "the sync does not end");
}

void
case_run_plan(Case *self, void *component, PlanDecide decide, ObjectKey *key)
{
    PlanStart start = {.component = component, .decide = decide, .key = key};

    case_run_start(self, &start);
}

/* ---- From start to end ---- */

static void
case_clear(Case *self)
{
    cluster_free(self->cluster);
    sim_free(self->sim);
    g_ptr_array_unref(self->owned);
    string_map_unref(self->gates);
    objects_free(self->objects);
    timing_clear(&self->timing);
    g_ptr_array_unref(self->errors);
    g_ptr_array_unref(self->changed);
    json_decref(self->writes);
    json_decref(self->events);
    g_hash_table_unref(self->read);
}

/* Whether the act has looked at @part.@name: at it, at a part of it, or at all of @part. */
static gboolean
is_read(const Case *self, const char *part, const char *name)
{
    g_autofree char *path = g_strconcat(part, ".", name, NULL),
                    *below = g_strconcat(path, ".", NULL);
    GHashTableIter iter;
    void *read;

    g_hash_table_iter_init(&iter, self->read);
    while (g_hash_table_iter_next(&iter, &read, NULL))
        if (g_str_equal(read, part) || g_str_equal(read, path) || g_str_has_prefix(read, below))
            return TRUE;
    return FALSE;
}

static gboolean
engine_is_empty(const json_t *value)
{
    return !json_is_true(value) && !json_is_number(value) && json_string_length(value) == 0 &&
           json_array_size(value) == 0 && json_object_size(value) == 0;
}

/* Input that no act has looked at is not understood. Listed: what changes nothing here, or only
 * where the driver is called. */
static void
expect_all_read(Case *self)
{
    static const char *const parts[] = {"args", "config", "given", "inject"};
    static const char *const ignored[] = {
        "args.attributes",                /* of a call that is not made */
        "args.capability",                /* the same */
        "args.secrets",                   /* the same */
        "args.pv_name",                   /* made by the model, and compared in the calls */
        "args.secret_name_key",           /* constants of the sidecar */
        "args.secret_namespace_key",      /* the same */
        "args.deprecated_name_key",       /* the same */
        "args.deprecated_namespace_key",  /* the same */
        "args.node_expansion",            /* of a resizer that is refused */
        "args.single_node_multi_writer",  /* the same */
        "config.bind_timeout_s",          /* nothing is bound */
        "config.node_expansion_required", /* the driver's answer to a call that is not made */
        "given.cache",                    /* empty */
        "given.plugin",                   /* one that attaches */
        "inject.driver",                  /* not asked */
        "inject.driver_code",             /* not asked */
        NULL};

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(self->json, parts[i]), name, value) {
            g_autofree char *path = g_strconcat(parts[i], ".", name, NULL);
            if (!engine_is_empty(value) && !is_read(self, parts[i], name) &&
                !g_strv_contains(ignored, path))
                case_fail(self, "not understood: %s", path);
        }
    }
}

const Act *
case_find_act(const Act *acts, const json_t *json)
{
    const char *name = json_path_string(json, "act");

    if (name == NULL)
        name = json_path_string(json, "category");
    for (const Act *act = acts; act->act != NULL; act++)
        if (g_strcmp0(act->act, name) == 0 || strcmp(act->act, "*") == 0)
            return act;
    return NULL;
}

gboolean
case_run(const Act *acts, const json_t *json, GString *faults)
{
    Case self = {
        .json = json,
        .id = json_path_string(json, "id"),
        .faults = faults,
        .read = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .objects = objects_new(1),
        .owned = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref),
        .errors = g_ptr_array_new_with_free_func(g_free),
        .changed = g_ptr_array_new(),
        .writes = json_array(),
        .events = json_array(),
    };
    const Act *act = case_find_act(acts, json);

    if (act != NULL)
        act->run(&self);
    else
        case_fail(&self, "no such act: %s",
                  case_string(&self, "act") == NULL ? "(none)" : case_string(&self, "act"));
    expect_all_read(&self);
    case_clear(&self);
    return faults->len == 0;
}
