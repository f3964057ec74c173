/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop back end through the checks of csi-sanity, with real devices: for each kind of volume
 * the whole list. */
#include "machine.h"
#include "tests/lib/test.h"

#include "models/csi/loop/loop-driver.h"
#include "tests/csi/sanity.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

typedef struct {
    const char *name, *fs_type;
    CsiAccessType type;
    int64_t bytes;
    unsigned n_skipped; /* group snapshots, modification */
    const char *tool;   /* without it the row is skipped */
} SanityRow;

static const SanityRow rows[] = {
    {"SAN ext4",  NULL,  CSI_ACCESS_MOUNT, 16 * MIB,  14, "mkfs.ext4"},
    {"SAN xfs",   "xfs", CSI_ACCESS_MOUNT, 320 * MIB, 15, "mkfs.xfs" },
    {"SAN block", NULL,  CSI_ACCESS_BLOCK, 16 * MIB,  14, "true"     },
};

typedef struct {
    LoopBackend *backend;
    Sim *sim;
    Strings *strings;
    LoopDriver *driver;
    CsiResponse *answer;
    gboolean is_answered;
} SanityWorld;

static void
sanity_answered(void *data, const CsiResponse *response)
{
    SanityWorld *self = data;

    self->answer = csi_response_copy(sim_memory(self->sim), response);
    self->is_answered = TRUE;
}

static const CsiResponse *
call_and_wait(void *data, const CsiRequest *request)
{
    SanityWorld *self = data;

    csi_response_free(sim_memory(self->sim), self->answer);
    self->is_answered = FALSE;
    csi_driver_call(loop_driver_base(self->driver), request, sanity_answered, self);
    while (!self->is_answered)
        assert_true(sim_step(self->sim));
    return self->answer;
}

static gboolean
path_exists(void *data, const char *path)
{
    SanityWorld *self = data;
    g_autofree char *full = loop_backend_node_path(self->backend, "n1", path);

    return g_file_test(full, G_FILE_TEST_EXISTS);
}

static void
world_open(SanityWorld *self, const SanityRow *row, const char *folder)
{
    const SimOptions sim_options = {.seed = 1};
    const LoopDriverOptions options = {.name = "loop.kvolsim.io"};
    const LoopOptions loop_options = {
        .state_dir = folder, .attach_limit = 12, .default_type = row->fs_type};
    g_autoptr(GError) error = NULL;

    *self = (SanityWorld){.sim = sim_new(&sim_options), .strings = strings_new()};
    self->backend = loop_backend_open(&loop_options, &error);
    if (self->backend == NULL)
        fail_msg("%s", error->message);
    self->driver = loop_driver_new(self->sim, self->strings, self->backend, &options);
    csi_driver_add_node(loop_driver_base(self->driver), "n1", "n1", NULL);
}

static void
world_close(SanityWorld *self)
{
    csi_response_free(sim_memory(self->sim), self->answer);
    csi_driver_free(loop_driver_base(self->driver));
    sim_free(self->sim);
    strings_free(self->strings);
    loop_backend_close(self->backend);
}

static void
is_sane(void **state)
{
    const SanityRow *row = *state;
    Machine machine;
    SanityWorld world;
    unsigned n_skipped = 0;
    g_autofree char *command = g_strdup_printf("/usr/sbin/%s", row->tool);

    if (row->type == CSI_ACCESS_MOUNT && !g_file_test(command, G_FILE_TEST_IS_EXECUTABLE)) {
        print_message("# SKIP %s is missing\n", row->tool);
        skip();
    }
    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    world_open(&world, row, folder);
    CsiSanityBackEnd sanity;
    csi_sanity_back_end_init(&sanity);
    sanity.call = call_and_wait;
    sanity.path_exists = path_exists;
    sanity.data = &world;
    sanity.strings = world.strings;
    sanity.node_name = strings_intern(world.strings, "n1");
    sanity.directory = "/sanity";
    sanity.capability.type = row->type;
    sanity.capability.fs_type = strings_intern(world.strings, row->fs_type);
    sanity.volume_bytes = row->bytes;
    sanity.expand_bytes = 16 * MIB;
    sanity.tries_node_limit = row->bytes < 100 * MIB;
    for (unsigned i = 0; i < csi_sanity_n_checks(); i++) {
        g_autoptr(GString) why = g_string_new(NULL);
        CsiSanityResult result = csi_sanity_check(i, &sanity, why);
        if (result == CSI_SANITY_FAILED)
            fail_msg("%s: %s", csi_sanity_check_name(i), why->str);
        if (result == CSI_SANITY_SKIPPED)
            print_message("# skipped: %s: %s\n", csi_sanity_check_name(i), why->str);
        n_skipped += result == CSI_SANITY_SKIPPED;
        assert_int_equal(loop_backend_n_volumes(world.backend), 0);
    }
    assert_int_equal(n_skipped, row->n_skipped);
    world_close(&world);
    assert_true(loop_remains_clean(folder, G_USEC_PER_SEC, NULL, NULL, NULL));
    machine_leave(&machine);
}
TEST_ROWS(rows, is_sane);
