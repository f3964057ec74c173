/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 4096

static gboolean
may_run(char **why)
{
    g_autoptr(GError) error = NULL;

    if (loop_device_permitted(&error))
        return TRUE;
    *why = g_strdup(error->message);
    return FALSE;
}

char *
machine_picture(const Machine *self)
{
    g_autoptr(GPtrArray) devices = loop_devices_list();
    g_autoptr(GPtrArray) mounts = loop_mounts_read();
    g_autofree char *below = g_strconcat(self->folder, "/", NULL);
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < devices->len; i++) {
        const LoopDevice *device = devices->pdata[i];
        if (g_str_has_prefix(device->backing_file, below))
            g_string_append_printf(text, "loop%d %s\n", device->number, device->backing_file);
    }
    for (unsigned i = 0; i < mounts->len; i++) {
        const LoopMount *mount = mounts->pdata[i];
        if (g_str_has_prefix(mount->target, below))
            g_string_append_printf(text, "mount %s %s\n", mount->target, mount->source);
    }
    return g_string_free(text, FALSE);
}

GArray *
machine_numbers(LoopBackend *backend)
{
    g_autoptr(GPtrArray) entries =
        loop_ledger_read(loop_ledger_folder(loop_backend_ledger(backend)), NULL, NULL);
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(int));

    for (unsigned i = 0; entries != NULL && i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        int number = entry->deed == LOOP_NUMBER ? atoi(entry->what) : -1;
        if (number >= 0)
            g_array_append_val(numbers, number);
    }
    return numbers;
}

void
machine_numbers_are_gone(const GArray *numbers)
{
    for (unsigned i = 0; i < numbers->len; i++) {
        int number = g_array_index(numbers, int, i);
        g_autofree char *device = g_strdup_printf("/sys/block/loop%d", number);
        g_autofree char *bound = g_strdup_printf("%s/loop/backing_file", device);
        if (g_file_test(device, G_FILE_TEST_EXISTS) && !g_file_test(bound, G_FILE_TEST_EXISTS))
            fail_msg("loop%d was made and not given back", number);
    }
}

void
machine_enter(Machine *self)
{
    g_autofree char *why = NULL;
    g_autofree char *lock = g_build_filename(g_get_tmp_dir(), "kvolsim-loop-tests.lock", NULL);
    g_autofree char *template =
        g_strdup_printf("%s/loop-test-XXXXXX", g_getenv("KVOLSIM_BUILDDIR"));

    if (!may_run(&why)) {
        print_message("# SKIP %s\n", why);
        skip();
    }
    static int lock_file =
        -1; /* kept until the program ends: a failing test would not release it */
    if (lock_file == -1) {
        lock_file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_not_equal(lock_file, -1);
        assert_int_equal(flock(lock_file, LOCK_EX), 0);
    }
    /* Mounts and devices are reported by their path without links. */
    assert_non_null(g_mkdtemp(template));
    self->folder = realpath(template, NULL);
    assert_non_null(self->folder);
}

void
machine_leave(Machine *self)
{
    g_autofree char *after = machine_picture(self);

    assert_string_equal(after, "");
    assert_int_equal(g_rmdir(self->folder), 0); /* the test must not leave anything either */
    free(self->folder);
}

char *
machine_path(const Machine *self, const char *name)
{
    return g_build_filename(self->folder, name, NULL);
}

void
machine_run(const char *format, ...)
{
    va_list args;
    g_autofree char *said = NULL;
    int status;

    va_start(args, format);
    g_autofree char *command = g_strdup_vprintf(format, args);
    va_end(args);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                             NULL, &said, &status, NULL));
    if (status != 0)
        fail_msg("%s: %s", command, said);
}

char *
machine_host(const Machine *self, const char *name, const char *type, int64_t bytes)
{
    char *host = machine_path(self, name);

    assert_int_equal(g_mkdir(host, 0700), 0);
    machine_run("PATH=$PATH:/usr/sbin:/sbin; truncate -s %" G_GINT64_FORMAT
                " '%s.host' && mkfs.%s -q '%s.host' && mount -o loop '%s.host' '%s'",
                bytes, host, type, host, host, host);
    return host;
}

void
machine_host_end(const Machine *self, const char *name)
{
    g_autofree char *host = machine_path(self, name);

    machine_run("PATH=$PATH:/usr/sbin:/sbin; umount '%s' && rmdir '%s' && rm '%s.host'", host, host,
                host);
}

/* ---- Calls ---- */

void
caller_open(Caller *self, const LoopOptions *options)
{
    g_autoptr(GError) error = NULL;

    *self = (Caller){.capability = {.mode = CSI_SINGLE_NODE_WRITER}, .node = "n1"};
    self->backend = loop_backend_open(options, &error);
    if (self->backend == NULL)
        fail_msg("%s", error->message);
    self->strings = strings_new();
    loop_backend_add_node(self->backend, "n1");
    loop_backend_add_node(self->backend, "n2");
}

void
caller_close(Caller *self)
{
    loop_answer_clear(&self->answer);
    loop_backend_close(self->backend);
    strings_free(self->strings);
    self->backend = NULL;
}

static void
call(Caller *self, const CsiRequest *request, CsiCode code)
{
    loop_answer_clear(&self->answer);
    loop_backend_call(self->backend, request, &self->answer);
    if (self->answer.response.code != code)
        fail_msg("%s of %s: %s: %s", csi_method_name(request->method),
                 request->volume_id != NULL ? request->volume_id : request->name,
                 csi_code_name(self->answer.response.code), self->answer.response.message);
}

const char *
caller_create(Caller *self, const char *name, int64_t bytes, CsiCode code)
{
    const CsiRequest request = {.method = CSI_CREATE_VOLUME,
                                .name = name,
                                .required_bytes = bytes,
                                .capabilities = &self->capability,
                                .n_capabilities = 1,
                                .parameters = self->parameters};

    call(self, &request, code);
    return strings_intern(self->strings, self->answer.response.volume_id);
}

const char *
caller_restore(
    Caller *self, const char *name, CsiSourceKind kind, const char *source, int64_t bytes)
{
    const CsiRequest request = {.method = CSI_CREATE_VOLUME,
                                .name = name,
                                .required_bytes = bytes,
                                .capabilities = &self->capability,
                                .n_capabilities = 1,
                                .source_kind = kind,
                                .source_id = source};

    call(self, &request, CSI_OK);
    return strings_intern(self->strings, self->answer.response.volume_id);
}

static CsiRequest
request_for(Caller *self, CsiMethod method, const char *id)
{
    return (CsiRequest){
        .method = method,
        .served_by = self->node,
        .volume_id = id,
        .snapshot_id = id,
        .node_id = self->node,
        .capabilities = &self->capability,
        .n_capabilities = 1,
        .readonly = self->readonly,
        .staging_path = strings_internf(self->strings, "/staging/%s", id),
        .target_path = strings_internf(self->strings, "/pods/%s/mount", id),
    };
}

void
caller_do(Caller *self, CsiMethod method, const char *id, CsiCode code)
{
    const CsiRequest request = request_for(self, method, id);

    call(self, &request, code);
}

void
caller_expand(Caller *self, const char *id, int64_t bytes, CsiCode code)
{
    CsiRequest request = request_for(self, CSI_CONTROLLER_EXPAND_VOLUME, id);

    request.required_bytes = bytes;
    call(self, &request, code);
}

const char *
caller_snapshot(Caller *self, const char *name, const char *id, CsiCode code)
{
    const CsiRequest request = {.method = CSI_CREATE_SNAPSHOT, .name = name, .volume_id = id};

    call(self, &request, code);
    return strings_intern(self->strings, self->answer.response.snapshot_id);
}

void
caller_up(Caller *self, const char *id)
{
    caller_do(self, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    caller_do(self, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(self, CSI_NODE_PUBLISH_VOLUME, id, CSI_OK);
}

void
caller_down(Caller *self, const char *id)
{
    caller_do(self, CSI_NODE_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_do(self, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(self, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
}

char *
caller_target(Caller *self, const char *id)
{
    return loop_backend_node_path(self->backend, self->node,
                                  strings_internf(self->strings, "/pods/%s/mount", id));
}

static void
fail_on_report(void *data, const char *text)
{
    (void)data;
    fail_msg("%s", text);
}

void
caller_end(Caller *self)
{
    g_autofree char *folder = g_strdup(loop_ledger_folder(loop_backend_ledger(self->backend)));
    g_autoptr(GArray) numbers = machine_numbers(self->backend);
    g_autoptr(GError) error = NULL;

    caller_close(self);
    if (!loop_remains_clean(folder, G_USEC_PER_SEC, fail_on_report, NULL, &error))
        fail_msg("%s", error != NULL ? error->message : "not clean");
    assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
    machine_numbers_are_gone(numbers);
}

/* ---- Data ---- */

static void
fill_block(uint32_t *block, uint32_t seed, unsigned i)
{
    uint32_t x = seed * 2654435761u ^ (i + 1) * 40503u;

    for (unsigned k = 0; k < BLOCK / sizeof *block; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        block[k] = x;
    }
}

void
data_write(const char *path, uint32_t seed, unsigned n)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    uint32_t block[BLOCK / sizeof(uint32_t)];

    assert_int_not_equal(file, -1);
    for (unsigned i = 0; i < n; i++) {
        fill_block(block, seed, i);
        assert_int_equal(pwrite(file, block, BLOCK, (off_t)i * BLOCK), BLOCK);
    }
    assert_int_equal(fsync(file), 0);
    close(file);
}

void
data_check(const char *path, uint32_t seed, unsigned n)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    uint32_t block[BLOCK / sizeof(uint32_t)], found[BLOCK / sizeof(uint32_t)];

    if (file == -1)
        fail_msg("%s: %s", path, g_strerror(errno));
    for (unsigned i = 0; i < n; i++) {
        fill_block(block, seed, i);
        assert_int_equal(pread(file, found, BLOCK, (off_t)i * BLOCK), BLOCK);
        if (memcmp(block, found, BLOCK) != 0)
            fail_msg("%s: block %u is not what was written", path, i);
    }
    close(file);
}
