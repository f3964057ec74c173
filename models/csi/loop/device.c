/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* Loop devices: attach, detach, size and numbers, on the running kernel. A free number is asked for
 * and may be taken by another process meanwhile, so binding is tried again until it works or ten
 * seconds are over (LOOP-17). A device is cleared only after it was opened exclusively and its
 * backing file was seen to be ours, since numbers are reused at once.
 *
 * Every number that the kernel made for us is in the ledger, so that it can be returned, but none
 * that existed before. */
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CONTROL "/dev/loop-control"
#define LOOP_MAJOR 7
#define ATTACH_US (10 * G_USEC_PER_SEC) /* 32 workers needed 18 tries of 1 ms */
#define RELEASE_US (3 * G_USEC_PER_SEC) /* udev and the like look at a device for a moment */
#define PAUSE_US 500
#define BLOCK_BYTES 512
#define DELETED " (deleted)"

/* ---- Permission ---- */

gboolean
loop_has_capability(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    return syscall(SYS_capget, &header, data) == 0 &&
           (data[capability / 32].effective & 1u << capability % 32) != 0;
}

gboolean
loop_device_permitted(GError **error)
{
    const char *missing = NULL;
    int control = -1;

    if (geteuid() != 0)
        missing = "it must run as root";
    else if (!loop_has_capability(CAP_SYS_ADMIN))
        missing = "CAP_SYS_ADMIN is missing";
    else if ((control = open(CONTROL, O_RDWR | O_CLOEXEC)) == -1)
        missing = errno == ENOENT ? CONTROL " is missing (modprobe loop)" : CONTROL " is refused";
    if (control != -1)
        close(control);
    if (missing == NULL)
        return TRUE;
    return loop_refuse(error, CSI_PERMISSION_DENIED, "real loop devices: %s", missing);
}

/* ---- Bound devices ---- */

/* "loop12": 12; -1: another name */
static int
device_number_of(const char *name)
{
    char *end;

    if (!g_str_has_prefix(name, "loop") || !g_ascii_isdigit(name[4]))
        return -1;
    guint64 number = g_ascii_strtoull(name + 4, &end, 10);
    return *end == '\0' && number < INT_MAX ? (int)number : -1;
}

static int
device_compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Of int, ascending. */
static GArray *
existing_numbers(void)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GDir) folder = g_dir_open("/sys/block", 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        int number = device_number_of(name);
        if (number >= 0)
            g_array_append_val(numbers, number);
    }
    g_array_sort(numbers, device_compare_numbers);
    return numbers;
}

/* NULL: not bound. (owned) */
static char *
backing_file_of(int number)
{
    g_autofree char *path = g_strdup_printf("/sys/block/loop%d/loop/backing_file", number);
    char *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    return text;
}

static void
device_free(void *data)
{
    LoopDevice *device = data;

    g_free(device->backing_file);
    g_free(device);
}

GPtrArray *
loop_devices_list(void)
{
    GPtrArray *devices = g_ptr_array_new_with_free_func(device_free);
    g_autoptr(GArray) numbers = existing_numbers();

    for (unsigned i = 0; i < numbers->len; i++) {
        int number = g_array_index(numbers, int, i);
        char *file = backing_file_of(number);
        if (file == NULL)
            continue;
        LoopDevice *device = g_new(LoopDevice, 1);
        *device = (LoopDevice){number, file, g_str_has_suffix(file, DELETED)};
        if (device->is_deleted)
            file[strlen(file) - strlen(DELETED)] = '\0';
        g_ptr_array_add(devices, device);
    }
    return devices;
}

/* As in the kernel's huge_encode_dev(). */
static uint64_t
encoded(dev_t device)
{
    unsigned high = major(device), low = minor(device);

    return (low & 0xff) | (uint64_t)high << 8 | (uint64_t)(low & ~0xffu) << 12;
}

static gboolean
is_same_file(int number, const char *full)
{
    g_autofree char *path = g_strdup_printf("/dev/loop%d", number);
    struct loop_info64 info;
    struct stat status;
    int device = stat(full, &status) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (device == -1)
        return FALSE;
    gboolean is_same = ioctl(device, LOOP_GET_STATUS64, &info) == 0 &&
                       info.lo_inode == status.st_ino && info.lo_device == encoded(status.st_dev);
    close(device);
    return is_same;
}

gboolean
loop_device_has(const LoopDevice *self, const char *full)
{
    g_autofree char *printed = g_path_get_basename(self->backing_file);
    g_autofree char *wanted = g_path_get_basename(full);

    return strcmp(self->backing_file, full) == 0 ||
           (!self->is_deleted && strcmp(printed, wanted) == 0 && is_same_file(self->number, full));
}

int
loop_device_of(const char *backing_file)
{
    g_autoptr(GPtrArray) devices = loop_devices_list();

    for (unsigned i = 0; i < devices->len; i++) {
        const LoopDevice *device = devices->pdata[i];
        if (loop_device_has(device, backing_file))
            return device->number;
    }
    return -1;
}

/* Numbers that exist, bound or not: "0-7,12". (owned) */
static char *
loop_device_numbers(void)
{
    g_autoptr(GArray) numbers = existing_numbers();
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < numbers->len; i++) {
        int first = g_array_index(numbers, int, i), last = first;
        while (i + 1 < numbers->len && g_array_index(numbers, int, i + 1) == last + 1)
            last = g_array_index(numbers, int, ++i);
        g_string_append_printf(text, "%s%d", text->len > 0 ? "," : "", first);
        if (last > first)
            g_string_append_printf(text, "-%d", last);
    }
    return g_string_free(text, FALSE);
}

/* Whether @number is in a list that loop_device_numbers() wrote. */
static gboolean
is_among(const char *list, int number)
{
    g_auto(GStrv) ranges = g_strsplit(list, ",", -1);

    for (unsigned i = 0; ranges[i] != NULL; i++) {
        int first, last;
        int n = sscanf(ranges[i], "%d-%d", &first, &last);
        if (n >= 1 && number >= first && number <= (n == 2 ? last : first))
            return TRUE;
    }
    return FALSE;
}

static gboolean
any_is_free(void)
{
    g_autoptr(GArray) numbers = existing_numbers();

    for (unsigned i = 0; i < numbers->len; i++) {
        g_autofree char *file = backing_file_of(g_array_index(numbers, int, i));
        if (file == NULL)
            return TRUE;
    }
    return FALSE;
}

/* ---- Device nodes ---- */

/* A container's /dev lacks devices that came up later; we make nodes in a folder of our own. */
static char *
make_node(LoopLedger *ledger, int number, GError **error)
{
    g_autofree char *path = g_strdup_printf("dev/loop%d", number);
    g_autofree char *full = loop_ledger_path(ledger, path);

    if (g_file_test(full, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&full);
    if (!loop_ledger_make_folder(ledger, "dev", error) ||
        !loop_ledger_do(ledger, LOOP_FILE, path, error))
        return NULL;
    if (mknod(full, S_IFBLK | 0600, makedev(LOOP_MAJOR, (unsigned)number)) != 0 &&
        errno != EEXIST) {
        loop_refuse_errno(error, errno, "no /dev/loop%d, and %s cannot be made", number, full);
        return NULL;
    }
    return g_steal_pointer(&full);
}

char *
loop_device_path(LoopLedger *ledger, int number, GError **error)
{
    g_autofree char *path = g_strdup_printf("/dev/loop%d", number);
    struct stat status;

    if (stat(path, &status) == 0 && S_ISBLK(status.st_mode))
        return g_steal_pointer(&path);
    return make_node(ledger, number, error);
}

/* Returns: a descriptor; -1 with errno and @error */
static int
open_device(LoopLedger *ledger, int number, int flags, GError **error)
{
    g_autofree char *path = loop_device_path(ledger, number, error);

    if (path == NULL)
        return -1;
    int device = open(path, O_RDWR | O_CLOEXEC | flags);
    if (device == -1) {
        int code = errno;
        loop_refuse_errno(error, code, "%s", path);
        errno = code;
    }
    return device;
}

/* ---- Attach ---- */

/* Returns: a number that was free a moment ago: GET_FREE reserves nothing (LOOP-17); -1 with
 * @error */
static int
ask_for_number(LoopLedger *ledger, int control, GError **error)
{
    g_autofree char *known = loop_device_numbers();
    gboolean may_make = !any_is_free();

    if (may_make && !loop_ledger_do(ledger, LOOP_ASKED, known, error))
        return -1;
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    int code = errno;
    if (number >= 0 && !is_among(known, number)) {
        g_autofree char *text = g_strdup_printf("%d", number);
        if (!loop_ledger_do(ledger, LOOP_NUMBER, text, error))
            return -1;
    }
    if (may_make)
        loop_ledger_undo(ledger, LOOP_ASKED, known);
    if (number < 0)
        loop_refuse_errno(error, code, "no free loop device");
    return number;
}

/* Returns: 0 or an errno; EBUSY or ENXIO: another process took it, or it is being torn down */
static int
configure(LoopLedger *ledger, int number, int file, const char *name, gboolean direct_io)
{
    struct loop_config config = {.fd = (uint32_t)file, .block_size = BLOCK_BYTES};
    int device = open_device(ledger, number, 0, NULL);

    if (device == -1)
        return errno;
    config.info.lo_flags = direct_io ? LO_FLAGS_DIRECT_IO : 0;
    g_strlcpy((char *)config.info.lo_file_name, name, LO_NAME_SIZE);
    int code = ioctl(device, LOOP_CONFIGURE, &config) == 0 ? 0 : errno;
    close(device);
    return code;
}

static int
bind_any(LoopLedger *ledger, int file, const char *name, gboolean direct_io, GError **error)
{
    int control = open(CONTROL, O_RDWR | O_CLOEXEC);
    gint64 until = g_get_monotonic_time() + ATTACH_US;
    int number = -1, code = control == -1 ? errno : EBUSY;

    while (control != -1 && (code == EBUSY || code == ENXIO) && g_get_monotonic_time() < until) {
        number = ask_for_number(ledger, control, error);
        if (number < 0)
            break;
        code = configure(ledger, number, file, name, direct_io);
        if (code == EBUSY || code == ENXIO)
            g_usleep(PAUSE_US);
    }
    if (control != -1)
        close(control);
    if (code == 0)
        return number;
    if (error != NULL && *error == NULL)
        loop_refuse_errno(error, code, "no loop device for %s", name);
    return -1;
}

/* LOOP-4: a device that is not as large as its file has lost its end. */
static gboolean
check_size(LoopLedger *ledger, int number, int file, GError **error)
{
    struct stat status;
    int64_t bytes = loop_device_bytes(ledger, number);

    if (fstat(file, &status) == 0 && bytes == status.st_size / BLOCK_BYTES * BLOCK_BYTES)
        return TRUE;
    return loop_refuse(error, CSI_INTERNAL,
                       "loop%d has %" G_GINT64_FORMAT " bytes, its file %" G_GINT64_FORMAT, number,
                       bytes, (int64_t)status.st_size);
}

int
loop_device_attach(LoopLedger *ledger, const char *path, gboolean direct_io, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, path);
    int number = loop_device_of(full);
    int file = open(full, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (file == -1) {
        /* CSI-49: a volume without its file is gone. */
        loop_refuse(error, errno == ENOENT ? CSI_NOT_FOUND : CSI_INTERNAL, "%s: %s", full,
                    g_strerror(errno));
        return -1;
    }
    if (number < 0 && loop_ledger_do(ledger, LOOP_BINDING, path, error)) {
        g_autofree char *name = g_path_get_basename(full);
        number = bind_any(ledger, file, name, direct_io, error);
        if (number < 0)
            loop_ledger_undo(ledger, LOOP_BINDING, path);
    }
    if (number >= 0 && !check_size(ledger, number, file, error)) {
        loop_device_detach(ledger, path, NULL);
        number = -1;
    }
    close(file);
    return number;
}

/* ---- Detach ---- */

/* Numbers are reused at once, so check that it is still ours. */
static gboolean
has_backing_file(int number, const char *full)
{
    g_autofree char *file = backing_file_of(number);

    if (file == NULL)
        return FALSE;
    gboolean is_deleted = g_str_has_suffix(file, DELETED);
    if (is_deleted)
        file[strlen(file) - strlen(DELETED)] = '\0';
    return loop_device_has(&(LoopDevice){number, file, is_deleted}, full);
}

/* A mounted device cannot be opened exclusively (LOOP-29). Clearing it all the same would only take
 * effect when its last user ends. */
static int
open_alone(LoopLedger *ledger, int number, const char *full, gint64 until, GError **error)
{
    for (;;) {
        g_autoptr(GError) why = NULL;
        int device = open_device(ledger, number, O_EXCL, &why);
        if (device != -1 || !has_backing_file(number, full))
            return device;
        if (errno != EBUSY || g_get_monotonic_time() >= until) {
            g_propagate_error(error, g_steal_pointer(&why));
            return -1;
        }
        g_usleep(PAUSE_US);
    }
}

gboolean
loop_device_detach(LoopLedger *ledger, const char *path, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, path);
    int number = loop_device_of(full);
    gint64 until = g_get_monotonic_time() + RELEASE_US;

    if (number >= 0) {
        g_autoptr(GError) why = NULL;
        int device = open_alone(ledger, number, full, until, &why);
        if (why != NULL) {
            g_propagate_prefixed_error(error, g_steal_pointer(&why), "cannot detach: ");
            return FALSE;
        }
        if (device != -1) {
            ioctl(device, LOOP_CLR_FD); /* ENXIO: another process did it (LOOP-28) */
            close(device);
        }
        while (has_backing_file(number, full)) { /* LOOP-15 */
            if (g_get_monotonic_time() >= until)
                return loop_refuse(error, CSI_INTERNAL,
                                   "loop%d is still in use: it goes when its last user goes",
                                   number);
            g_usleep(PAUSE_US);
        }
    }
    loop_ledger_undo(ledger, LOOP_BINDING, path);
    return TRUE;
}

/* ---- Size ---- */

gboolean
loop_device_grow(LoopLedger *ledger, int number, GError **error)
{
    int device = open_device(ledger, number, 0, error);

    if (device == -1)
        return FALSE;
    int code = ioctl(device, LOOP_SET_CAPACITY) == 0 ? 0 : errno;
    close(device);
    if (code != 0)
        loop_refuse_errno(error, code, "loop%d cannot grow", number);
    return code == 0;
}

int64_t
loop_device_bytes(LoopLedger *ledger, int number)
{
    int device = open_device(ledger, number, 0, NULL);
    uint64_t bytes = 0;

    if (device == -1)
        return -1;
    int result = ioctl(device, BLKGETSIZE64, &bytes);
    close(device);
    return result == 0 ? (int64_t)bytes : -1;
}

/* ---- Numbers ---- */

static void
return_number(LoopLedger *ledger, int control, int number)
{
    g_autofree char *file = backing_file_of(number);
    g_autofree char *text = g_strdup_printf("%d", number);

    if (file == NULL)
        ioctl(control, LOOP_CTL_REMOVE, number); /* EBUSY: another process uses it now */
    loop_ledger_undo(ledger, LOOP_NUMBER, text);
}

void
loop_device_return_numbers(LoopLedger *ledger, const GPtrArray *entries)
{
    int control = open(CONTROL, O_RDWR | O_CLOEXEC);

    for (unsigned i = 0; control != -1 && i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        if (entry->deed == LOOP_NUMBER)
            return_number(ledger, control, (int)g_ascii_strtoll(entry->what, NULL, 10));
        if (entry->deed != LOOP_ASKED)
            continue;
        g_autoptr(GArray) numbers = existing_numbers();
        for (unsigned k = 0; k < numbers->len; k++)
            if (!is_among(entry->what, g_array_index(numbers, int, k)))
                return_number(ledger, control, g_array_index(numbers, int, k));
        loop_ledger_undo(ledger, LOOP_ASKED, entry->what);
    }
    if (control != -1)
        close(control);
}
