/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl describe`: the parts that all kinds share (names, labels, annotations, conditions,
 * Events), and the generic description of kinds without one of their own, which prints every field
 * under its name. An argument that is no name is a prefix of names. Events are those with the
 * object's uid, in the order of their last time; Events of nodes carry the node's name as uid. */
#include <string.h>

#include "describe.h"
#include "go-sort.h"
#include "print.h"
#include "sim/strings.h"

/* bytes; kubectl cuts longer annotations */
#define ANNOTATION_LENGTH_MAX 140

void
put(Description *self, unsigned level, const char *format, ...)
{
    GString *out = tab_writer_text(self->writer);

    FORMATTED(text, format);
    for (unsigned i = 0; i < level + self->indent; i++)
        g_string_append(out, "  ");
    print_escaped(out, text, -1);
}

void
put_text(Description *self, unsigned level, const char *name, const char *value)
{
    put(self, level, "%s:\t%s\n", name, value);
}

void
put_optional_text(
    Description *self, unsigned level, const char *name, json_t *object, const char *path)
{
    const char *text = value_text(object, path);

    if (*text != '\0')
        put_text(self, level, name, text);
}

void
put_name(Description *self, json_t *object)
{
    put_text(self, 0, "Name", value_text(object, "metadata.name"));
    put_text(self, 0, "Namespace", value_text(object, "metadata.namespace"));
}

void
put_labels(Description *self, json_t *object)
{
    put_map(self, "", "Labels", value_at(object, "metadata.labels"));
    put_annotations(self, "Annotations", value_at(object, "metadata.annotations"));
}

void
put_date(Description *self, unsigned level, const char *name, json_t *object, const char *path)
{
    g_autoptr(GString) date = g_string_new(NULL);

    value_append_date(date, value_time(object, path));
    put_text(self, level, name, date->str);
}

void
put_quantity(Description *self, unsigned level, const char *name, json_t *quantity)
{
    g_autoptr(GString) text = g_string_new(NULL);

    value_append_quantity(text, quantity);
    put_text(self, level, name, text->str);
}

void
put_list(Description *self, unsigned level, const char *name, json_t *list)
{
    g_autoptr(GString) text = g_string_new("[");

    value_append_joined(text, list, " ");
    g_string_append_c(text, ']');
    put_text(self, level, name, text->str);
}

void
put_map(Description *self, const char *indent, const char *name, json_t *map)
{
    g_auto(GStrv) keys = value_keys(map);

    put(self, 0, "%s%s:\t", indent, name);
    if (keys[0] == NULL)
        put(self, 0, "<none>\n");
    for (unsigned i = 0; keys[i] != NULL; i++) {
        if (i > 0) {
            put(self, 0, "%s", indent);
            put(self, 0, "\t");
        }
        put(self, 0, "%s=%s\n", keys[i], json_string_value(json_object_get(map, keys[i])));
    }
}

/* The name, then the lines of the text, each indented and cut to size. */
static void
put_long_annotation(Description *self, const char *name, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    put(self, 0, "%s:\n", name);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        gboolean is_long = strlen(lines[i]) > ANNOTATION_LENGTH_MAX - 2;

        if (is_long)
            lines[i][ANNOTATION_LENGTH_MAX - 2] = '\0';
        put(self, 0, "\t  %s%s\n", lines[i], is_long ? "..." : "");
    }
    if (lines[0] == NULL)
        put(self, 0, "\t  \n");
}

void
put_annotations(Description *self, const char *name, json_t *annotations)
{
    g_auto(GStrv) keys = value_keys(annotations);
    gboolean is_first = TRUE;

    put(self, 0, "%s:\t", name);
    for (unsigned i = 0; keys[i] != NULL; i++) {
        /* The copy that kubectl apply keeps of the object. */
        if (strcmp(keys[i], "kubectl.kubernetes.io/last-applied-configuration") == 0)
            continue;
        if (!is_first)
            put(self, 0, "\t");
        is_first = FALSE;

        g_autofree char *text = g_strdup(json_string_value(json_object_get(annotations, keys[i])));
        gsize length = strlen(text);
        if (length > 0 && text[length - 1] == '\n')
            text[--length] = '\0';
        if (length + strlen(keys[i]) + 2 > ANNOTATION_LENGTH_MAX || strchr(text, '\n') != NULL)
            put_long_annotation(self, keys[i], text);
        else
            put(self, 0, "%s: %s\n", keys[i], text);
    }
    if (is_first)
        put(self, 0, "<none>\n");
}

void
put_phase(Description *self, json_t *object)
{
    ValueTime deleted_at = value_time(object, "metadata.deletionTimestamp");
    g_autoptr(GString) age = g_string_new(NULL);

    if (deleted_at == VALUE_TIME_NONE) {
        put_text(self, 0, "Status", value_text(object, "status.phase"));
        return;
    }
    value_append_age(age, deleted_at, self->request->now);
    put(self, 0, "Status:\tTerminating (lasts %s)\n", age->str);
}

void
put_controller(Description *self, json_t *object)
{
    json_t *owner = value_controller(object);

    if (owner != NULL)
        put(self, 0, "Controlled By:\t%s/%s\n", value_text(owner, "kind"),
            value_text(owner, "name"));
}

void
put_conditions(Description *self, json_t *object, const char *title, const char *path)
{
    json_t *conditions = value_at(object, "status.conditions"), *condition;
    gsize i;

    if (json_array_size(conditions) == 0)
        return;
    put(self, 0, "Conditions:\n");
    put(self, 1, "Type\tStatus\t%s\tLastTransitionTime\tReason\tMessage\n", title);
    put(self, 1, "----\t------\t-----------------\t------------------\t------\t-------\n");
    json_array_foreach(conditions, i, condition) {
        g_autoptr(GString) seen = g_string_new(NULL), changed = g_string_new(NULL);

        value_append_date(seen, value_time(condition, path));
        value_append_date(changed, value_time(condition, "lastTransitionTime"));
        put(self, 1, "%s \t%s \t%s \t%s \t%s \t%s\n", value_text(condition, "type"),
            value_text(condition, "status"), seen->str, changed->str,
            value_text(condition, "reason"), value_text(condition, "message"));
    }
}

static gboolean
is_letter_case(const char *text, gboolean upper)
{
    return upper ? g_ascii_isupper(*text) : g_ascii_islower(*text);
}

/* Returns: the end of the word at @text: "volumeID" is "volume", "ID"; "fsGroup" is "fs", "Group";
 * "CSIDriver" is "CSI", "Driver". */
static const char *
word_end(const char *text)
{
    const char *end = text + 1;

    if (g_ascii_isupper(*text)) {
        while (g_ascii_isupper(*end))
            end++;
        if (end > text + 1 && g_ascii_islower(*end))
            return end - 1;
    }
    while (*end != '\0' && is_letter_case(end, FALSE) && g_ascii_isalpha(*text))
        end++;
    if (!g_ascii_isalpha(*text))
        while (*end != '\0' && !g_ascii_isalpha(*end))
            end++;
    return end;
}

/* Appends "Attach Required" for "attachRequired". Names with characters other than letters and "-"
 * stay as they are. */
static void
append_label(GString *out, const char *field)
{
    static const char *const acronyms[] = {"API", "URL", "UID", "OSB", "GUID", NULL};

    for (const char *c = field; *c != '\0'; c++)
        if (!g_ascii_isalpha(*c) && *c != '-') {
            g_string_append(out, field);
            return;
        }
    for (const char *start = field, *end; *start != '\0'; start = end) {
        end = word_end(start);

        g_autofree char *word = g_strndup(start, (gsize)(end - start));
        g_autofree char *upper = g_ascii_strup(word, -1);
        if (start > field)
            g_string_append_c(out, ' ');
        *word = g_ascii_toupper(*word);
        g_string_append(out, g_strv_contains(acronyms, upper) ? upper : word);
    }
}

/* Prints every field under its name, as kubectl does for kinds without a description. @path: where
 * @value stands in the object; "" at the top */
static void
put_fields(Description *self, unsigned level, json_t *value, const char *path)
{
    static const char *const skipped[] = {".metadata.managedFields", ".metadata.name",
                                          ".metadata.namespace",     ".metadata.labels",
                                          ".metadata.annotations",   NULL};
    g_auto(GStrv) keys = value_keys(value);

    for (unsigned i = 0; keys[i] != NULL; i++) {
        json_t *member = json_object_get(value, keys[i]), *item;
        g_autofree char *member_path = g_strconcat(path, ".", keys[i], NULL);
        g_autoptr(GString) text = g_string_new(NULL);
        gsize n;

        if (g_strv_contains(skipped, member_path))
            continue;
        append_label(text, keys[i]);
        if (json_is_object(member)) {
            put(self, level, "%s:\n", text->str);
            put_fields(self, level + 1, member, member_path);
            continue;
        }
        if (json_is_array(member)) {
            put(self, level, "%s:\n", text->str);
            json_array_foreach(member, n, item) {
                g_autoptr(GString) word = g_string_new(NULL);

                value_append_go(word, item);
                if (json_is_object(item))
                    put_fields(self, level + 1, item, member_path);
                else
                    put(self, level + 1, "%s\n", word->str);
            }
            continue;
        }
        g_string_append(text, ":\t");
        value_append_go(text, member);
        put(self, level, "%s\n", text->str);
    }
}

static void
describe_fields(Description *self, json_t *object)
{
    put_name(self, object);
    put_labels(self, object);
    put_fields(self, 0, object, "");
}

/* Adds the Events about @object that carry @uid. For pods, the kind in the Event does not matter */
static void
add_events(const Description *self, json_t *object, const char *uid, GPtrArray *found)
{
    const KubectlKind *event_kind = kubectl_kind_find("event"), *kind = kubectl_kind_of(object);
    GPtrArray *events = cluster_objects(self->request->cluster, event_kind);
    const char *namespace = value_text(object, "metadata.namespace");

    for (unsigned i = 0; i < events->len; i++) {
        json_t *event = events->pdata[i], *involved = value_at(event, "involvedObject");

        if (strcmp(value_text(involved, "name"), value_text(object, "metadata.name")) != 0 ||
            strcmp(value_text(involved, "namespace"), namespace) != 0 ||
            strcmp(value_text(involved, "uid"), uid) != 0)
            continue;
        if (kind->is_namespaced && strcmp(value_text(event, "metadata.namespace"), namespace) != 0)
            continue;
        if (strcmp(kind->kind, "Pod") == 0 || strcmp(value_text(involved, "kind"), kind->kind) == 0)
            g_ptr_array_add(found, event);
    }
}

static gboolean
event_is_earlier(const void *a, const void *b, const void *data)
{
    (void)data;
    /* A missing time (VALUE_TIME_NONE) comes first, as in Go. */
    return value_time((json_t *)a, "lastTimestamp") < value_time((json_t *)b, "lastTimestamp");
}

/* Returns: (owned): the Events on @object, in order */
static GPtrArray *
events_of(const Description *self, json_t *object)
{
    GPtrArray *events = g_ptr_array_new();

    add_events(self, object, value_text(object, "metadata.uid"), events);
    /* In Events of kubelets, a node's uid is its name. */
    if (strcmp(value_text(object, "kind"), "Node") == 0)
        add_events(self, object, value_text(object, "metadata.name"), events);
    go_sort(events, event_is_earlier, NULL);
    return events;
}

static void
put_events(Description *self, json_t *object, GString *out)
{
    g_autoptr(GPtrArray) events = events_of(self, object);

    if (events->len == 0) {
        put(self, 0, "Events:\t<none>\n");
        return;
    }
    tab_writer_flush(self->writer, out);
    put(self, 0, "Events:\n");
    put(self, 1, "Type\tReason\tAge\tFrom\tMessage\n");
    put(self, 1, "----\t------\t----\t----\t-------\n");
    for (unsigned i = 0; i < events->len; i++) {
        json_t *event = events->pdata[i];
        const char *source = value_text(event, "source.component");
        g_autoptr(GString) interval = g_string_new(NULL);
        g_autofree char *message = g_strstrip(g_strdup(value_text(event, "message")));

        append_event_interval(interval, event, self->request->now);
        put(self, 1, "%s\t%s\t%s\t%s\t%s\n", value_text(event, "type"), value_text(event, "reason"),
            interval->str, *source != '\0' ? source : value_text(event, "reportingComponent"),
            message);
    }
}

static void
describe_object(const KubectlRequest *request, const KubectlKind *kind, json_t *object)
{
    g_autoptr(TabWriter) writer = tab_writer_new_description();
    Description self = {.request = request, .writer = writer};

    if (kind->describe != NULL)
        kind->describe(&self, object);
    else
        describe_fields(&self, object);
    /* The kinds with a description but without Events in it. */
    if (strcmp(kind->kind, "Namespace") != 0 && strcmp(kind->kind, "ResourceQuota") != 0 &&
        strcmp(kind->kind, "LimitRange") != 0)
        put_events(&self, object, request->out);
    tab_writer_flush(writer, request->out);
}

/* For programs, which kubectl has nothing for: the object and its Events. */
static void
describe_as_json(const KubectlRequest *request, json_t *object)
{
    const Description self = {.request = request};
    g_autoptr(GPtrArray) events = events_of(&self, object);
    json_t *list = json_array();

    for (unsigned i = 0; i < events->len; i++)
        json_array_append(list, events->pdata[i]);
    json_auto_t *description = json_pack("{s:O, s:o}", "object", object, "events", list);
    print_json(request->out, description, 4);
}

/* Describes an object after two empty lines, unless it is the first. @start: the length of the
 * output before the first */
static void
describe_next(const KubectlRequest *self, const KubectlKind *kind, json_t *object, gsize start)
{
    const gboolean is_json = self->options->output != NULL;

    if (self->out->len > start)
        g_string_append(self->out, is_json ? ",\n" : "\n\n");
    if (is_json)
        describe_as_json(self, object);
    else
        describe_object(self, kind, object);
}

/* Describes the objects whose names begin with @prefix. Returns: whether there are any */
static gboolean
describe_prefix(const KubectlRequest *self,
                const KubectlKind *kind,
                const char *prefix,
                gsize start)
{
    g_autoptr(GPtrArray) objects = request_objects(self, kind);
    gboolean is_found = FALSE;

    for (unsigned i = 0; objects != NULL && i < objects->len; i++) {
        if (!g_str_has_prefix(value_text(objects->pdata[i], "metadata.name"), prefix))
            continue;
        is_found = TRUE;
        describe_next(self, kind, objects->pdata[i], start);
    }
    return is_found;
}

/* Returns: FALSE with an error told */
static gboolean
describe_target(const KubectlRequest *self,
                const KubectlTarget *target,
                gboolean is_alone,
                gsize start)
{
    const char *namespace = request_namespace(self);
    gboolean is_found = TRUE;

    if (target->names == NULL) {
        g_autoptr(GPtrArray) objects = request_objects(self, target->kind);

        for (unsigned i = 0; objects != NULL && i < objects->len; i++)
            describe_next(self, target->kind, objects->pdata[i], start);
        return objects != NULL;
    }
    for (unsigned i = 0; i < target->names->len; i++) {
        const char *name = target->names->pdata[i];
        json_t *object = cluster_find(self->cluster, target->kind,
                                      namespace != NULL ? namespace : "default", name);

        if (object != NULL) {
            describe_next(self, target->kind, object, start);
        } else if (!is_alone || target->names->len > 1 ||
                   !describe_prefix(self, target->kind, name, start)) {
            tell_not_found(self, target->kind, name);
            is_found = FALSE;
        }
    }
    return is_found;
}

int
kubectl_describe(const KubectlRequest *self, char **args)
{
    gboolean several, is_sound = TRUE, all_namespaced = !self->options->all_namespaces;
    g_autoptr(GPtrArray) targets = request_targets(self, args, &several);
    gsize start = self->out->len;

    if (targets == NULL)
        return 1;
    for (unsigned i = 0; i < targets->len; i++) {
        const KubectlTarget *target = targets->pdata[i];

        is_sound = describe_target(self, target, targets->len == 1, start) && is_sound;
        all_namespaced = all_namespaced && target->kind->is_namespaced;
    }
    if (is_sound && self->out->len == start)
        tell_nothing_found(self, all_namespaced);
    if (self->options->output != NULL) {
        g_string_insert_c(self->out, (gssize)start, '[');
        g_string_append(self->out, "]\n");
    }
    return is_sound ? 0 : 1;
}
