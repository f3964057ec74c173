/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/csi/flex-call.h"

/* FlexVolume: how Kubernetes calls a driver that is an executable on each machine (pkg/volume/
 * flexvolume). Pure: what a call is given, what its answer means, which directories hold drivers.
 */

/* ---- Calls ---- */

typedef struct {
    const char *name, *namespace, *uid, *service_account;
} FlexPod;

/* What the arguments of calls are made of. What a call does not have is ignored. */
typedef struct {
    const char *name; /* of the PersistentVolume, or of the volume in the pod */
    const char *fs_type;
    const json_t *options; /* of the source: strings; NULL: none */
    gboolean read_only;
    const char *node;           /* of attach, detach, isattached */
    const char *device;         /* of waitforattach, mountdevice, expandfs */
    const char *path;           /* of mounts, unmounts and expansions */
    int64_t new_size, old_size; /* bytes */
    const FlexPod *pod;         /* of mount; NULL: the options name no pod */
    const int64_t *fs_group;    /* of mount; NULL: none */
    const json_t *secrets;      /* of mount: key -> base64; NULL: none */
} FlexTarget;

/* FLX-10. Returns: (owned): the options that the driver reads */
json_t *flex_options(const FlexTarget *target);
/* FLX-11. Returns: (owned): the arguments behind the call's name, ends with NULL; options are
 * JSON */
char **flex_arguments(FlexCall call, const FlexTarget *target);

/* Status of an answer (FLX-20). */
typedef enum {
    FLEX_SUCCESS,
    FLEX_FAILURE,
    FLEX_NOT_SUPPORTED,
} FlexStatus;

/* What init says of the driver. */
typedef struct {
    gboolean attach, selinux_relabel, supports_metrics, fs_group, requires_fs_resize;
} FlexCapabilities;

#define FLEX_CAPABILITIES_DEFAULT ((FlexCapabilities){TRUE, TRUE, FALSE, TRUE, TRUE}) /* FLX-22 */

/* Texts are the owner's of the JSON that the answer was read from. */
typedef struct {
    FlexStatus status;
    const char *message, *device;
    gboolean attached;
    int64_t new_size; /* volumeNewSize, bytes; 0: none */
    FlexCapabilities capabilities;
} FlexAnswer;

/* Reads what the executable printed, as JSON. @exited_well: it ended with status 0.
 * Returns: (static): why that is no answer (FLX-21); NULL: it is one */
const char *flex_answer_read(const json_t *text, gboolean exited_well, FlexAnswer *answer);

/* What Kubernetes does in place of a call that the driver does not support (FLX-30). */
typedef enum {
    FLEX_DEFAULT_NONE,    /* it must support the call */
    FLEX_DEFAULT_SUCCESS, /* nothing is to do */
    FLEX_DEFAULT_DEVICE,  /* the device that the attach has named */
    FLEX_DEFAULT_UNKNOWN, /* no answer: nothing is checked */
    FLEX_DEFAULT_WORK,    /* Kubernetes formats, mounts, unmounts or resizes by itself */
} FlexDefault;

FlexDefault flex_default(FlexCall call);

/* ---- Operations ---- */

/* What a volume plugin is asked for. */
typedef enum {
    FLEX_NAME_VOLUME,
    FLEX_ATTACH,
    FLEX_WAIT_FOR_ATTACH,
    FLEX_CHECK_ATTACHED,
    FLEX_DETACH,
    FLEX_MOUNT_DEVICE,
    FLEX_UNMOUNT_DEVICE,
    FLEX_SET_UP,
    FLEX_TEAR_DOWN,
    FLEX_EXPAND_VOLUME,
    FLEX_EXPAND_FILE_SYSTEM,
    FLEX_N_OPERATIONS,
} FlexOperation;

/* The path that an operation works on. */
typedef enum {
    FLEX_PATH_MISSING,
    FLEX_PATH_EMPTY,
    FLEX_PATH_MOUNTED,
} FlexPath;

/* Returns: (static): the calls of the operation, in order; ends with FLEX_N_CALLS. None: the
 * path is as it should be (FLX-31) */
const FlexCall *flex_operation_calls(FlexOperation operation, FlexPath path);

/* ---- Drivers on a machine ---- */

/* Looks for drivers in a directory, as file events tell of changes (FLX-40 to FLX-44). */
typedef struct FlexProber FlexProber;

typedef enum {
    FLEX_FILE_CREATED,
    FLEX_FILE_CHANGED,
    FLEX_FILE_REMOVED,
} FlexFileEvent;

/* What Find...() must look at. */
typedef struct {
    char *directory; /* "example.com~lvm" */
    gboolean is_removal;
} FlexProbe;

FlexProber *flex_prober_new(const char *directory); /* absolute path */
void flex_prober_free(FlexProber *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FlexProber, flex_prober_free)
/* Returns: whether what was created there must be watched (FLX-42) */
gboolean flex_prober_hear(FlexProber *self, FlexFileEvent event, const char *path);
/* FLX-41: what the next lookup must do: run init of new drivers, drop removed ones.
 * @directories: those in the prober's directory now; ends with NULL. Returns: (owned): of FlexProbe
 */
GPtrArray *flex_prober_due(FlexProber *self, const char *const *directories);
/* ... and it has done it. A driver whose init has failed is not done (FLX-43). */
void flex_prober_done(FlexProber *self, const char *directory);

/* Returns: (owned): "example.com/lvm" for "example.com~lvm" (FLX-44) */
char *flex_driver_name(const char *directory);
