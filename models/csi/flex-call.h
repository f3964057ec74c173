/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "csi.h"

/* The calls of a FlexVolume driver (FLX-1). A driver's back end takes each as the CSI call that
 * does the same work, so both kinds of drivers have one model. */
typedef enum {
    FLEX_CALL_INIT,
    FLEX_CALL_GET_VOLUME_NAME,
    FLEX_CALL_ATTACH,
    FLEX_CALL_WAIT_FOR_ATTACH,
    FLEX_CALL_IS_ATTACHED,
    FLEX_CALL_DETACH,
    FLEX_CALL_MOUNT_DEVICE,
    FLEX_CALL_UNMOUNT_DEVICE,
    FLEX_CALL_MOUNT,
    FLEX_CALL_UNMOUNT,
    FLEX_CALL_EXPAND_VOLUME,
    FLEX_CALL_EXPAND_FS,
    FLEX_N_CALLS,
} FlexCall;

const char *flex_call_name(FlexCall call); /* "waitforattach" */
CsiMethod flex_call_method(FlexCall call);
/* Of a call of this driver, as its caller names it: "NodePublishVolume", or "mount" of FlexVolume
 */
const char *csi_call_name(const CsiDriver *driver, CsiMethod method);
/* FALSE: no such call */
gboolean flex_call_parse(const char *name, FlexCall *call);
