/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

gboolean
loop_way_leads_elsewhere(int code)
{
    return code == ENOTDIR || code == ELOOP || code == EXDEV || code == EINVAL;
}

gboolean
loop_way_is_well_formed(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);

    for (char **part = parts; *part != NULL; part++)
        if (**part == '\0' || strcmp(*part, ".") == 0 || strcmp(*part, "..") == 0)
            return FALSE;
    return *path != '\0';
}

static gboolean
way_is_ours(int folder, dev_t device)
{
    struct stat status;

    return fstat(folder, &status) == 0 && status.st_dev == device && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0;
}

/* Returns: the folder @name in @above, which is closed; -1 with errno */
static int
step_down(int above, const char *name, LoopWayRules rules, dev_t device)
{
    int folder = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = errno;

    close(above);
    if (folder == -1) {
        errno = code;
        return -1;
    }
    if ((rules & LOOP_WAY_OURS) == 0 || way_is_ours(folder, device))
        return folder;
    close(folder);
    errno = EXDEV;
    return -1;
}

int
loop_way_open_parent(const char *folder, const char *path, LoopWayRules rules)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    int at = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (at == -1)
        return -1;
    if (!loop_way_is_well_formed(path) || fstat(at, &status) != 0) {
        close(at);
        errno = EINVAL;
        return -1;
    }
    for (char **part = parts; at != -1 && part[1] != NULL; part++)
        at = step_down(at, *part, rules, status.st_dev);
    return at;
}

int
loop_way_open_file(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (file == -1 || (fstat(file, &status) == 0 && S_ISREG(status.st_mode)))
        return file;
    close(file);
    errno = EINVAL;
    return -1;
}
