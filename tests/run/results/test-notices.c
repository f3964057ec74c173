/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last lines of a run: never more than ten, the worst first, and what did not fit is counted.
 */

#include "run/results/results.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name;
    unsigned n_findings, n_refused, n_warnings, n_ignored;
    double limit; /* the share of the bottleneck */
    /* lines that begin with each word, and the number in "... and N more" */
    unsigned n_stuck, n_failed, n_limits, n_warned, n_told_ignored, n_more;
} NoticesCase;

static const NoticesCase rows[] = {
    {"all is well",         .limit = 0.29                   },
    {                                                             "one of each",                    1,                                1, 1, 1, 0.3, 1, 1, 1, 1, 1, 0},
    {                                                            "five causes at most",                  .n_findings = 7,                                                 .n_stuck = 5, .n_more = 2},
    {                                                                                                            "three failed actions at most",                    .n_refused = 5,                                                   .n_failed = 3, .n_more = 2},
    {                                                                                                              "no more than ten lines", 9, 9, 9, 0, 0.9, 5, 3, 1, 0, 0, 19},
    {"what does not matter gives way",                     0,                        0, 12, 3, 0, .n_warned = 9, .n_more = 3},
    {"several that do not matter are one line",          .n_ignored = 4,                                          .n_told_ignored = 1},
};

static json_t *
texts(unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, json_sprintf("no. %u", i));
    return list;
}

static json_t *
findings(unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s, s:s, s:s}", "cause",
                                              "attach-limit", "objects", (int)(n - i), "first",
                                              "pod/app", "fault", "node/node-1", "text", "is full",
                                              "unblock", "Add a node."));
    return list;
}

static void
test_row(void **state)
{
    const NoticesCase *row = *state;
    json_t *summary =
        json_pack("{s:o, s:o, s:o, s:o, s:{s:{s:{s:s, s:s, s:s, s:f}}}}", "findings",
                  findings(row->n_findings), "refused", texts(row->n_refused), "warnings",
                  texts(row->n_warnings), "ignored", texts(row->n_ignored), "attribution",
                  "pod-start", "bottleneck", "wait", "client throttling", "detail", "csi-attacher",
                  "limit", "raise kube-api-qps", "share", row->limit);
    g_autoptr(GString) text = g_string_new(NULL);
    unsigned n_stuck = 0, n_failed = 0, n_limits = 0, n_warned = 0, n_ignored = 0, n_more = 0;

    results_append_notices(summary, text);
    json_decref(summary);
    g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
    const unsigned n_lines = g_strv_length(lines) - (*text->str == '\0' ? 0 : 1);
    for (unsigned k = 0; k < n_lines; k++) {
        n_stuck += g_str_has_prefix(lines[k], "stuck: ");
        n_failed += g_str_has_prefix(lines[k], "failed: ");
        n_limits += g_str_has_prefix(lines[k], "limit: ");
        n_warned += g_str_has_prefix(lines[k], "warning: ");
        n_ignored += g_str_has_prefix(lines[k], "ignored: ");
        if (g_str_has_prefix(lines[k], "... and "))
            n_more = (unsigned)g_ascii_strtoull(lines[k] + strlen("... and "), NULL, 10);
    }
    assert_in_range(n_lines, 0, 10);
    assert_int_equal(n_stuck, row->n_stuck);
    assert_int_equal(n_failed, row->n_failed);
    assert_int_equal(n_limits, row->n_limits);
    assert_int_equal(n_warned, row->n_warned);
    assert_int_equal(n_ignored, row->n_told_ignored);
    assert_int_equal(n_more, row->n_more);
}
TEST_ROWS(rows, test_row);
