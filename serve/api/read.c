/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of an object or a list: at the present instant, without virtual latency. Reading changes
 * nothing in the run. A list is in the order of etcd's keys, so a page's token is the last key, as
 * in the API server, and a page is found again after changes. A list is of an exact older version
 * only if nothing has happened since. Which fields a selector may name depends on the kind. */
#include <inttypes.h>
#include <string.h>

#include "api-private.h"
#include "made/made.h"
#include "models/api/fields.h"
#include "run/kubectl/cluster.h"
#include "run/kubectl/print.h"
#include "run/results/snapshot.h"
#include "serve/api/protobuf/protobuf.h"
#include "table.h"

/* ---- Selectors ---- */

/* The fields that field selectors may name, besides metadata.name and metadata.namespace
 * (pkg/apis/core/v1/conversion.go and its like). */
static const struct {
    const char *kind, *fields;
} selectable[] = {
    {"Pod",                       "spec.host spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName "
            "spec.hostNetwork status.phase status.podIP status.podIPs status.nominatedNodeName"},
    {"Node",                      "spec.unschedulable"                                                    },
    {"Namespace",                 "status.phase"                                                          },
    {"Secret",                    "type"                                                                  },
    {"ReplicationController",     "status.replicas"                                                       },
    {"ReplicaSet",                "status.replicas"                                                       },
    {"Job",                       "status.successful"                                                     },
    {"Event",
     "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
     "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath "
     "reason reportingComponent reportingController source type regarding.kind regarding.namespace "
     "regarding.name regarding.uid"                                                                       },
    {"CertificateSigningRequest", "spec.signerName"                                                       },
    {"Service",                   "spec.clusterIP spec.type"                                              },
};

/* Whether a CustomResourceDefinition names the field in this version's selectableFields. */
static gboolean
is_selectable_of_custom(const ApiResource *row, const char *field)
{
    const json_t *fields = json_object_get(row->custom, "selectableFields");

    for (gsize i = 0; i < json_array_size(fields); i++) {
        const char *path = json_path_string(json_array_get(fields, i), "jsonPath");
        if (path != NULL && strcmp(path + (*path == '.'), field) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Returns: (borrowed): the fields of @row's kind; NULL: the common ones alone */
static const char *
selectable_of(const ApiResource *row)
{
    for (gsize i = 0; row->custom == NULL && i < G_N_ELEMENTS(selectable); i++)
        if (strcmp(selectable[i].kind, row->kind) == 0)
            return selectable[i].fields;
    return NULL;
}

/* Returns: (owned): a refusal of @field, in the words of the kind; NULL: it can be selected */
static json_t *
selectable_fault(const ApiResource *row, const char *field)
{
    const char *own = selectable_of(row);
    g_auto(GStrv) words = g_strsplit(own != NULL ? own : "", " ", -1);

    if (strcmp(field, "metadata.name") == 0 ||
        (strcmp(field, "metadata.namespace") == 0 && row->namespaced) ||
        g_strv_contains((const char *const *)words, field) || is_selectable_of_custom(row, field))
        return NULL;
    if (own == NULL && row->custom == NULL)
        return status_format(400,
                             "\"%s\" is not a known field selector: only \"metadata.name\", "
                             "\"metadata.namespace\"",
                             field);
    if (strcmp(row->kind, "Job") == 0)
        return status_format(400, "field label \"%s\" not supported for batchv1.Job", field);
    return status_format(400, "field label not supported: %s", field);
}

/* Returns: (owned): why @text is no field selector of the kind; NULL: it is one */
static json_t *
field_selector_fault(const Target *target, const char *text)
{
    g_auto(GStrv) terms = g_strsplit(text, ",", -1);

    for (unsigned i = 0; terms[i] != NULL; i++) {
        gsize length = strcspn(terms[i], "=!");
        g_autofree char *field = g_strndup(terms[i], length);
        json_t *fault;
        if (*terms[i] == '\0')
            continue;
        if (terms[i][length] == '\0')
            return status_format(400, "invalid selector: '%s'; can't understand '%s'", text,
                                 terms[i]);
        fault = selectable_fault(target->row, field);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

json_t *
selection_read(const Target *target, Selection *selection)
{
    json_auto_t *labels = json_object();
    g_autofree char *fault = NULL;
    gboolean matches;

    *selection = (Selection){exchange_query(target->exchange, "labelSelector"),
                             exchange_query(target->exchange, "fieldSelector")};
    if (selection->labels != NULL && *selection->labels == '\0')
        selection->labels = NULL;
    if (selection->fields != NULL && *selection->fields == '\0')
        selection->fields = NULL;
    if (selection->labels != NULL &&
        !label_selector_text_matches(selection->labels, labels, &matches, &fault))
        return status_format(400, "%s", fault);
    return selection->fields == NULL ? NULL : field_selector_fault(target, selection->fields);
}

gboolean
selection_takes(const Selection *self, json_t *object)
{
    json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    g_autofree char *fault = NULL;
    gboolean matches = TRUE;

    if (self->fields != NULL && !field_selector_text_matches(self->fields, object))
        return FALSE;
    return self->labels == NULL ||
           (label_selector_text_matches(self->labels, labels, &matches, &fault) && matches);
}

/* ---- One object ---- */

const char *
scale_path(const ApiResource *row, const char *member)
{
    static const char *const built_in[][2] = {
        {"specReplicasPath",   "spec.replicas"  },
        {"statusReplicasPath", "status.replicas"},
        {"labelSelectorPath",  "spec.selector"  },
    };
    const char *path = json_path_string(json_path_get(row->custom, "subresources.scale"), member);

    for (gsize i = 0; row->custom == NULL && i < G_N_ELEMENTS(built_in); i++)
        if (strcmp(built_in[i][0], member) == 0)
            return built_in[i][1];
    return path == NULL ? "none" : path + (*path == '.');
}

json_t *
scale_of(const ApiResource *row, const json_t *object)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *replicas = json_path_get(object, scale_path(row, "specReplicasPath"));
    const json_t *selector = json_path_get(object, scale_path(row, "labelSelectorPath"));
    const json_t *now = json_path_get(object, scale_path(row, "statusReplicasPath"));
    g_autoptr(GString) text = g_string_new(json_string_value(selector));
    json_t *copy = json_object();

    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) {
        json_t *value = json_object_get(metadata, kept[i]);
        if (value != NULL)
            json_object_set(copy, kept[i], value);
    }
    if (json_is_object(selector))
        append_label_selector(text, (json_t *)selector);
    json_t *scale = json_pack("{s:s, s:s, s:o, s:{}, s:{s:I, s:s}}", "kind", "Scale", "apiVersion",
                              "autoscaling/v1", "metadata", copy, "spec", "status", "replicas",
                              json_integer_value(now), "selector", text->str);
    json_int_t wanted = replicas == NULL ? row->custom == NULL : json_integer_value(replicas);
    if (wanted != 0)
        json_object_set_new(json_object_get(scale, "spec"), "replicas", json_integer(wanted));
    return scale;
}

void
read_object(const Target *target)
{
    json_t *object = made_has(target) ? made_get(target)
                                      : store_get(target->kind, target->namespace, target->name);
    StatusSubject subject = target_subject(target);

    if (object == NULL && made_has(target)) {
        target_refuse(target, made_not_found(target));
        return;
    }
    if (object == NULL) {
        target_refuse(target, status_not_found(&subject));
        return;
    }
    if (target_is(target, "scale")) {
        json_t *scale = scale_of(target->row, object);
        json_decref(object);
        target_answer(target, 200, scale);
        return;
    }
    json_t *copy = json_copy(object);
    json_decref(object);
    target_set_version(target, copy);
    target_answer(target, 200, copy);
}

/* ---- Lists ---- */

typedef struct {
    const Target *target;
    const Selection *selection;
    gint64 limit;      /* 0: none */
    gint64 n;          /* objects in the answer */
    gboolean has_more; /* after it */
    char *last;        /* (owned): the place of the last object in the answer */
    GString *text;     /* the items, each with a comma before it but the first */
    json_t *items;     /* instead: YAML, tables */
    GByteArray *bytes; /* instead: protobuf */
    json_t *table;     /* FORM_TABLE */
    TableInclude include;
    ValueTime now;
} ListAnswer;

static void
append_item(ListAnswer *self, json_t *object)
{
    if (self->bytes != NULL) {
        protobuf_append_item(self->bytes,
                             self->target->form == FORM_METADATA
                                 ? schema_find("v1", "PartialObjectMetadata")
                                 : self->target->type,
                             object);
        return;
    }
    char *json = json_dumps(object, JSON_COMPACT);

    if (self->n > 0)
        g_string_append_c(self->text, ',');
    g_string_append(self->text, json);
    free(json);
}

static void
add_item(ListAnswer *self, json_t *object)
{
    const Target *target = self->target;

    if (self->table != NULL) {
        table_add(self->table, target->row, object, self->include, self->now);
        return;
    }
    target_set_version(target, object);
    if (target->form == FORM_METADATA) {
        json_auto_t *metadata = table_metadata(object);
        append_item(self, metadata);
        return;
    }
    if (self->items != NULL) {
        json_array_append(self->items, object);
        return;
    }
    if (!target->row->verbs || target->type == NULL || !target->type->custom) {
        json_object_del(object, "apiVersion"); /* the list's kind tells them */
        json_object_del(object, "kind");
    }
    append_item(self, object);
}

static gboolean
see_item(void *data, const char *place, json_t *object)
{
    ListAnswer *self = data;
    json_auto_t *copy = json_copy(object);

    json_decref(object);
    if (!selection_takes(self->selection, copy))
        return TRUE;
    if (self->limit > 0 && self->n >= self->limit) {
        self->has_more = TRUE;
        return FALSE;
    }
    add_item(self, copy);
    self->n++;
    g_free(self->last);
    self->last = g_strdup(place);
    return TRUE;
}

/* The token of the next page, as the API server makes it: keys from @last on, without it, and
 * without the namespace that the list is of (EncodeContinue() in k8s.io/apiserver's storage). */
static char *
continue_token(const Target *target, uint64_t version, const char *last)
{
    gsize head = *target->namespace == '\0' ? 0 : strlen(target->namespace) + 1;
    char *json =
        g_strdup_printf("{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRIu64 ",\"start\":\"%s\\u0000\"}",
                        version, last + head);
    char *text = g_base64_encode((const guchar *)json, strlen(json));

    g_free(json);
    for (char *at = text; *at != '\0'; at++) /* base64.RawURLEncoding */
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
    text[strcspn(text, "=")] = '\0';
    return text;
}

/* Returns: FALSE: it is none */
static gboolean
read_continue_token(const Target *target, const char *text, uint64_t *version, char **start)
{
    g_autofree char *padded = g_strdup_printf("%s===", text);
    gsize length;

    for (char *at = padded; *at != '\0'; at++)
        *at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
    padded[(strlen(text) + 3) / 4 * 4] = '\0';
    g_autofree guchar *bytes = g_base64_decode(padded, &length);
    json_auto_t *token = json_loadb((const char *)bytes, length, JSON_ALLOW_NUL, NULL);
    json_int_t number = json_integer_value(json_object_get(token, "rv"));
    const char *key = json_path_string(token, "start");

    if (key == NULL || *key == '\0' || number <= 0)
        return FALSE;
    /* its NUL ends the text here, so what comes behind the key is meant */
    *start = *target->namespace == '\0' ? g_strdup(key)
                                        : g_strdup_printf("%s/%s", target->namespace, key);
    *version = (uint64_t)number;
    return TRUE;
}

/* Returns: NULL: of all namespaces */
static const char *
list_namespace(const Target *target)
{
    return *target->namespace == '\0' ? NULL : target->namespace;
}

static json_t *
list_metadata(const ListAnswer *self, uint64_t version)
{
    g_autofree char *text = g_strdup_printf("%" PRIu64, version);
    json_t *metadata = json_pack("{s:s}", "resourceVersion", text);

    if (self->has_more) {
        g_autofree char *token = continue_token(self->target, version, self->last);
        json_object_set_new(metadata, "continue", json_string(token));
        if (self->selection->labels == NULL && self->selection->fields == NULL)
            json_object_set_new(metadata, "remainingItemCount",
                                json_integer(store_count(
                                    self->target->kind, list_namespace(self->target), self->last)));
    }
    return metadata;
}

static void
answer_list(ListAnswer *self, uint64_t version)
{
    const Target *target = self->target;
    json_auto_t *metadata = list_metadata(self, version);
    char *json = json_dumps(metadata, JSON_COMPACT);
    gboolean is_metadata = target->form == FORM_METADATA;
    const char *api_version = is_metadata ? "meta.k8s.io/v1" : target->api_version;
    g_autofree char *kind =
        g_strdup_printf("%sList", is_metadata ? "PartialObjectMetadata" : target->row->kind);

    if (self->table != NULL) {
        json_object_set(self->table, "metadata", metadata);
        exchange_answer_json(target->exchange, 200, json_incref(self->table));
    } else if (self->items != NULL) {
        json_auto_t *list = json_pack("{s:s, s:s, s:O, s:O}", "kind", kind, "apiVersion",
                                      api_version, "metadata", metadata, "items", self->items);
        GString *text = g_string_new(NULL);
        print_yaml(text, list);
        g_autoptr(GBytes) body = g_string_free_to_bytes(text);
        exchange_answer(target->exchange, 200, "application/yaml", body);
    } else if (self->bytes != NULL) {
        json_auto_t *list = json_pack("{s:s, s:s, s:O}", "kind", kind, "apiVersion", api_version,
                                      "metadata", metadata);
        g_autoptr(GBytes) body = protobuf_encode_list(list, self->bytes);
        exchange_answer(target->exchange, 200, PROTOBUF_TYPE, body);
    } else {
        g_autofree char *head =
            g_strdup_printf("{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[",
                            kind, api_version, json);
        g_string_prepend(self->text, head);
        g_string_append(self->text, "]}\n");
        g_autoptr(GBytes) body = g_string_free_to_bytes(g_steal_pointer(&self->text));
        exchange_answer(target->exchange, 200, "application/json", body);
    }
    free(json);
}

/* Returns: (owned): what is wrong with the parameters; NULL: nothing */
static json_t *
read_page(const Target *target, ListAnswer *list, char **start, uint64_t *version)
{
    const char *limit = exchange_query(target->exchange, "limit");
    const char *token = exchange_query(target->exchange, "continue");

    if (limit != NULL)
        list->limit = CLAMP(g_ascii_strtoll(limit, NULL, 10), 0, G_MAXINT32);
    if (token == NULL || *token == '\0')
        return NULL;
    return read_continue_token(target, token, version, start)
               ? NULL
               : status_format(400, "continue key is not valid");
}

/* ValidateListOptions() in k8s.io/apimachinery's meta/internalversion/validation. Returns: (owned):
 * a refusal */
static json_t *
check_list_options(const Target *target)
{
    const char *match = exchange_query(target->exchange, "resourceVersionMatch"),
               *version = exchange_query(target->exchange, "resourceVersion"),
               *token = exchange_query(target->exchange, "continue");
    gboolean is_exact = g_strcmp0(match, "Exact") == 0;
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    if (match != NULL && *match != '\0') {
        if (version == NULL || *version == '\0')
            g_ptr_array_add(faults,
                            g_strdup("resourceVersionMatch: Forbidden: resourceVersionMatch "
                                     "is forbidden unless resourceVersion is provided"));
        if (token != NULL && *token != '\0')
            g_ptr_array_add(faults,
                            g_strdup("resourceVersionMatch: Forbidden: resourceVersionMatch "
                                     "is forbidden when continue is provided"));
        if (!is_exact && strcmp(match, "NotOlderThan") != 0)
            g_ptr_array_add(faults,
                            g_strdup_printf("resourceVersionMatch: Unsupported value: \"%s\": "
                                            "supported values: \"Exact\", \"NotOlderThan\", \"\"",
                                            match));
        if (is_exact && g_strcmp0(version, "0") == 0)
            g_ptr_array_add(faults,
                            g_strdup("resourceVersionMatch: Forbidden: resourceVersionMatch "
                                     "\"exact\" is forbidden for resourceVersion \"0\""));
    }
    if (exchange_query(target->exchange, "sendInitialEvents") != NULL)
        g_ptr_array_add(faults, g_strdup("sendInitialEvents: Forbidden: sendInitialEvents is "
                                         "forbidden for list"));
    return faults->len == 0
               ? NULL
               : status_invalid(&(StatusSubject){"meta.k8s.io", "listoptions", "ListOptions", NULL},
                                faults);
}

/* A list shows the present: an exact version is served only if nothing has happened since, and a
 * future version never. Returns: (owned): a refusal */
static json_t *
check_version(const Target *target)
{
    const char *text = exchange_query(target->exchange, "resourceVersion"),
               *match = exchange_query(target->exchange, "resourceVersionMatch"),
               *limit = exchange_query(target->exchange, "limit");
    uint64_t now = store_version(target->kind), version = 0, number;
    char *end = NULL;

    if (text != NULL)
        version = g_ascii_strtoull(text, &end, 10);
    if (text != NULL && (*end != '\0' || *text == '-')) {
        g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(
            faults, g_strdup_printf("resourceVersion: Invalid value: \"%s\": strconv.ParseUint: "
                                    "parsing \"%s\": invalid syntax",
                                    text, text));
        return status_invalid(&(StatusSubject){"meta.k8s.io", "listoptions", "ListOptions", NULL},
                              faults);
    }
    if (version > now) {
        json_t *status = status_format(
            504, "Too large resource version: %" PRIu64 ", current: %" PRIu64, version, now);
        status_add_cause(status, "ResourceVersionTooLarge", "Too large resource version", NULL);
        json_object_set_new(json_object_get(status, "details"), "retryAfterSeconds",
                            json_integer(1));
        return status;
    }
    gboolean is_exact = g_strcmp0(match, "Exact") == 0 ||
                        ((match == NULL || *match == '\0') && limit != NULL && *limit != '\0');
    if (!is_exact || version == 0 || version >= now)
        return NULL;
    /* the same list as then, if no change came after it */
    store_log(target->kind);
    if (store_find_change(target->kind, version, &number) && number >= target->kind->n_changes)
        return NULL;
    return status_format(410, "The provided resource version is too old: %" PRIu64 " (%" PRIu64 ")",
                         version, now);
}

void
read_list(const Target *target)
{
    Selection selection;
    json_t *fault = selection_read(target, &selection);
    ListAnswer list = {
        .target = target, .selection = &selection, .now = snapshot_now(target->api->options.run)};
    uint64_t version = store_version(target->kind);
    g_autofree char *start = NULL;

    if (fault == NULL)
        fault = check_list_options(target);
    if (fault == NULL)
        fault = read_page(target, &list, &start, &version);
    if (fault == NULL && start == NULL)
        fault = check_version(target);
    if (fault == NULL &&
        !table_include_parse(exchange_query(target->exchange, "includeObject"), &list.include))
        fault = status_format(400, "unrecognized includeObject value: %s",
                              exchange_query(target->exchange, "includeObject"));
    if (fault != NULL) {
        target_refuse(target, fault);
        return;
    }
    if (!made_has(target))
        store_log(target->kind); /* a watch may follow */
    if (target->form == FORM_TABLE)
        list.table = table_new(target->row, target->form_version, TRUE);
    else if (target->media == MEDIA_PROTOBUF)
        list.bytes = g_byte_array_new();
    else if (target->media == MEDIA_YAML && target->form == FORM_OBJECT)
        list.items = json_array();
    else
        list.text = g_string_new(NULL);
    if (made_has(target))
        made_list(target, list_namespace(target), start, see_item, &list);
    else
        store_list(target->kind, list_namespace(target), start, see_item, &list);
    answer_list(&list, version);
    json_decref(list.table);
    json_decref(list.items);
    if (list.bytes != NULL)
        g_byte_array_unref(list.bytes);
    if (list.text != NULL)
        g_string_free(list.text, TRUE);
    g_free(list.last);
}
