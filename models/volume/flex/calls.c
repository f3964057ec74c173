/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of FlexVolume's executables: which arguments a call has, how an answer is read, what
 * happens if the executable does not support it, and which calls an operation consists of when a
 * path is or is not mounted. Tables and pure functions, after pkg/volume/flexvolume. */
#include "flex.h"

#include <string.h>

#define OPTION "kubernetes.io/"

typedef enum {
    ARGUMENT_NONE,
    OPTIONS,
    OPTIONS_OF_POD, /* with the pod's options (FLX-12) */
    NAME,
    NODE,
    DEVICE,
    PATH,
    NEW_SIZE,
    OLD_SIZE,
} FlexArgument;

static const struct {
    FlexDefault otherwise;
    FlexArgument arguments[6];
} calls[FLEX_N_CALLS] = {
    [FLEX_CALL_INIT] = {FLEX_DEFAULT_NONE,    {ARGUMENT_NONE}                            },
    [FLEX_CALL_GET_VOLUME_NAME] = {FLEX_DEFAULT_SUCCESS, {OPTIONS}                                  },
    [FLEX_CALL_ATTACH] = {FLEX_DEFAULT_SUCCESS, {OPTIONS, NODE}                            },
    [FLEX_CALL_WAIT_FOR_ATTACH] = {FLEX_DEFAULT_DEVICE,  {DEVICE, OPTIONS}                          },
    [FLEX_CALL_IS_ATTACHED] = {FLEX_DEFAULT_UNKNOWN, {OPTIONS, NODE}                            },
    [FLEX_CALL_DETACH] = {FLEX_DEFAULT_SUCCESS, {NAME, NODE}                               },
    [FLEX_CALL_MOUNT_DEVICE] = {FLEX_DEFAULT_WORK,    {PATH, DEVICE, OPTIONS}                    },
    [FLEX_CALL_UNMOUNT_DEVICE] = {FLEX_DEFAULT_WORK,    {PATH}                                     },
    [FLEX_CALL_MOUNT] = {FLEX_DEFAULT_WORK,    {PATH, OPTIONS_OF_POD}                     },
    [FLEX_CALL_UNMOUNT] = {FLEX_DEFAULT_WORK,    {PATH}                                     },
    [FLEX_CALL_EXPAND_VOLUME] = {FLEX_DEFAULT_SUCCESS, {OPTIONS, PATH, NEW_SIZE, OLD_SIZE}        },
    [FLEX_CALL_EXPAND_FS] = {FLEX_DEFAULT_WORK,    {OPTIONS, DEVICE, PATH, NEW_SIZE, OLD_SIZE}},
};

static void
calls_set_text(json_t *options, const char *key, const char *value)
{
    json_object_set_new(options, key, json_string(value == NULL ? "" : value));
}

json_t *
flex_options(const FlexTarget *target)
{
    json_t *options = json_object();

    calls_set_text(options, OPTION "fsType", target->fs_type);
    calls_set_text(options, OPTION "readwrite", target->read_only ? "ro" : "rw");
    calls_set_text(options, OPTION "pvOrVolumeName", target->name);
    json_object_update(options, (json_t *)target->options);
    return options;
}

/* FLX-12: the source's own options win over these, too. */
static json_t *
options_of_pod(const FlexTarget *target)
{
    json_t *options = flex_options(target);
    const FlexPod *pod = target->pod;
    const char *key;
    json_t *value;

    if (pod != NULL) {
        calls_set_text(options, OPTION "pod.name", pod->name);
        calls_set_text(options, OPTION "pod.namespace", pod->namespace);
        calls_set_text(options, OPTION "pod.uid", pod->uid);
        calls_set_text(options, OPTION "serviceAccount.name", pod->service_account);
    }
    if (target->fs_group != NULL) {
        g_autofree char *group = g_strdup_printf("%" G_GINT64_FORMAT, *target->fs_group);
        calls_set_text(options, OPTION "mounterArgs.FsGroup", group);
    }
    json_object_foreach((json_t *)target->secrets, key, value) /* only read */
    {
        g_autofree char *option = g_strconcat(OPTION "secret/", key, NULL);
        json_object_set(options, option, value);
    }
    json_object_update(options, (json_t *)target->options);
    return options;
}

static char *
argument_text(FlexArgument argument, const FlexTarget *target)
{
    switch (argument) {
    case OPTIONS:
    case OPTIONS_OF_POD: {
        json_t *options = argument == OPTIONS ? flex_options(target) : options_of_pod(target);
        char *text = json_dumps(options, JSON_COMPACT | JSON_SORT_KEYS);
        json_decref(options);
        return text;
    }
    case NAME:
        return g_strdup(target->name);
    case NODE:
        return g_strdup(target->node);
    case DEVICE:
        return g_strdup(target->device == NULL ? "" : target->device);
    case PATH:
        return g_strdup(target->path);
    case NEW_SIZE:
        return g_strdup_printf("%" G_GINT64_FORMAT, target->new_size);
    case OLD_SIZE:
        return g_strdup_printf("%" G_GINT64_FORMAT, target->old_size);
    case ARGUMENT_NONE:
        break;
    }
    g_assert_not_reached();
}

char **
flex_arguments(FlexCall call, const FlexTarget *target)
{
    const FlexArgument *arguments = calls[call].arguments;
    g_autoptr(GPtrArray) texts = g_ptr_array_new();

    for (unsigned i = 0; arguments[i] != ARGUMENT_NONE; i++)
        g_ptr_array_add(texts, argument_text(arguments[i], target));
    g_ptr_array_add(texts, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&texts), FALSE);
}

FlexDefault
flex_default(FlexCall call)
{
    return calls[call].otherwise;
}

static void
read_flag(const json_t *object, const char *key, gboolean *flag)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_boolean(value))
        *flag = json_is_true(value);
}

const char *
flex_answer_read(const json_t *text, gboolean exited_well, FlexAnswer *answer)
{
    const char *status = json_string_value(json_object_get(text, "status"));
    const json_t *capabilities = json_object_get(text, "capabilities");

    *answer = (FlexAnswer){.status = FLEX_FAILURE, .capabilities = FLEX_CAPABILITIES_DEFAULT};
    if (!json_is_object(text))
        return "the answer is not a JSON object";
    if (g_strcmp0(status, "Success") == 0) {
        if (!exited_well)
            return "the driver says Success, but its exit status is not 0";
        answer->status = FLEX_SUCCESS;
    } else if (g_strcmp0(status, "Not supported") == 0) {
        answer->status = FLEX_NOT_SUPPORTED;
    }
    answer->message = json_string_value(json_object_get(text, "message"));
    answer->device = json_string_value(json_object_get(text, "device"));
    answer->attached = json_is_true(json_object_get(text, "attached"));
    answer->new_size = json_integer_value(json_object_get(text, "volumeNewSize"));
    read_flag(capabilities, "attach", &answer->capabilities.attach);
    read_flag(capabilities, "selinuxRelabel", &answer->capabilities.selinux_relabel);
    read_flag(capabilities, "supportsMetrics", &answer->capabilities.supports_metrics);
    read_flag(capabilities, "fsGroup", &answer->capabilities.fs_group);
    read_flag(capabilities, "requiresFSResize", &answer->capabilities.requires_fs_resize);
    return NULL;
}

/* When a path needs no call. */
typedef enum {
    ALWAYS,
    UNLESS_MOUNTED,
    IF_MOUNTED,
    IF_THERE,
} FlexCondition;

static const struct {
    FlexCondition condition;
    FlexCall calls[3];
} operations[FLEX_N_OPERATIONS] = {
    [FLEX_NAME_VOLUME] = {ALWAYS,         {FLEX_CALL_GET_VOLUME_NAME, FLEX_N_CALLS}         },
    [FLEX_ATTACH] = {ALWAYS,         {FLEX_CALL_ATTACH, FLEX_N_CALLS}                  },
    [FLEX_WAIT_FOR_ATTACH] = {ALWAYS,         {FLEX_CALL_WAIT_FOR_ATTACH, FLEX_N_CALLS}         },
    [FLEX_CHECK_ATTACHED] = {ALWAYS,         {FLEX_CALL_IS_ATTACHED, FLEX_N_CALLS}             },
    [FLEX_DETACH] = {ALWAYS,         {FLEX_CALL_DETACH, FLEX_N_CALLS}                  },
    [FLEX_MOUNT_DEVICE] = {UNLESS_MOUNTED, {FLEX_CALL_MOUNT_DEVICE, FLEX_N_CALLS}            },
    [FLEX_UNMOUNT_DEVICE] = {IF_MOUNTED,     {FLEX_CALL_UNMOUNT_DEVICE, FLEX_N_CALLS}          },
    [FLEX_SET_UP] = {UNLESS_MOUNTED, {FLEX_CALL_MOUNT, FLEX_N_CALLS}                   },
    [FLEX_TEAR_DOWN] = {IF_THERE,       {FLEX_CALL_UNMOUNT, FLEX_N_CALLS}                 },
    [FLEX_EXPAND_VOLUME] = {ALWAYS,
                          {FLEX_CALL_GET_VOLUME_NAME, FLEX_CALL_EXPAND_VOLUME, FLEX_N_CALLS}},
    [FLEX_EXPAND_FILE_SYSTEM] = {ALWAYS,         {FLEX_CALL_EXPAND_FS, FLEX_N_CALLS}               },
};

const FlexCall *
flex_operation_calls(FlexOperation operation, FlexPath path)
{
    static const FlexCall none[] = {FLEX_N_CALLS};
    gboolean is_needed = TRUE;

    switch (operations[operation].condition) {
    case ALWAYS:
        break;
    case UNLESS_MOUNTED:
        is_needed = path != FLEX_PATH_MOUNTED;
        break;
    case IF_MOUNTED:
        is_needed = path == FLEX_PATH_MOUNTED;
        break;
    case IF_THERE:
        is_needed = path != FLEX_PATH_MISSING;
        break;
    }
    return is_needed ? operations[operation].calls : none;
}
