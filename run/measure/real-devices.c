/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: looks at the real machine, after or beside a run */
/* Compares a run's picture of real devices with the machine: mounts and bound files, and data in
 * volumes. Each published volume gets data with a number, which is read back when the volume is
 * published again, so that a volume that was mixed up or lost is found. Only the first fault is
 * kept. */
#include "real-devices.h"

#include "models/csi/loop/device.h"
#include "models/csi/loop/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The paths on this machine of the mounts that the calls led to, sorted. */
static GPtrArray *
believed_paths(const CallLog *log, LoopBackend *backend)
{
    g_autoptr(GPtrArray) mounts = call_log_believed_mounts(log);
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < mounts->len; i++) {
        g_auto(GStrv) parts = g_strsplit(mounts->pdata[i], " ", 2);
        g_ptr_array_add(paths, loop_backend_node_path(backend, parts[0], parts[1]));
    }
    g_ptr_array_sort(paths, strings_compare);
    return paths;
}

static GPtrArray *
real_paths(const char *below)
{
    g_autoptr(GPtrArray) mounts = loop_mounts_read();
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < mounts->len; i++) {
        const LoopMount *mount = mounts->pdata[i];
        if (g_str_has_prefix(mount->target, below))
            g_ptr_array_add(paths, g_strdup(mount->target));
    }
    g_ptr_array_sort(paths, strings_compare);
    return paths;
}

static GPtrArray *
bound_volumes(const char *below)
{
    g_autoptr(GPtrArray) devices = loop_devices_list();
    GPtrArray *ids = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < devices->len; i++) {
        const LoopDevice *device = devices->pdata[i];
        char *id = g_str_has_prefix(device->backing_file, below)
                       ? g_path_get_basename(device->backing_file)
                       : NULL;
        if (id == NULL)
            continue;
        if (g_str_has_suffix(id, ".img"))
            id[strlen(id) - strlen(".img")] = '\0';
        g_ptr_array_add(ids, id);
    }
    g_ptr_array_sort(ids, strings_compare);
    return ids;
}

/* Both sorted. (owned) NULL: none */
static char *
first_difference(const GPtrArray *believed, const GPtrArray *real, const char *what)
{
    for (unsigned i = 0; i < MAX(believed->len, real->len); i++) {
        const char *a = i < believed->len ? believed->pdata[i] : NULL;
        const char *b = i < real->len ? real->pdata[i] : NULL;
        if (g_strcmp0(a, b) == 0)
            continue;
        gboolean is_missing = b == NULL || (a != NULL && strcmp(a, b) < 0);
        return g_strdup_printf("%s %s: %s", what, is_missing ? a : b,
                               is_missing ? "the run believes it, the machine has it not"
                                          : "the machine has it, the run knows nothing of it");
    }
    return NULL;
}

char *
validation_check_machine(const CallLog *log, LoopBackend *backend)
{
    const char *folder = loop_ledger_folder(loop_backend_ledger(backend));
    g_autofree char *nodes = g_strconcat(folder, "/nodes/", NULL);
    g_autofree char *volumes = g_strconcat(folder, "/volumes/", NULL);
    g_autoptr(GPtrArray) believed = believed_paths(log, backend);
    g_autoptr(GPtrArray) real = real_paths(nodes);
    g_autoptr(GPtrArray) attached = call_log_believed_attachments(log);
    g_autoptr(GPtrArray) bound = bound_volumes(volumes);
    char *difference = first_difference(believed, real, "mount");

    return difference != NULL ? difference : first_difference(attached, bound, "loop device of");
}

/* ---- Data ---- */

#define DATA_BYTES 65536

struct ValidationData {
    GMutex lock;
    GHashTable *written; /* volume id -> the number of what was written last (pointer) */
    unsigned n_checked, n_written;
    char *fault;
};

ValidationData *
validation_data_new(void)
{
    ValidationData *self = g_new0(ValidationData, 1);

    g_mutex_init(&self->lock);
    self->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

void
validation_data_free(ValidationData *self)
{
    if (self == NULL)
        return;
    g_mutex_clear(&self->lock);
    g_hash_table_unref(self->written);
    g_free(self->fault);
    g_free(self);
}

/* Fills @bytes with data that is different for each number. */
static void
validation_fill(uint8_t *bytes, unsigned number)
{
    g_autofree char *seed = g_strdup_printf("kvolsim %u", number);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

    for (unsigned i = 0; i < DATA_BYTES; i += 32) {
        gsize length = 32;
        g_checksum_update(sum, (const guchar *)seed, -1);
        g_autoptr(GChecksum) copy = g_checksum_copy(sum);
        g_checksum_get_digest(copy, bytes + i, &length);
    }
}

static gboolean
read_back(int file, unsigned number)
{
    g_autofree uint8_t *found = g_malloc0(DATA_BYTES);
    g_autofree uint8_t *wanted = g_malloc(DATA_BYTES);

    validation_fill(wanted, number);
    return pread(file, found, DATA_BYTES, 0) == DATA_BYTES &&
           memcmp(found, wanted, DATA_BYTES) == 0;
}

static gboolean
write_new(int file, unsigned number)
{
    g_autofree uint8_t *bytes = g_malloc(DATA_BYTES);

    validation_fill(bytes, number);
    return pwrite(file, bytes, DATA_BYTES, 0) == DATA_BYTES && fsync(file) == 0;
}

static void
validation_note_fault(ValidationData *self, const char *volume_id, const char *what)
{
    g_mutex_lock(&self->lock);
    if (self->fault == NULL)
        self->fault = g_strdup_printf("volume %s: %s", volume_id, what);
    g_mutex_unlock(&self->lock);
}

void
validation_data_visit(void *data, const char *volume_id, const char *path, gboolean is_block)
{
    ValidationData *self = data;
    g_autofree char *name = is_block ? g_strdup(path) : g_build_filename(path, "data", NULL);

    g_mutex_lock(&self->lock);
    unsigned before = GPOINTER_TO_UINT(g_hash_table_lookup(self->written, volume_id));
    unsigned number = ++self->n_written;
    self->n_checked += before > 0 ? 1 : 0;
    g_hash_table_insert(self->written, g_strdup(volume_id), GUINT_TO_POINTER(number));
    g_mutex_unlock(&self->lock);

    int file =
        open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_block || before > 0 ? 0 : O_CREAT), 0600);
    if (file == -1)
        validation_note_fault(self, volume_id, g_strerror(errno));
    else if (before > 0 && !read_back(file, before))
        validation_note_fault(self, volume_id, "its data is not what was written");
    else if (!write_new(file, number))
        validation_note_fault(self, volume_id, g_strerror(errno));
    if (file != -1)
        close(file);
}

char *
validation_data_result(ValidationData *self, unsigned *n_checked, unsigned *n_written)
{
    g_mutex_lock(&self->lock);
    *n_checked = self->n_checked;
    *n_written = self->n_written;
    char *fault = g_strdup(self->fault);
    g_mutex_unlock(&self->lock);
    return fault;
}
