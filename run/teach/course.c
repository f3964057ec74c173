/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "course.h"

#include <string.h>

#include "run/files/list.h"

struct Course {
    char *folder;
    GPtrArray *names; /* of char *, sorted */
};

Course *
course_open(const char *data_dir, GError **error)
{
    g_autoptr(Course) self = g_new0(Course, 1);

    self->folder = g_build_filename(data_dir, "scenarios", "lessons", NULL);
    self->names = list_files(self->folder, ".yaml", error);
    return self->names != NULL ? g_steal_pointer(&self) : NULL;
}

void
course_free(Course *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->names, g_ptr_array_unref);
    g_free(self->folder);
    g_free(self);
}

unsigned
course_n_lessons(const Course *self)
{
    return self->names->len;
}

const char *
course_name(const Course *self, unsigned i)
{
    return self->names->pdata[i];
}

char *
course_file(const Course *self, unsigned i)
{
    return g_strdup_printf("%s/%s.yaml", self->folder, course_name(self, i));
}

char *
course_solution(const Course *self, unsigned i)
{
    return g_strdup_printf("%s/solutions/%s.yaml", self->folder, course_name(self, i));
}

gboolean
course_find(const Course *self, const char *word, unsigned *i)
{
    guint64 number;

    if (g_ascii_string_to_unsigned(word, 10, 1, self->names->len, &number, NULL)) {
        *i = (unsigned)number - 1;
        return TRUE;
    }
    for (*i = 0; *i < self->names->len; ++*i) {
        const char *name = course_name(self, *i), *dash = strchr(name, '-');
        if (strcmp(name, word) == 0 || (dash != NULL && strcmp(dash + 1, word) == 0))
            return TRUE;
    }
    return FALSE;
}
