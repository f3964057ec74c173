/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-fault.h"

#include "printable.h"

void
file_fault_free(FileFault *fault)
{
    if (fault == NULL)
        return;
    g_free(fault->file);
    g_free(fault->path);
    g_free(fault->message);
    g_free(fault->hint);
    g_free(fault);
}

void
file_faults_add(GPtrArray *faults,
                const YamlPosition *at,
                const char *path,
                const char *message,
                const char *hint)
{
    FileFault *fault = g_new(FileFault, 1);

    *fault = (FileFault){
        .file = g_strdup(at->file),
        .line = at->line,
        .column = at->column,
        .path = g_strdup(path),
        .message = g_strdup(message),
        .hint = g_strdup(hint),
    };
    g_ptr_array_add(faults, fault);
}

char *
file_fault_text(const FileFault *fault)
{
    g_autoptr(GString) text = g_string_new(fault->file);

    if (fault->line != 0)
        g_string_append_printf(text, ":%u:%u", fault->line, MAX(fault->column, 1));
    if (*fault->path != '\0')
        g_string_append_printf(text, ": %s", fault->path);
    g_string_append_printf(text, ": %s", fault->message);
    if (fault->hint != NULL)
        g_string_append_printf(text, " (%s)", fault->hint);
    return printable(text->str, "");
}
