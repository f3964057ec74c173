/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The folder of the loop driver and its ledger: each deed on the machine (file, folder, binding,
 * mount, freeze, number) is a line that is written before the deed and taken back after its end.
 * After a kill the ledger lists possible remains. A line is one write(), so threads do not mix
 * them, and a last line that is incomplete means a deed that was not begun.
 *
 * Invariant: nothing outside our folder is removed. The folder must be ours alone, no part of a
 * path may be a link that leads elsewhere, and a forged line is ignored. */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/strings.h"
#include "way.h"

#define MARK "kvolsim-loop" /* marks our folder; the process that works there has it locked */
#define LEDGER "ledger"
#define LEDGER_BYTES_MAX (256 << 20) /* a line is some 60 bytes, a deed two lines */
#define MARK_TEXT                                                                                  \
    "This folder belongs to the loop driver of kvolsim. `kvolsim loop clean` empties it.\n"

struct LoopLedger {
    char *folder;
    int mark, lines;
    /* Guards looking for a folder, noting it and making it as one step, and the same on the way
     * back: threads share the folders above, and the ledger must match the disk. */
    GMutex folders;
};

G_DEFINE_QUARK(loop - error, loop_error)

/* In the order of the enum. */
static const char *const deed_names[LOOP_N_DEEDS] = {
    "folder", "file", "binding", "mount", "freeze", "asked", "number",
};

const char *
loop_deed_name(LoopDeed deed)
{
    g_assert(deed < LOOP_N_DEEDS);
    return deed_names[deed];
}

gboolean
loop_refuse(GError **error, CsiCode code, const char *format, ...)
{
    FORMATTED(text, format);
    g_set_error(error, LOOP_ERROR, code, "%s", text);
    return FALSE;
}

gboolean
loop_refuse_errno(GError **error, int code, const char *format, ...)
{
    FORMATTED(text, format);
    g_set_error(error, LOOP_ERROR,
                code == ENOSPC || code == EDQUOT ? CSI_RESOURCE_EXHAUSTED : CSI_INTERNAL, "%s: %s",
                text, g_strerror(code));
    return FALSE;
}

/* ---- The folder ---- */

static gboolean
is_empty_folder(const char *folder)
{
    g_autoptr(GDir) names = g_dir_open(folder, 0, NULL);

    return names != NULL && g_dir_read_name(names) == NULL;
}

/* Another user who may write there could make us remove that user's files. */
static gboolean
is_safe(const char *folder, GError **error)
{
    struct stat status;

    if (lstat(folder, &status) != 0)
        return loop_refuse_errno(error, errno, "%s", folder);
    if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 022) == 0)
        return TRUE;
    return loop_refuse(error, CSI_PERMISSION_DENIED,
                       "%s is not a folder that only its owner, who we are, may write to", folder);
}

/* Returns: the mark's descriptor; -1 */
static int
open_mark(const char *folder, gboolean made, GError **error)
{
    g_autofree char *path = g_build_filename(folder, MARK, NULL);
    gboolean is_new = made || is_empty_folder(folder);
    int mark = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT : 0), 0600);

    if (mark == -1 && errno == ENOENT)
        loop_refuse(error, CSI_PERMISSION_DENIED,
                    "%s is not empty and was not made by kvolsim: give another --state-dir",
                    folder);
    else if (mark == -1)
        loop_refuse_errno(error, errno, "%s", path);
    return mark;
}

static gboolean
take_lock(LoopLedger *self, GError **error)
{
    if (flock(self->mark, LOCK_EX | LOCK_NB) == 0)
        return TRUE;
    if (errno == EWOULDBLOCK)
        return loop_refuse(error, CSI_ABORTED, "another kvolsim works in %s", self->folder);
    return loop_refuse_errno(error, errno, "%s", self->folder);
}

static gboolean
open_lines(LoopLedger *self, gboolean made, GError **error)
{
    g_autofree char *path = g_build_filename(self->folder, LEDGER, NULL);
    struct stat status;

    /* The mark's second line: remove the folder itself at the end. */
    if (fstat(self->mark, &status) == 0 && status.st_size == 0 &&
        dprintf(self->mark, MARK_TEXT "%s", made ? "made\n" : "") < 0)
        return loop_refuse_errno(error, errno, "%s", self->folder);
    self->lines = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (self->lines == -1)
        loop_refuse_errno(error, errno, "%s", path);
    return self->lines != -1;
}

LoopLedger *
loop_ledger_open(const char *folder, GError **error)
{
    g_autoptr(LoopLedger) self = g_new0(LoopLedger, 1);
    g_autofree char *parent = g_path_get_dirname(folder);

    self->mark = self->lines = -1;
    g_mutex_init(&self->folders);
    if (g_mkdir_with_parents(parent, 0755) != 0) {
        loop_refuse_errno(error, errno, "%s", parent);
        return NULL;
    }
    gboolean made = mkdir(folder, 0700) == 0;
    if (!is_safe(folder, error))
        return NULL;
    /* The kernel reports mounts and backing files by their real paths. */
    char *real = realpath(folder, NULL);
    self->folder = g_strdup(real != NULL ? real : folder);
    free(real);
    self->mark = open_mark(self->folder, made, error);
    if (self->mark == -1 || !take_lock(self, error) || !open_lines(self, made, error))
        return NULL;
    return g_steal_pointer(&self);
}

void
loop_ledger_free(LoopLedger *self)
{
    if (self == NULL)
        return;
    if (self->lines != -1)
        close(self->lines);
    if (self->mark != -1)
        close(self->mark);
    g_mutex_clear(&self->folders);
    g_free(self->folder);
    g_free(self);
}

void
loop_ledger_retire(LoopLedger *self)
{
    g_autofree char *mark = g_build_filename(self->folder, MARK, NULL);
    g_autofree char *lines = g_build_filename(self->folder, LEDGER, NULL);
    g_autofree char *text = NULL;
    gboolean made =
        g_file_get_contents(mark, &text, NULL, NULL) && g_str_has_suffix(text, "\nmade\n");

    unlink(lines);
    unlink(mark);
    if (made)
        rmdir(self->folder); /* it may have files of others */
}

const char *
loop_ledger_folder(const LoopLedger *self)
{
    return self->folder;
}

char *
loop_ledger_path(const LoopLedger *self, const char *path)
{
    return g_build_filename(self->folder, path, NULL);
}

/* ---- The way to a path ---- */

static gboolean
refuse_way(GError **error, const char *folder, const char *path)
{
    if (!loop_way_leads_elsewhere(errno))
        return loop_refuse_errno(error, errno, "%s/%s", folder, path);
    return loop_refuse(error, CSI_PERMISSION_DENIED,
                       "%s/%s: a folder on the way is a link, a mount, or one to which others may "
                       "write: left alone",
                       folder, path);
}

gboolean
loop_ledger_check_path(const char *folder, const char *path, GError **error)
{
    int parent = loop_way_open_parent(folder, path, LOOP_WAY_OURS);

    if (parent != -1)
        close(parent);
    return parent != -1 || errno == ENOENT || refuse_way(error, folder, path);
}

/* ---- Lines ---- */

gboolean
loop_ledger_has_path(LoopDeed deed)
{
    return deed != LOOP_ASKED && deed != LOOP_NUMBER;
}

static gboolean
write_line(LoopLedger *self, char sign, LoopDeed deed, const char *what, GError **error)
{
    g_autofree char *escaped = g_strescape(what, NULL);
    g_autofree char *line = g_strdup_printf("%c %s %s\n", sign, deed_names[deed], escaped);
    size_t length = strlen(line);

    /* One write(): lines of other threads cannot come in between, and a kill comes before or after
     * it. */
    if (write(self->lines, line, length) == (ssize_t)length)
        return TRUE;
    return loop_refuse_errno(error, errno, "%s/" LEDGER, self->folder);
}

gboolean
loop_ledger_do(LoopLedger *self, LoopDeed deed, const char *what, GError **error)
{
    return (!loop_ledger_has_path(deed) || loop_ledger_check_path(self->folder, what, error)) &&
           write_line(self, '+', deed, what, error);
}

void
loop_ledger_undo(LoopLedger *self, LoopDeed deed, const char *what)
{
    write_line(self, '-', deed, what, NULL); /* an extra deed in the ledger does no harm */
}

static void
ledger_entry_free(void *data)
{
    LoopEntry *entry = data;

    g_free(entry->what);
    g_free(entry);
}

static gboolean
parse_deed(const char *name, size_t length, LoopDeed *deed)
{
    for (LoopDeed i = 0; i < LOOP_N_DEEDS; i++) {
        if (strlen(deed_names[i]) == length && strncmp(deed_names[i], name, length) == 0) {
            *deed = i;
            return TRUE;
        }
    }
    return FALSE;
}

/* TRUE if write_line() can have written it: a forged ledger must not make us remove /etc. */
static gboolean
may_stand(const LoopEntry *entry)
{
    static const char *const digits[] = {
        [LOOP_ASKED] = "0123456789-,", [LOOP_NUMBER] = "0123456789"};

    return loop_ledger_has_path(entry->deed)
               ? loop_way_is_well_formed(entry->what)
               : strspn(entry->what, digits[entry->deed]) == strlen(entry->what);
}

/* "+ file volumes/a.img" */
static LoopEntry *
parse_line(const char *line)
{
    const char *space = strlen(line) < 3 ? NULL : strchr(line + 2, ' ');
    LoopDeed deed;

    if (space == NULL || line[1] != ' ' || (line[0] != '+' && line[0] != '-') ||
        !parse_deed(line + 2, (size_t)(space - line - 2), &deed))
        return NULL;
    LoopEntry *entry = g_new(LoopEntry, 1);
    entry->deed = deed;
    /* GLib warns of a backslash at the end; our texts never end with an odd number of them. */
    size_t n_last = strlen(space + 1), n_slashes = 0;
    while (n_slashes < n_last && space[n_last - n_slashes] == '\\')
        n_slashes++;
    entry->what = n_slashes % 2 == 1 ? g_strdup("/") : g_strcompress(space + 1);
    g_autofree char *again = g_strescape(entry->what, NULL);
    if (strcmp(again, space + 1) == 0 && may_stand(entry))
        return entry;
    ledger_entry_free(entry);
    return NULL;
}

/* The newest such deed that was not taken back; a deed may be done again after that. */
static void
ledger_add_entry(GPtrArray *entries, GHashTable *last, char sign, LoopEntry *entry)
{
    g_autofree char *key = g_strdup_printf("%u %s", entry->deed, entry->what);
    unsigned at = GPOINTER_TO_UINT(g_hash_table_lookup(last, key));

    if (at != 0 && entries->pdata[at - 1] != NULL) {
        ledger_entry_free(entries->pdata[at - 1]);
        entries->pdata[at - 1] = NULL;
    }
    if (sign == '-') {
        ledger_entry_free(entry);
        return;
    }
    g_ptr_array_add(entries, entry);
    g_hash_table_insert(last, g_steal_pointer(&key), GUINT_TO_POINTER(entries->len));
}

static gboolean
ledger_is_ours(const char *folder, GError **error)
{
    g_autofree char *mark = g_build_filename(folder, MARK, NULL);

    if (!g_file_test(folder, G_FILE_TEST_EXISTS))
        return loop_refuse(error, CSI_NOT_FOUND, "%s: no such folder", folder);
    if (g_file_test(mark, G_FILE_TEST_IS_REGULAR))
        return TRUE;
    return loop_refuse(error, CSI_PERMISSION_DENIED, "%s was not made by kvolsim", folder);
}

/* Returns: (owned): the ledger's text; "" if there is none; NULL with @error */
static char *
read_lines(const char *path, GError **error)
{
    int file = loop_way_open_file(path);
    g_autoptr(GString) text = g_string_new(NULL);
    char block[4096];
    ssize_t n = 0;

    if (file == -1 && errno != ENOENT) {
        loop_refuse_errno(error, errno, "%s", path);
        return NULL;
    }
    while (file != -1 && (n = read(file, block, sizeof block)) > 0 && text->len < LEDGER_BYTES_MAX)
        g_string_append_len(text, block, n);
    int code = errno;
    if (file != -1)
        close(file);
    if (n == -1) {
        loop_refuse_errno(error, code, "%s", path);
        return NULL;
    }
    if (text->len < LEDGER_BYTES_MAX)
        return g_string_free(g_steal_pointer(&text), FALSE);
    loop_refuse(error, CSI_PERMISSION_DENIED, "%s is larger than a ledger gets", path);
    return NULL;
}

GPtrArray *
loop_ledger_read(const char *folder, unsigned *n_strange, GError **error)
{
    unsigned n = 0;
    g_autofree char *path = g_build_filename(folder, LEDGER, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GPtrArray) entries = g_ptr_array_new();
    g_autoptr(GHashTable) last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (!ledger_is_ours(folder, error) || (text = read_lines(path, error)) == NULL)
        return NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    /* The last line may be incomplete: then its deed was not begun. */
    for (unsigned i = 0; lines[i] != NULL && lines[i + 1] != NULL; i++) {
        LoopEntry *entry = parse_line(lines[i]);
        if (entry != NULL)
            ledger_add_entry(entries, last, lines[i][0], entry);
        else
            n++;
    }
    if (n_strange != NULL)
        *n_strange = n;

    GPtrArray *standing = g_ptr_array_new_with_free_func(ledger_entry_free);
    for (unsigned i = 0; i < entries->len; i++)
        if (entries->pdata[i] != NULL)
            g_ptr_array_add(standing, entries->pdata[i]);
    return standing;
}

gboolean
loop_ledger_is_taken(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, MARK, NULL);
    int mark = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    gboolean taken = mark != -1 && flock(mark, LOCK_SH | LOCK_NB) == -1;

    if (mark != -1)
        close(mark);
    return taken;
}

/* ---- Files and folders ---- */

gboolean
loop_ledger_make_folder(LoopLedger *self, const char *path, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    g_autoptr(GString) so_far = g_string_new(NULL);
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&self->folders);

    (void)locker; /* until the end */

    for (unsigned i = 0; parts[i] != NULL; i++) {
        if (parts[i][0] == '\0')
            continue;
        g_string_append_printf(so_far, "%s%s", so_far->len > 0 ? "/" : "", parts[i]);
        g_autofree char *full = loop_ledger_path(self, so_far->str);
        if (g_file_test(full, G_FILE_TEST_IS_DIR))
            continue;
        if (!loop_ledger_do(self, LOOP_FOLDER, so_far->str, error))
            return FALSE;
        if (mkdir(full, 0700) != 0 && errno != EEXIST)
            return loop_refuse_errno(error, errno, "%s", full);
    }
    return TRUE;
}

gboolean
loop_ledger_remove(LoopLedger *self, LoopDeed deed, const char *path, GError **error)
{
    g_autofree char *full = loop_ledger_path(self, path), *name = g_path_get_basename(path);
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&self->folders);
    int parent = loop_way_open_parent(self->folder, path, LOOP_WAY_OURS);

    (void)locker; /* until the end */
    if (parent == -1 && errno != ENOENT)
        return refuse_way(error, self->folder, path);
    int code = parent == -1 ? ENOENT : 0;
    if (parent != -1 && unlinkat(parent, name, deed == LOOP_FOLDER ? AT_REMOVEDIR : 0) != 0)
        code = errno;
    if (parent != -1)
        close(parent);
    if (code != 0 && code != ENOENT && !(deed == LOOP_FOLDER && code == ENOTEMPTY))
        return loop_refuse_errno(error, code, "%s", full);
    if (code == 0 || code == ENOENT)
        loop_ledger_undo(self, deed, path);
    return TRUE;
}

gboolean
loop_ledger_flush_folder(const LoopLedger *self, const char *path, GError **error)
{
    g_autofree char *full = loop_ledger_path(self, path);
    int folder = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gboolean done = folder != -1 && fsync(folder) == 0;

    if (!done)
        loop_refuse_errno(error, errno, "%s", full);
    if (folder != -1)
        close(folder);
    return done;
}
