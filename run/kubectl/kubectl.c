/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cluster.h"

GOptionEntry *
kubectl_option_entries(KubectlOptions *options)
{
    /* clang-format off */
    const GOptionEntry entries[] = {
        {"namespace", 'n', 0, G_OPTION_ARG_STRING, &options->namespace,
         "The namespace (default: default)", "NAME"},
        {"all-namespaces", 'A', 0, G_OPTION_ARG_NONE, &options->all_namespaces, "All namespaces", NULL},
        {"output", 'o', 0, G_OPTION_ARG_STRING, &options->output,
         "wide, yaml, json, name, jsonpath=TEMPLATE or custom-columns=SPEC", "FORMAT"},
        {"selector", 'l', 0, G_OPTION_ARG_STRING, &options->selector,
         "Only objects with these labels", "SELECTOR"},
        {"field-selector", 0, 0, G_OPTION_ARG_STRING, &options->field_selector,
         "Only objects with these fields", "SELECTOR"},
        {"sort-by", 0, 0, G_OPTION_ARG_STRING, &options->sort_by, "Sort by the field at a JSONPath", "PATH"},
        {"label-columns", 'L', 0, G_OPTION_ARG_STRING_ARRAY, &options->label_columns,
         "Labels to show as columns", "LABELS"},
        {"show-labels", 0, 0, G_OPTION_ARG_NONE, &options->show_labels,
         "Show all labels in a last column", NULL},
        {"show-kind", 0, 0, G_OPTION_ARG_NONE, &options->show_kind,
         "Show the kind in front of the name", NULL},
        {"no-headers", 0, 0, G_OPTION_ARG_NONE, &options->no_headers, "Without the line of headers", NULL},
        {"watch", 'w', 0, G_OPTION_ARG_NONE, &options->watch, "Show the changes as they come", NULL},
        {"output-watch-events", 0, 0, G_OPTION_ARG_NONE, &options->watch_events,
         "Of changes, also which they are", NULL},
        {"ignore-not-found", 0, 0, G_OPTION_ARG_NONE, &options->ignore_not_found,
         "What is not there is no error", NULL},
        {"for", 0, 0, G_OPTION_ARG_STRING, &options->for_object,
         "Of events: of this object only", "KIND/NAME"},
        {"types", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->types,
         "Of events: Normal or Warning only", "TYPES"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    /* clang-format on */

    return g_memdup2(entries, sizeof entries);
}

void
kubectl_options_clear(KubectlOptions *options)
{
    g_free(options->namespace);
    g_free(options->output);
    g_free(options->selector);
    g_free(options->field_selector);
    g_free(options->sort_by);
    g_free(options->for_object);
    g_strfreev(options->label_columns);
    g_strfreev(options->types);
    memset(options, 0, sizeof *options);
}

/* Makes three words of "-L a,b -L c". */
static void
split_commas(char ***words)
{
    if (*words == NULL)
        return;
    g_autofree char *joined = g_strjoinv(",", *words);
    g_strfreev(*words);
    *words = g_strsplit(joined, ",", -1);
}

void
kubectl_options_finish(KubectlOptions *options)
{
    split_commas(&options->label_columns);
    split_commas(&options->types);
}

/* Splits "-o=value", which kubectl takes, but GLib does not. */
static char **
without_equals(char **words)
{
    GPtrArray *copy = g_ptr_array_new();

    for (; *words != NULL; words++) {
        const char *word = *words;

        if (word[0] == '-' && g_ascii_isalpha(word[1]) && word[2] == '=') {
            g_ptr_array_add(copy, g_strndup(word, 2));
            g_ptr_array_add(copy, g_strdup(word + 3));
        } else {
            g_ptr_array_add(copy, g_strdup(word));
        }
    }
    g_ptr_array_add(copy, NULL);
    return (char **)g_ptr_array_free(copy, FALSE);
}

int
kubectl_run(const KubectlRequest *self, char **words)
{
    static const struct {
        const char *name;
        int (*run)(const KubectlRequest *self, char **args);
    } commands[] = {
        {"get",      kubectl_get     },
        {"describe", kubectl_describe},
        {"events",   kubectl_events  },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (words[0] == NULL || strcmp(words[0], commands[i].name) != 0)
            continue;

        g_auto(KubectlOptions) options = {0};
        g_autofree GOptionEntry *entries = kubectl_option_entries(&options);
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_auto(GStrv) rest = without_equals(words);
        g_autoptr(GError) error = NULL;
        KubectlRequest request = *self;

        g_option_context_add_main_entries(context, entries, NULL);
        g_option_context_set_help_enabled(context, FALSE);
        if (!g_option_context_parse_strv(context, &rest, &error)) {
            g_string_append_printf(self->errors, "error: %s\n", error->message);
            return 1;
        }
        if (options.for_object != NULL && strcmp(words[0], "events") != 0) {
            g_string_append_printf(
                self->errors, "error: unknown flag: --for\nSee 'kubectl %s --help' for usage.\n",
                words[0]);
            return 1;
        }
        kubectl_options_finish(&options);
        request.options = &options;
        return commands[i].run(&request, rest + 1);
    }
    return -1;
}
