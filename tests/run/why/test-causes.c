/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "run/why/question.h"
#include "run/why/why-test.h"
#include "tests/lib/test.h"
#include "tests/plan/rule-walk.h"

/* The tables of why: exactly one row for each set of facts, and a way out of each cause. */

TEST(one_row_applies_to_all_facts)
{
    for (unsigned i = 0; why_tables[i] != NULL; i++) {
        g_autofree char *fault = rules_fault(why_tables[i]);
        if (fault != NULL)
            fail_msg("%s", fault);
    }
}

TEST(causes_are_sorted_and_tell_a_way_out)
{
    assert_string_equal(why_cause_at(0)->id, "none");
    for (unsigned i = 1; i < why_n_causes(); i++) {
        const Cause *cause = why_cause_at(i);
        if (i > 1)
            assert_true(strcmp(why_cause_at(i - 1)->id, cause->id) < 0);
        assert_true(g_str_has_suffix(cause->unblock, ".") ||
                    g_str_has_suffix(cause->unblock, "..."));
        assert_ptr_equal(why_cause_find(cause->id), cause);
    }
}

/* Whatever is wrong or slow, a command helps. What stands in braces is filled in, or is a part of
 * jsonpath. */
TEST(every_cause_has_a_command)
{
    static const char *const faults[] = {"pod/web-0", "process/kubelet/node-0",
                                         "process/external-attacher/csi.example.com",
                                         "process/kube-scheduler", "process/snapshot-controller"};

    for (unsigned i = 1; i < why_n_causes(); i++) {
        const Cause *cause = why_cause_at(i);
        assert_true(cause->mood == WHY_PATIENCE || cause->command != NULL);
        for (unsigned k = 0; k < G_N_ELEMENTS(faults) && cause->command != NULL; k++) {
            WhyLink fault = {.object = (char *)faults[k], .namespace = (char *)"shop"};
            g_autoptr(GPtrArray) chain = g_ptr_array_new();
            const Why why = {.chain = chain};
            g_ptr_array_add(chain, &fault);
            g_autofree char *command = why_command(cause->command, &why);
            if (command == NULL) {
                assert_string_equal(cause->command, "{find}");
                continue;
            }
            assert_true(g_str_has_prefix(command, "kubectl ") || g_str_has_prefix(command, "ssh "));
            assert_null(strstr(command, "{name"));
            assert_null(strstr(command, "{kind"));
            assert_null(strstr(command, "{waiter"));
        }
    }
}

TEST(commands_name_the_objects)
{
    WhyLink pod = {.object = (char *)"pod/web-0", .namespace = (char *)"shop"};
    WhyLink driver = {.object = (char *)"driver/csi.example.com"};
    WhyLink kubelet = {.object = (char *)"process/kubelet/node-0"};
    WhyLink attacher = {.object = (char *)"process/external-attacher/csi.example.com"};
    const struct {
        WhyLink *fault;
        const char *command, *filled;
    } cases[] = {
        {&driver,   "kubectl describe {waiter}",          "kubectl describe pod web-0 -n shop"       },
        {&pod,      "kubectl logs {name} -n {namespace}", "kubectl logs web-0 -n shop"               },
        {&driver,   "kubectl get pods -n {namespace}",    "kubectl get pods -n shop"                 },
        {&kubelet,  "{find}",                             "ssh node-0 sudo systemctl restart kubelet"},
        {&attacher, "{find}",
         "kubectl get deployments,statefulsets,daemonsets -A -o wide | grep csi-attacher"            },
        {&pod,      "{find}",                             NULL                                       },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) chain = g_ptr_array_new();
        const Why why = {.chain = chain};
        g_ptr_array_add(chain, &pod);
        g_ptr_array_add(chain, cases[i].fault);
        g_autofree char *command = why_command(cases[i].command, &why);
        if (cases[i].filled == NULL)
            assert_null(command);
        else
            assert_string_equal(command, cases[i].filled);
    }
}
