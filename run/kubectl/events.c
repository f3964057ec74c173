/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl events`: Events in the order of their last time, filtered by object and by type. Times
 * and counts come from the old or the new fields of an Event, whichever it has. A List is printed
 * for programs even if there is no Event. */
#include <string.h>

#include "cluster.h"
#include "go-sort.h"
#include "print.h"
#include "tab-writer.h"

static ValueTime
first_time(json_t *event)
{
    ValueTime at = value_time(event, "eventTime");

    return at != VALUE_TIME_NONE ? at : value_time(event, "firstTimestamp");
}

void
append_event_interval(GString *out, json_t *event, ValueTime now)
{
    json_t *series = value_at(event, "series");
    int64_t count = value_integer(series != NULL ? series : event, "count", 0);

    if (series == NULL && count <= 1) {
        value_append_age(out, first_time(event), now);
        return;
    }
    value_append_age(out,
                     series != NULL ? value_time(series, "lastObservedTime")
                                    : value_time(event, "lastTimestamp"),
                     now);
    g_string_append_printf(out, " (x%" PRId64 " over ", count);
    value_append_age(out, first_time(event), now);
    g_string_append_c(out, ')');
}

static ValueTime
last_time(json_t *event)
{
    ValueTime at = value_time(event, "lastTimestamp");

    if (value_at(event, "series") != NULL)
        return value_time(event, "series.lastObservedTime");
    return at != VALUE_TIME_NONE ? at : value_time(event, "eventTime");
}

static gboolean
is_earlier(const void *a, const void *b, const void *data)
{
    (void)data;
    return last_time((json_t *)a) < last_time((json_t *)b);
}

static gboolean
has_type(const KubectlOptions *options, const char *type)
{
    if (options->types == NULL)
        return TRUE;
    for (char **wanted = options->types; *wanted != NULL; wanted++)
        if (g_ascii_strcasecmp(*wanted, type) == 0)
            return TRUE;
    return FALSE;
}

/* Whether the Event is about the object of --for. */
static gboolean
events_is_about(json_t *event, const KubectlKind *kind, const char *name)
{
    return kind == NULL ||
           (strcmp(value_text(event, "involvedObject.kind"), kind->kind) == 0 &&
            strcmp(value_text(event, "involvedObject.apiVersion"), kind->api_version) == 0 &&
            strcmp(value_text(event, "involvedObject.name"), name) == 0);
}

/* Reads --for and --types. Returns: FALSE with the error told */
static gboolean
read_filters(const KubectlRequest *self, const KubectlKind **kind, const char **name)
{
    const char *wanted = self->options->for_object;

    for (char **type = self->options->types; type != NULL && *type != NULL; type++)
        if (g_ascii_strcasecmp(*type, "Normal") != 0 && g_ascii_strcasecmp(*type, "Warning") != 0) {
            g_string_append(self->errors, "error: valid --types are Normal or Warning\n");
            return FALSE;
        }
    *kind = NULL;
    if (wanted == NULL)
        return TRUE;
    const char *slash = strchr(wanted, '/');
    if (slash == NULL) {
        g_string_append(self->errors, "error: --for must be in resource/name form\n");
        return FALSE;
    }
    g_autofree char *word = g_strndup(wanted, (gsize)(slash - wanted));
    *kind = request_kind(self, word);
    *name = slash + 1;
    return *kind != NULL;
}

static void
events_append_line(const KubectlRequest *self, json_t *event, GString *out)
{
    g_autofree char *message = g_strstrip(g_strdup(value_text(event, "message")));
    g_autoptr(GString) line = g_string_new(NULL);

    if (self->options->all_namespaces)
        g_string_append_printf(line, "%s\t", value_text(event, "metadata.namespace"));
    append_event_interval(line, event, self->now);
    g_string_append_printf(line, "\t%s\t%s\t%s/%s\t%s\n", value_text(event, "type"),
                           value_text(event, "reason"), value_text(event, "involvedObject.kind"),
                           value_text(event, "involvedObject.name"), message);
    print_escaped(out, line->str, (gssize)line->len);
}

/* A List, even of no Events: programs read it. */
static int
print_list(const KubectlRequest *self, const GPtrArray *events)
{
    json_auto_t *items = json_array();

    for (unsigned i = 0; i < events->len; i++)
        json_array_append(items, events->pdata[i]);
    return print_objects(self, items, TRUE);
}

int
kubectl_events(const KubectlRequest *self, char **args)
{
    const KubectlKind *kind;
    const char *name = NULL;
    g_autoptr(GPtrArray) shown = g_ptr_array_new();
    g_autoptr(TabWriter) writer = tab_writer_new_table();

    (void)args;
    if (!check_output(self) || !read_filters(self, &kind, &name))
        return 1;
    g_autoptr(GPtrArray) events = request_objects(self, kubectl_kind_find("event"));
    if (events == NULL)
        return 1;
    for (unsigned i = 0; i < events->len; i++)
        if (events_is_about(events->pdata[i], kind, name) &&
            has_type(self->options, value_text(events->pdata[i], "type")))
            g_ptr_array_add(shown, events->pdata[i]);
    go_sort(shown, is_earlier, NULL);
    if (self->options->output != NULL && strcmp(self->options->output, "wide") != 0)
        return print_list(self, shown);
    if (shown->len == 0) {
        const char *namespace = request_namespace(self);

        if (namespace == NULL)
            g_string_append(self->errors, "No events found.\n");
        else
            g_string_append_printf(self->errors, "No events found in %s namespace.\n", namespace);
        return 0;
    }
    if (!self->options->no_headers)
        g_string_append_printf(tab_writer_text(writer),
                               "%sLAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n",
                               self->options->all_namespaces ? "NAMESPACE\t" : "");
    for (unsigned i = 0; i < shown->len; i++)
        events_append_line(self, shown->pdata[i], tab_writer_text(writer));
    tab_writer_flush(writer, self->out);
    return 0;
}
