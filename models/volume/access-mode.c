/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "access-mode.h"

#include "models/api/claim.h"

#define RWO ACCESS_RWO
#define ROX ACCESS_ROX
#define RWX ACCESS_RWX
#define RWOP ACCESS_RWOP

static const char pod_and_others[] =
    "CSI does not support ReadWriteOncePod with other access modes "
    "on the same PersistentVolume";
static const char rox_and_rwo[] =
    "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume";
static const char no_mode[] = "unsupported AccessMode combination: []";

/* EA-20. Exactly one row applies to every set. Columns: all of these, some of these (0: no matter),
 * none of these, then, or why not. */
static const struct {
    uint32_t all, some, none;
    CsiAccessMode mode;
    const char *error;
} access_modes[] = {
    {RWOP,      0,               RWO | ROX | RWX,        CSI_SINGLE_NODE_WRITER,      NULL          },
    {RWOP,      RWO | ROX | RWX, 0,                      CSI_MODE_UNKNOWN,            pod_and_others},
    {RWX,       0,               RWOP,                   CSI_MULTI_NODE_MULTI_WRITER, NULL          },
    {ROX | RWO, 0,               RWOP | RWX,             CSI_MODE_UNKNOWN,            rox_and_rwo   },
    {ROX,       0,               RWOP | RWX | RWO,       CSI_MULTI_NODE_READER_ONLY,  NULL          },
    {RWO,       0,               RWOP | RWX | ROX,       CSI_SINGLE_NODE_WRITER,      NULL          },
    {0,         0,               RWOP | RWX | ROX | RWO, CSI_MODE_UNKNOWN,            no_mode       },
};

CsiAccessMode
sidecar_access_mode(uint32_t modes, gboolean multi_writer, const char **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(access_modes); i++) {
        uint32_t all = access_modes[i].all, some = access_modes[i].some;
        if ((modes & all) != all || (modes & access_modes[i].none) != 0 ||
            (some != 0 && (modes & some) == 0))
            continue;
        *error = access_modes[i].error;
        if (access_modes[i].mode != CSI_SINGLE_NODE_WRITER || !multi_writer)
            return access_modes[i].mode;
        return modes == RWOP ? CSI_SINGLE_NODE_SINGLE_WRITER : CSI_SINGLE_NODE_MULTI_WRITER;
    }
    g_assert_not_reached();
}
