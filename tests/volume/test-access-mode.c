/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/claim.h"
#include "models/volume/access-mode.h"
#include "tests/lib/test.h"

#define RWO ACCESS_RWO
#define ROX ACCESS_ROX
#define RWX ACCESS_RWX
#define RWOP ACCESS_RWOP

/* The one mode that a driver is told, of each set of modes, without and with
 * SINGLE_NODE_MULTI_WRITER: ToCSIAccessMode() in accessmodes/access_modes.go of csi-lib-utils. */
static const struct {
    uint32_t modes;
    CsiAccessMode plain, several;
} cases[] = {
    {0,                      CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {RWO,                    CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {ROX,                    CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {RWX,                    CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {RWOP,                   CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
    {RWO | ROX,              CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {RWO | RWX,              CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {ROX | RWX,              CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {RWO | ROX | RWX,        CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {RWOP | RWO,             CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {RWOP | ROX,             CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {RWOP | RWX,             CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {RWOP | RWO | ROX | RWX, CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
};

TEST(each_set_of_modes_gives_one)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (int several = 0; several <= 1; several++) {
            const char *error = NULL;
            CsiAccessMode wanted = several ? cases[i].several : cases[i].plain;

            assert_int_equal(sidecar_access_mode(cases[i].modes, several, &error), wanted);
            assert_int_equal(error != NULL, wanted == CSI_MODE_UNKNOWN);
        }
    }
}
