/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* Cleans up after a process that was killed, by the ledger it left. Nothing is taken back unless
 * the ledger names it. Order: mounts, devices, files, folders, each kind last first, because a
 * device cannot go before its mounts. A file whose device could not be freed stays: without it
 * nobody would find the device. */
#include "loop-private.h"

#include <sys/stat.h>

#define PAUSE_US 5000

static void
remain_free(void *data)
{
    LoopRemain *remain = data;

    g_free(remain->what);
    g_free(remain->state);
    g_free(remain);
}

/* Returns: (nullable) (owned): the present state of a ledger's entry; NULL: it is not on the
 * machine */
static char *
clean_state_of(const char *full, LoopDeed deed, const GPtrArray *mounts)
{
    struct stat status;
    int number;

    switch (deed) {
    case LOOP_FOLDER:
        return g_file_test(full, G_FILE_TEST_IS_DIR) ? g_strdup("folder") : NULL;
    case LOOP_FILE:
        return lstat(full, &status) != 0
                   ? NULL
                   : g_strdup_printf("%" G_GINT64_FORMAT " bytes", (int64_t)status.st_size);
    case LOOP_BINDING:
        number = loop_device_of(full);
        return number < 0 ? NULL : g_strdup_printf("bound to loop%d", number);
    case LOOP_MOUNT: {
        const LoopMount *mount = loop_mounts_find(mounts, full);
        return mount == NULL ? NULL
                             : g_strdup_printf("mounted, %s of %s", mount->type, mount->source);
    }
    case LOOP_FREEZE:
        return g_strdup("perhaps frozen");
    case LOOP_ASKED:
    case LOOP_NUMBER:
    case LOOP_N_DEEDS:
        break;
    }
    return NULL;
}

static void
add_remain(GPtrArray *remains, LoopDeed deed, const char *what, char *state)
{
    LoopRemain *remain = g_new(LoopRemain, 1);

    *remain = (LoopRemain){deed, g_strdup(what), state};
    g_ptr_array_add(remains, remain);
}

GPtrArray *
loop_remains_list(const char *state_dir, GError **error)
{
    g_autoptr(GPtrArray) entries = loop_ledger_read(state_dir, NULL, error);

    if (entries == NULL)
        return NULL;
    GPtrArray *remains = g_ptr_array_new_with_free_func(remain_free);
    g_autoptr(GPtrArray) mounts = loop_mounts_read();
    for (unsigned i = 0; i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        g_autofree char *full = entry->deed == LOOP_NUMBER
                                    ? g_strdup_printf("/sys/block/loop%s", entry->what)
                                    : g_build_filename(state_dir, entry->what, NULL);
        if (entry->deed == LOOP_NUMBER && g_file_test(full, G_FILE_TEST_EXISTS))
            add_remain(remains, entry->deed, entry->what, g_strdup("device made"));
        char *state = !loop_ledger_has_path(entry->deed) ||
                              loop_ledger_check_path(state_dir, entry->what, NULL)
                          ? clean_state_of(full, entry->deed, mounts)
                          : g_strdup("a link on the way leads elsewhere");
        if (state != NULL)
            add_remain(remains, entry->deed, full, state);
    }
    return remains;
}

typedef struct {
    LoopLedger *ledger;
    gint64 wait_us;
    void (*report)(void *data, const char *text);
    void *data;
    gboolean is_clean;
} LoopCleaning;

static void
complain(LoopCleaning *self, const char *text)
{
    self->is_clean = FALSE;
    if (self->report != NULL)
        self->report(self->data, text);
}

/* The tools of a killed process may hold its devices and its lock until they have died, too. */
static gboolean
may_try_again(const LoopCleaning *self, gint64 began_us)
{
    if (g_get_monotonic_time() - began_us >= self->wait_us)
        return FALSE;
    g_usleep(PAUSE_US);
    return TRUE;
}

static void
clean_detach(LoopCleaning *self, const char *path, GError **error)
{
    gint64 began_us = g_get_monotonic_time();
    g_autoptr(GError) why = NULL;

    while (!loop_device_detach(self->ledger, path, &why) && may_try_again(self, began_us))
        g_clear_error(&why);
    if (why != NULL)
        g_propagate_error(error, g_steal_pointer(&why));
}

static LoopLedger *
open_ledger(const LoopCleaning *self, const char *state_dir, GError **error)
{
    gint64 began_us = g_get_monotonic_time();
    g_autoptr(GError) why = NULL;
    LoopLedger *ledger;

    while ((ledger = loop_ledger_open(state_dir, &why)) == NULL &&
           g_error_matches(why, LOOP_ERROR, CSI_ABORTED) && may_try_again(self, began_us))
        g_clear_error(&why);
    if (why != NULL)
        g_propagate_error(error, g_steal_pointer(&why));
    return ledger;
}

/* One kind at a time, last first: a device cannot go before its mounts. */
static void
take_back(LoopCleaning *self, const GPtrArray *entries, LoopDeed deed)
{
    for (unsigned i = entries->len; i > 0; i--) {
        const LoopEntry *entry = entries->pdata[i - 1];
        g_autoptr(GError) error = NULL;
        if (entry->deed != deed)
            continue;
        if (deed == LOOP_FREEZE)
            loop_thaw(self->ledger, entry->what);
        else if (deed == LOOP_MOUNT)
            loop_unmount(self->ledger, entry->what, self->wait_us, &error);
        else if (deed == LOOP_BINDING)
            clean_detach(self, entry->what, &error);
        else
            loop_ledger_remove(self->ledger, deed, entry->what, &error);
        if (error != NULL)
            complain(self, error->message);
    }
}

/* A file whose device could not be freed must stay: otherwise nobody would find the device
 * (LOOP-21). */
static void
take_back_files(LoopCleaning *self, const GPtrArray *entries)
{
    g_autoptr(GPtrArray) may_go = g_ptr_array_new();

    for (unsigned i = 0; i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        g_autofree char *full = loop_ledger_path(self->ledger, entry->what);
        if (entry->deed == LOOP_FILE && loop_device_of(full) < 0)
            g_ptr_array_add(may_go, entries->pdata[i]);
    }
    take_back(self, may_go, LOOP_FILE);
}

/* Folders with files of others stay, and are reported. */
static void
take_back_folders(LoopCleaning *self, const GPtrArray *entries)
{
    take_back(self, entries, LOOP_FOLDER);
    for (unsigned i = 0; i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        g_autofree char *full = loop_ledger_path(self->ledger, entry->what);
        if (entry->deed != LOOP_FOLDER || !g_file_test(full, G_FILE_TEST_IS_DIR))
            continue;
        g_autofree char *text =
            g_strdup_printf("%s: not empty: somebody else has put something there", full);
        complain(self, text);
    }
}

gboolean
loop_remains_clean(const char *state_dir,
                   gint64 wait_us,
                   void (*report)(void *data, const char *text),
                   void *data,
                   GError **error)
{
    g_autoptr(GPtrArray) entries = loop_ledger_read(state_dir, NULL, error);
    unsigned n_strange;
    LoopCleaning cleaning = {.wait_us = wait_us, .report = report, .data = data, .is_clean = TRUE};

    if (entries == NULL || !loop_device_permitted(error))
        return FALSE;
    g_autoptr(LoopLedger) ledger = open_ledger(&cleaning, state_dir, error);
    if (ledger == NULL)
        return FALSE;
    cleaning.ledger = ledger;
    g_clear_pointer(&entries, g_ptr_array_unref);
    entries = loop_ledger_read(state_dir, &n_strange,
                               error); /* again: it is locked now, and does not change */
    if (entries == NULL)
        return FALSE;
    if (n_strange > 0) {
        g_autofree char *text = g_strdup_printf(
            "%s: lines of the ledger that we did not write, left alone: %u", state_dir, n_strange);
        complain(&cleaning, text);
    }
    take_back(&cleaning, entries, LOOP_FREEZE);
    take_back(&cleaning, entries, LOOP_MOUNT);
    take_back(&cleaning, entries, LOOP_BINDING);
    take_back_files(&cleaning, entries);
    loop_device_return_numbers(ledger, entries);
    take_back_folders(&cleaning, entries);
    if (cleaning.is_clean)
        loop_ledger_retire(ledger);
    return cleaning.is_clean;
}
