/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl get`: tables, names, JSON, YAML, JSONPath, custom columns, sorting and watching. A table
 * is the API server's cells with kubectl's own columns before and after; a cell shows only the
 * first line of its text. Several kinds give a table each, several objects a List. Sorting compares
 * quantities by size, null before other values and missing values first, as kubectl does. */
#include <string.h>

#include "cluster.h"
#include "go-sort.h"
#include "json-path.h"
#include "models/api/field.h"
#include "print.h"
#include "tab-writer.h"

/* The layout of a line: the API server's cells, with kubectl's own before and after them. */
typedef struct {
    const KubectlKind *kind;
    const KubectlOptions *options;
    gboolean with_namespace, with_kind;
    const char *event; /* with --output-watch-events: "ADDED   "; else NULL */
} TableStyle;

static void
begin_cell(GString *line, gboolean *is_first)
{
    if (!*is_first)
        g_string_append_c(line, '\t');
    *is_first = FALSE;
}

/* A table shows only the first line of a text. */
static void
get_append_cell(GString *line, const char *text)
{
    gsize length = strcspn(text, "\f\n\r");

    print_escaped(line, text, (gssize)length);
    if (text[length] != '\0')
        g_string_append(line, "...");
}

static void
append_header(const TableStyle *style, GString *line)
{
    const KubectlOptions *options = style->options;
    gboolean is_first = TRUE;

    if (style->event != NULL) {
        begin_cell(line, &is_first);
        g_string_append(line, "EVENT");
    }
    if (style->with_namespace) {
        begin_cell(line, &is_first);
        g_string_append(line, "NAMESPACE");
    }
    for (const KindColumn *column = style->kind->columns; column->name != NULL; column++) {
        g_autofree char *name = g_ascii_strup(column->name, -1);

        if ((column->flags & COLUMN_WIDE) != 0 && g_strcmp0(options->output, "wide") != 0)
            continue;
        begin_cell(line, &is_first);
        g_string_append(line, name);
    }
    for (char **label = options->label_columns; label != NULL && *label != NULL; label++) {
        const char *slash = strrchr(*label, '/');
        g_autofree char *name = g_utf8_strup(slash != NULL ? slash + 1 : *label, -1);

        begin_cell(line, &is_first);
        g_string_append(line, name);
    }
    if (options->show_labels) {
        begin_cell(line, &is_first);
        g_string_append(line, "LABELS");
    }
    g_string_append_c(line, '\n');
}

static void
append_labels(const KubectlOptions *options, json_t *labels, GString *line, gboolean *is_first)
{
    for (char **label = options->label_columns; label != NULL && *label != NULL; label++) {
        const char *value = json_string_value(json_object_get(labels, *label));

        begin_cell(line, is_first);
        get_append_cell(line, value != NULL ? value : "");
    }
    if (options->show_labels) {
        begin_cell(line, is_first);
        value_append_map(line, labels);
    }
}

static void
append_row(const TableStyle *style, json_t *object, ValueTime now, GString *line)
{
    gboolean is_wide = g_strcmp0(style->options->output, "wide") == 0, is_first = TRUE;

    if (style->event != NULL) {
        begin_cell(line, &is_first);
        g_string_append(line, style->event);
    }
    if (style->with_namespace) {
        begin_cell(line, &is_first);
        get_append_cell(line, value_text(object, "metadata.namespace"));
    }
    for (const KindColumn *column = style->kind->columns; column->name != NULL; column++) {
        g_autoptr(GString) text = g_string_new(NULL);

        if ((column->flags & COLUMN_WIDE) != 0 && !is_wide)
            continue;
        begin_cell(line, &is_first);
        if ((column->flags & COLUMN_NAME) != 0 && style->with_kind) {
            g_autofree char *prefix = kubectl_kind_prefix(style->kind);

            g_string_append_printf(line, "%s/", prefix);
        }
        Cell cell = {text, object, value_at(object, column->path), column, now};
        column->append(&cell);
        get_append_cell(line, text->len > 0 ? text->str : column->missing);
    }
    append_labels(style->options, value_at(object, "metadata.labels"), line, &is_first);
    g_string_append_c(line, '\n');
}

/* An object, and the first value that the path of --sort-by finds in it (NULL: none). */
typedef struct {
    json_t *object, *value;
} SortItem;

static void
sort_item_free(void *data)
{
    SortItem *self = data;

    json_decref(self->value);
    g_free(self);
}

static gboolean
quantities_of(json_t *a, json_t *b, int64_t *x, int64_t *y)
{
    int64_t value;

    return quantity_parse(json_string_value(a), &value, x, NULL) &&
           quantity_parse(json_string_value(b), &value, y, NULL);
}

/* As kubectl compares: quantities by size; null before other values, and missing values first. */
static gboolean
sort_less(const void *a, const void *b, const void *data)
{
    const SortItem *left = a, *right = b;
    int64_t x, y;

    (void)data;
    if (left->value == NULL)
        return TRUE;
    if (right->value == NULL || json_is_null(right->value))
        return FALSE;
    if (json_is_null(left->value))
        return TRUE;
    if (json_is_string(left->value) && json_is_string(right->value)) {
        if (quantities_of(left->value, right->value, &x, &y))
            return x < y;
        return strcmp(json_string_value(left->value), json_string_value(right->value)) < 0;
    }
    return json_is_number(left->value) && json_is_number(right->value) &&
           json_number_value(left->value) < json_number_value(right->value);
}

/* Sorts @objects. Returns: FALSE with the error told */
static gboolean
sort_objects(const KubectlRequest *self, GPtrArray *objects)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonPath) path = json_path_parse_relaxed(self->options->sort_by, &error);
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(sort_item_free);
    gboolean is_found = FALSE;

    for (unsigned i = 0; path != NULL && i < objects->len; i++) {
        g_autoptr(GPtrArray) parts = json_path_find(path, objects->pdata[i], &error);
        if (parts == NULL)
            break;
        GPtrArray *values = parts->len > 0 ? parts->pdata[0] : NULL;
        SortItem *item = g_new0(SortItem, 1);
        item->object = objects->pdata[i];
        if (values != NULL && values->len > 0)
            item->value = json_incref(values->pdata[0]);
        is_found = is_found || item->value != NULL;
        g_ptr_array_add(items, item);
    }
    if (error != NULL) {
        g_string_append_printf(self->errors, "error: sorting error: %s\n", error->message);
        return FALSE;
    }
    if (objects->len > 0 && !is_found) {
        const char *text = self->options->sort_by;

        g_string_append_printf(self->errors,
                               "error: couldn't find any field with path \"%s%s%s\" in the list of "
                               "objects\n",
                               *text == '{'   ? ""
                               : *text == '.' ? "{"
                                              : "{.",
                               text, *text == '{' ? "" : "}");
        return FALSE;
    }
    go_sort(items, sort_less, NULL);
    for (unsigned i = 0; i < items->len; i++)
        objects->pdata[i] = ((SortItem *)items->pdata[i])->object;
    return TRUE;
}

/* Returns: (owned): the objects of a target; NULL with an error told. @not_found: gets a line for
 * each missing name */
static GPtrArray *
target_objects(const KubectlRequest *self, const KubectlTarget *target, GString *not_found)
{
    if (target->names == NULL)
        return request_objects(self, target->kind);

    GPtrArray *objects = g_ptr_array_new();
    KubectlRequest quiet = *self;
    const char *namespace = request_namespace(self);
    quiet.errors = not_found;
    for (unsigned i = 0; i < target->names->len; i++) {
        json_t *object =
            cluster_find(self->cluster, target->kind, namespace != NULL ? namespace : "default",
                         target->names->pdata[i]);

        if (object != NULL)
            g_ptr_array_add(objects, object);
        else if (!self->options->ignore_not_found)
            tell_not_found(&quiet, target->kind, target->names->pdata[i]);
    }
    return objects;
}

static int
get_tables(const KubectlRequest *self, GPtrArray *targets, gboolean several)
{
    g_autoptr(TabWriter) writer = NULL;
    g_autoptr(GString) not_found = g_string_new(NULL);
    const KubectlKind *kind = NULL;
    gboolean all_namespaced = !self->options->all_namespaces, has_header = FALSE;
    gsize start = self->out->len;

    for (unsigned t = 0; t < targets->len; t++) {
        const KubectlTarget *target = targets->pdata[t];
        g_autoptr(GPtrArray) objects = target_objects(self, target, not_found);
        TableStyle style = {.kind = target->kind, .options = self->options};

        if (objects == NULL || (self->options->sort_by != NULL && !sort_objects(self, objects)))
            return 1;
        style.with_namespace = self->options->all_namespaces && target->kind->is_namespaced;
        style.with_kind = several || self->options->show_kind;
        all_namespaced = all_namespaced && target->kind->is_namespaced;
        if (objects->len == 0)
            continue;
        if (target->kind != kind) {
            if (writer != NULL) {
                tab_writer_flush(writer, self->out);
                tab_writer_free(writer);
            }
            writer = tab_writer_new_table();
            if (kind != NULL && !self->options->no_headers)
                g_string_append_c(self->out, '\n');
            kind = target->kind;
            has_header = FALSE;
        }
        if (!has_header && !self->options->no_headers)
            append_header(&style, tab_writer_text(writer));
        has_header = TRUE;
        for (unsigned i = 0; i < objects->len; i++)
            append_row(&style, objects->pdata[i], self->now, tab_writer_text(writer));
    }
    if (writer != NULL)
        tab_writer_flush(writer, self->out);
    g_string_append(self->errors, not_found->str);
    if (not_found->len > 0)
        return 1;
    if (self->out->len == start && !self->options->ignore_not_found)
        tell_nothing_found(self, all_namespaced);
    return 0;
}

static int
print_names(const KubectlRequest *self, json_t *items)
{
    json_t *item;
    gsize i;

    json_array_foreach(items, i, item) {
        g_autofree char *prefix = kubectl_kind_prefix(kubectl_kind_of(item));

        g_string_append_printf(self->out, "%s/%s\n", prefix, value_text(item, "metadata.name"));
    }
    return 0;
}

/* Appends a row of custom columns. A cell joins all values of its path by commas. */
static gboolean
append_custom_row(GPtrArray *paths, json_t *object, GString *line, GError **error)
{
    for (unsigned p = 0; p < paths->len; p++) {
        g_autoptr(GPtrArray) parts = json_path_find(paths->pdata[p], object, error);
        gboolean is_first = TRUE;

        if (parts == NULL)
            return FALSE;
        if (p > 0)
            g_string_append_c(line, '\t');
        if (parts->len == 0 || ((GPtrArray *)parts->pdata[0])->len == 0) {
            g_string_append(line, "<none>");
            is_first = FALSE;
        }
        for (unsigned i = 0; i < parts->len; i++) {
            GPtrArray *values = parts->pdata[i];

            for (unsigned v = 0; v < values->len; v++) {
                g_autoptr(GString) text = g_string_new(NULL);

                value_append_go(text, values->pdata[v]);
                if (!is_first)
                    g_string_append_c(line, ',');
                is_first = FALSE;
                print_escaped(line, text->str, -1);
            }
        }
    }
    g_string_append_c(line, '\n');
    return TRUE;
}

/* NAME:.metadata.name,PHASE:.status.phase */
static int
print_custom_columns(const KubectlRequest *self, json_t *items, const char *spec, gboolean headers)
{
    g_autoptr(TabWriter) writer = tab_writer_new_table();
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func((GDestroyNotify)json_path_free);
    g_auto(GStrv) columns = g_strsplit(spec, ",", -1);
    g_autoptr(GError) error = NULL;
    GString *text = tab_writer_text(writer);
    json_t *item;
    gsize n;

    if (*spec == '\0') {
        g_string_append(self->errors,
                        "error: custom-columns format specified but no custom columns given\n");
        return 1;
    }
    for (unsigned i = 0; columns[i] != NULL; i++) {
        char *colon = strchr(columns[i], ':');

        if (colon == NULL) {
            g_string_append_printf(
                self->errors,
                "error: unexpected custom-columns spec: %s, expected <header>:<json-path-expr>\n",
                columns[i]);
            return 1;
        }
        JsonPath *path = json_path_parse_relaxed(colon + 1, &error);
        if (path == NULL)
            break;
        g_ptr_array_add(paths, path);
        if (headers)
            g_string_append_printf(text, "%s%.*s", i > 0 ? "\t" : "", (int)(colon - columns[i]),
                                   columns[i]);
    }
    if (headers)
        g_string_append_c(text, '\n');
    json_array_foreach(items, n, item)
        if (error == NULL)
            append_custom_row(paths, item, text, &error);
    if (error != NULL) {
        g_string_append_printf(self->errors, "error: %s\n", error->message);
        return 1;
    }
    tab_writer_flush(writer, self->out);
    return 0;
}

static int
print_json_path(const KubectlRequest *self, json_t *object, const char *template, gboolean as_json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonPath) path = json_path_parse(template, &error);

    if (path == NULL) {
        g_string_append_printf(self->errors, "error: error parsing jsonpath %s, %s\n", template,
                               error->message);
        return 1;
    }
    if (as_json ? json_path_print_json(path, object, self->out, &error)
                : json_path_print(path, object, self->out, &error))
        return 0;
    g_string_append_printf(self->errors,
                           "error: error executing jsonpath \"%s\": Error executing template: %s\n",
                           template, error->message);
    return 1;
}

int
print_objects(const KubectlRequest *self, json_t *items, gboolean is_list)
{
    const char *output = self->options->output;
    json_auto_t *list = NULL;
    json_t *object = json_array_get(items, 0);

    if (strcmp(output, "name") == 0)
        return print_names(self, items);
    if (g_str_has_prefix(output, "custom-columns="))
        return print_custom_columns(self, items, strchr(output, '=') + 1,
                                    !self->options->no_headers);
    if (is_list || object == NULL)
        object = list = json_pack("{s:s, s:O, s:s, s:{s:s}}", "apiVersion", "v1", "items", items,
                                  "kind", "List", "metadata", "resourceVersion", "");
    if (g_str_has_prefix(output, "jsonpath=") || g_str_has_prefix(output, "jsonpath-as-json="))
        return print_json_path(self, object, strchr(output, '=') + 1, output[8] == '-');
    if (strcmp(output, "json") == 0) {
        print_json(self->out, object, 4);
        g_string_append_c(self->out, '\n');
    } else {
        print_yaml(self->out, object);
    }
    return 0;
}

static gboolean
output_is_known(const char *output)
{
    static const char *const words[] = {"wide", "name", "json", "yaml"};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(output, words[i]) == 0)
            return TRUE;
    return g_str_has_prefix(output, "jsonpath=") || g_str_has_prefix(output, "jsonpath-as-json=") ||
           g_str_has_prefix(output, "custom-columns=");
}

static int
get_objects(const KubectlRequest *self, GPtrArray *targets)
{
    g_autoptr(GString) not_found = g_string_new(NULL);
    json_auto_t *items = json_array();
    gboolean is_list = FALSE;

    for (unsigned t = 0; t < targets->len; t++) {
        const KubectlTarget *target = targets->pdata[t];
        g_autoptr(GPtrArray) objects = target_objects(self, target, not_found);

        if (objects == NULL || (self->options->sort_by != NULL && !sort_objects(self, objects)))
            return 1;
        is_list = is_list || targets->len > 1 || target->names == NULL || target->names->len > 1;
        for (unsigned i = 0; i < objects->len; i++)
            json_array_append(items, objects->pdata[i]);
    }

    int status = 0;
    if (is_list || json_array_size(items) > 0)
        status = print_objects(self, items, is_list);
    g_string_append(self->errors, not_found->str);
    return not_found->len > 0 ? 1 : status;
}

gboolean
check_output(const KubectlRequest *self)
{
    const char *output = self->options->output;

    if (output == NULL || output_is_known(output))
        return TRUE;
    g_string_append_printf(
        self->errors,
        "error: unable to match a printer suitable for the output format \"%s\", allowed "
        "formats "
        "are: custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,"
        "jsonpath-as-json,jsonpath-file,name,template,templatefile,wide,yaml\n",
        output);
    return FALSE;
}

static gboolean
is_table(const KubectlOptions *options)
{
    return options->output == NULL || strcmp(options->output, "wide") == 0;
}

int
kubectl_get(const KubectlRequest *self, char **args)
{
    gboolean several;

    if (!check_output(self))
        return 1;
    g_autoptr(GPtrArray) targets = request_targets(self, args, &several);
    if (targets == NULL)
        return 1;
    return is_table(self->options) ? get_tables(self, targets, several)
                                   : get_objects(self, targets);
}

struct KubectlWatch {
    KubectlRequest request;
    GPtrArray *targets;
    TabWriter *writer;
    gboolean has_header;
};

KubectlWatch *
kubectl_watch_new(const KubectlRequest *request, char **args)
{
    gboolean several;

    if (!check_output(request))
        return NULL;
    GPtrArray *targets = request_targets(request, args, &several);
    if (targets == NULL)
        return NULL;
    if (targets->len > 1) {
        g_string_append(request->errors,
                        "error: watch is only supported on individual resources and "
                        "resource collections - more than 1 resource was found\n");
        g_ptr_array_unref(targets);
        return NULL;
    }

    KubectlWatch *self = g_new0(KubectlWatch, 1);
    self->request = *request;
    self->targets = targets;
    self->writer = tab_writer_new_table();
    return self;
}

void
kubectl_watch_free(KubectlWatch *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->targets);
    tab_writer_free(self->writer);
    g_free(self);
}

/* Whether the watch shows @object. */
static gboolean
watch_selects(const KubectlWatch *self, json_t *object)
{
    const KubectlTarget *target = self->targets->pdata[0];
    g_autofree char *fault = NULL;

    return kubectl_kind_of(object) == target->kind &&
           (target->names == NULL ||
            g_ptr_array_find_with_equal_func(target->names, value_text(object, "metadata.name"),
                                             g_str_equal, NULL)) &&
           request_selects(&self->request, target->kind, object, &fault);
}

/* Prints a change other than as a row of a table: YAML documents are separated, custom columns have
 * headers once, and JSON with its type takes one line. */
static void
watch_print(KubectlWatch *self, const char *type, json_t *object, GString *out)
{
    const KubectlOptions *options = self->request.options;
    KubectlRequest request = self->request;
    json_auto_t *event = options->watch_events
                             ? json_pack("{s:O, s:s}", "object", object, "type", type)
                             : json_incref(object);

    request.out = out;
    if (strcmp(options->output, "name") == 0 ||
        g_str_has_prefix(options->output, "custom-columns=")) {
        json_auto_t *items = json_pack("[O]", object);

        if (strcmp(options->output, "name") == 0)
            print_names(&request, items);
        else
            print_custom_columns(&request, items, strchr(options->output, '=') + 1,
                                 !options->no_headers && !self->has_header);
    } else if (strcmp(options->output, "json") == 0 && options->watch_events) {
        g_string_append_printf(out, "{\"type\":\"%s\",\"object\":", type);
        print_json(out, object, 0);
        g_string_append(out, "}\n");
    } else {
        json_auto_t *items = json_pack("[O]", event);

        if (strcmp(options->output, "yaml") == 0 && self->has_header)
            g_string_append(out, "---\n");
        print_objects(&request, items, FALSE);
    }
    self->has_header = TRUE;
}

static void
watch_append(KubectlWatch *self, const char *type, json_t *object, ValueTime now, GString *out)
{
    const KubectlTarget *target = self->targets->pdata[0];
    const KubectlOptions *options = self->request.options;
    g_autofree char *event = g_strdup_printf("%-8s", type);
    TableStyle style = {
        .kind = target->kind,
        .options = options,
        .with_namespace = options->all_namespaces && target->kind->is_namespaced,
        .with_kind = options->show_kind,
        .event = options->watch_events ? event : NULL,
    };

    if (!watch_selects(self, object))
        return;
    if (!is_table(options)) {
        watch_print(self, type, object, out);
        return;
    }
    if (!self->has_header && !options->no_headers)
        append_header(&style, tab_writer_text(self->writer));
    self->has_header = TRUE;
    append_row(&style, object, now, tab_writer_text(self->writer));
}

void
kubectl_watch_list(KubectlWatch *self, GString *out)
{
    const KubectlTarget *target = self->targets->pdata[0];
    GPtrArray *objects = cluster_objects(self->request.cluster, target->kind);

    for (unsigned i = 0; i < objects->len; i++)
        watch_append(self, "ADDED", objects->pdata[i], self->request.now, out);
    tab_writer_flush(self->writer, out);
}

void
kubectl_watch_print(
    KubectlWatch *self, const char *type, json_t *object, ValueTime now, GString *out)
{
    watch_append(self, type, object, now, out);
    tab_writer_flush(self->writer, out);
}
