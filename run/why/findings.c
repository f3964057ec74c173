/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "findings.h"

#define OBJECTS_MAX 200 /* of a kind: looking at 100,000 pods would take longer than the run */

json_t *
why_findings(const WhyView *view)
{
    g_autoptr(GPtrArray) groups = why_ask_all(view, OBJECTS_MAX);
    json_t *list = json_array();

    for (unsigned i = 0; i < groups->len; i++) {
        const WhyGroup *group = groups->pdata[i];
        const Why *first = group->first;
        const WhyLink *fault = why_fault(first);
        if (first->mood != WHY_PATIENCE)
            json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s*}", "cause",
                                                  first->cause, "objects", (int)group->objects->len,
                                                  "first", group->objects->pdata[0], "fault",
                                                  fault->object, "text", fault->text, "unblock",
                                                  first->unblock, "command", first->command));
    }
    return list;
}
