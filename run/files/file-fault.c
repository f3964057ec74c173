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

GPtrArray *
file_faults_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)file_fault_free);
}

void
file_faults_add(GPtrArray *faults,
                const YamlPosition *at,
                const char *path,
                const char *message,
                const char *hint)
{
    if (faults == NULL)
        return;
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

char *
file_faults_text(const GPtrArray *faults, unsigned most)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < faults->len && i < most; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", line);
    }
    if (faults->len > most)
        g_string_append_printf(text, "\nand %u more faults", faults->len - most);
    return g_string_free(text, FALSE);
}
