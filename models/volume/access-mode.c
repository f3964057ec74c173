/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "access-mode.h"

#include "models/api/claim.h"

#define RWO ACCESS_RWO
#define ROX ACCESS_ROX
#define RWX ACCESS_RWX
#define RWOP ACCESS_RWOP

/* The lower facts are the volume's AccessModes. */
enum {
    SEVERAL = 1 << 4, /* the driver tells single writers from several */
    ACCESS_FACTS_END = 1 << 5,
};
G_STATIC_ASSERT((int)ACCESS_RWOP < (int)SEVERAL);

/* A mode of the driver, or why there is none. */
enum {
    FAIL_POD_AND_OTHERS = -3,
    FAIL_ROX_AND_RWO,
    FAIL_NO_MODE,
};

/* Columns: all of these hold, none of these, then, and one of these. */
static const Rule access_table[] = {
    {"EA-20", RWOP,           RWO | ROX | RWX | SEVERAL,  CSI_SINGLE_NODE_WRITER,        0              },
    {"EA-20", RWOP | SEVERAL, RWO | ROX | RWX,            CSI_SINGLE_NODE_SINGLE_WRITER, 0              },
    {"EA-20", RWOP,           0,                          FAIL_POD_AND_OTHERS,           RWO | ROX | RWX},
    {"EA-20", RWX,            RWOP,                       CSI_MULTI_NODE_MULTI_WRITER,   0              },
    {"EA-20", ROX | RWO,      RWOP | RWX,                 FAIL_ROX_AND_RWO,              0              },
    {"EA-20", ROX,            RWOP | RWX | RWO,           CSI_MULTI_NODE_READER_ONLY,    0              },
    {"EA-20", RWO,            RWOP | RWX | ROX | SEVERAL, CSI_SINGLE_NODE_WRITER,        0              },
    {"EA-20", RWO | SEVERAL,  RWOP | RWX | ROX,           CSI_SINGLE_NODE_MULTI_WRITER,  0              },
    {"EA-20", 0,              RWOP | RWX | ROX | RWO,     FAIL_NO_MODE,                  0              },
};
const RuleTable access_mode_rules = RULE_TABLE("access modes", ACCESS_FACTS_END, access_table);

CsiAccessMode
sidecar_access_mode(uint32_t modes, gboolean multi_writer, const char **error)
{
    uint32_t facts = modes | (multi_writer ? SEVERAL : 0);
    int then = rules_find(&access_mode_rules, facts, NULL)->then;

    *error = NULL;
    switch (then) {
    case FAIL_POD_AND_OTHERS:
        *error = "CSI does not support ReadWriteOncePod with other access modes on the same "
                 "PersistentVolume";
        return CSI_MODE_UNKNOWN;
    case FAIL_ROX_AND_RWO:
        *error = "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume";
        return CSI_MODE_UNKNOWN;
    case FAIL_NO_MODE:
        *error = "unsupported AccessMode combination: []";
        return CSI_MODE_UNKNOWN;
    default:
        return (CsiAccessMode)then;
    }
}
