/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flex-call.h"

#include <string.h>

static const struct {
    const char *name;
    CsiMethod method;
} calls[FLEX_N_CALLS] = {
    [FLEX_CALL_INIT] = {"init",          CSI_PROBE                       },
    [FLEX_CALL_GET_VOLUME_NAME] = {"getvolumename", CSI_GET_PLUGIN_INFO             },
    [FLEX_CALL_ATTACH] = {"attach",        CSI_CONTROLLER_PUBLISH_VOLUME   },
    [FLEX_CALL_WAIT_FOR_ATTACH] = {"waitforattach", CSI_NODE_GET_INFO               },
    [FLEX_CALL_IS_ATTACHED] = {"isattached",    CSI_VALIDATE_VOLUME_CAPABILITIES},
    [FLEX_CALL_DETACH] = {"detach",        CSI_CONTROLLER_UNPUBLISH_VOLUME },
    [FLEX_CALL_MOUNT_DEVICE] = {"mountdevice",   CSI_NODE_STAGE_VOLUME           },
    [FLEX_CALL_UNMOUNT_DEVICE] = {"unmountdevice", CSI_NODE_UNSTAGE_VOLUME         },
    [FLEX_CALL_MOUNT] = {"mount",         CSI_NODE_PUBLISH_VOLUME         },
    [FLEX_CALL_UNMOUNT] = {"unmount",       CSI_NODE_UNPUBLISH_VOLUME       },
    [FLEX_CALL_EXPAND_VOLUME] = {"expandvolume",  CSI_CONTROLLER_EXPAND_VOLUME    },
    [FLEX_CALL_EXPAND_FS] = {"expandfs",      CSI_NODE_EXPAND_VOLUME          },
};

const char *
flex_call_name(FlexCall call)
{
    return calls[call].name;
}

CsiMethod
flex_call_method(FlexCall call)
{
    return calls[call].method;
}

/* Returns: the name of a call of a FlexVolume driver; of others NULL */
static const char *
flex_call_name_of_method(CsiMethod method)
{
    for (FlexCall i = 0; i < FLEX_N_CALLS; i++)
        if (calls[i].method == method)
            return calls[i].name;
    return NULL;
}

const char *
csi_call_name(const CsiDriver *driver, CsiMethod method)
{
    const char *name = csi_driver_name(driver);
    gboolean is_flex = strchr(name, '/') != NULL && !g_str_has_prefix(name, "kubernetes.io/");
    const char *call = is_flex ? flex_call_name_of_method(method) : NULL;

    return call != NULL ? call : csi_method_name(method);
}

gboolean
flex_call_parse(const char *name, FlexCall *call)
{
    for (FlexCall i = 0; i < FLEX_N_CALLS; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            *call = i;
            return TRUE;
        }
    }
    return FALSE;
}
