/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "models/api/release.h"
#include "sim/strings.h"
#include "tests/lib/test.h"

/* ---- The table ---- */

TEST(names_are_sorted_and_stages_grow)
{
    for (unsigned i = 0; feature_gate_at(i) != NULL; i++) {
        const FeatureGate *gate = feature_gate_at(i);
        assert_ptr_equal(feature_gate_find(gate->name), gate);
        if (i > 0)
            assert_true(strcmp(feature_gate_at(i - 1)->name, gate->name) < 0);
        assert_true(gate->stages[0].since >= 18);
        for (unsigned k = 1; k < FEATURE_GATE_STAGES && gate->stages[k].since > 0; k++) {
            assert_true(gate->stages[k].since > gate->stages[k - 1].since);
            assert_int_not_equal(gate->stages[k].state, gate->stages[k - 1].state);
        }
    }
}

static void
write_stages(GString *text, const FeatureGate *gate)
{
    for (unsigned i = 0; i < FEATURE_GATE_STAGES && gate->stages[i].since > 0; i++)
        g_string_append_printf(text, "%s1.%d %s", i > 0 ? "; " : "", gate->stages[i].since,
                               feature_gate_state_text(gate->stages[i].state));
}

/* The part of docs/rules/feature-gates.md below its introduction. */
static char *
write_tables(void)
{
    GString *acting = g_string_new("| Gate | Releases | Effect here |\n|---|---|---|\n");
    GString *idle = g_string_new("| Gate | Releases |\n|---|---|\n");

    for (unsigned i = 0; feature_gate_at(i) != NULL; i++) {
        const FeatureGate *gate = feature_gate_at(i);
        GString *text = gate->effect != NULL ? acting : idle;
        g_string_append_printf(text, "| `%s` | ", gate->name);
        write_stages(text, gate);
        if (gate->effect != NULL)
            g_string_append_printf(text, " | %s", gate->effect);
        g_string_append(text, " |\n");
    }
    char *all = g_strconcat("## Gates with an effect\n\n", acting->str,
                            "\n## Gates that change nothing here\n\n", idle->str, NULL);
    g_string_free(acting, TRUE);
    g_string_free(idle, TRUE);
    return all;
}

TEST(document_shows_the_table)
{
    g_autofree char *path =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "docs", "rules", "feature-gates.md", NULL);
    g_autofree char *expected = write_tables();
    g_autofree char *text = NULL;

    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    const char *tables = strstr(text, "## Gates with an effect");
    if (tables != NULL && strcmp(tables, expected) == 0)
        return;
    /* What the document should say, for whoever has changed the table. */
    g_autofree char *wanted =
        g_build_filename(g_getenv("KVOLSIM_BUILDDIR"), "feature-gates.md", NULL);
    g_autofree char *head = g_strndup(text, tables == NULL ? strlen(text) : (gsize)(tables - text));
    g_autofree char *all = g_strconcat(head, expected, NULL);
    assert_true(g_file_set_contents(wanted, all, -1, NULL));
    fail_msg("docs/rules/feature-gates.md differs: take %s", wanted);
}

/* ---- Defaults and settings ---- */

typedef struct {
    const char *name;
    const char *gate;
    const char *set, *to; /* a setting of the user; NULL: none */
    int minor;
    gboolean is_on;
} ReleaseCase;

/* clang-format off */
static const ReleaseCase cases[] = {
    {"alpha is off",                 "VolumeAttributesClass",          NULL, NULL, 29, FALSE},
    {"beta may be off",              "VolumeAttributesClass",          NULL, NULL, 31, FALSE},
    {"GA is on",                     "VolumeAttributesClass",          NULL, NULL, 34, TRUE },
    {"beta is mostly on",            "HonorPVReclaimPolicy",           NULL, NULL, 31, TRUE },
    {"not there yet",                "HonorPVReclaimPolicy",           NULL, NULL, 22, FALSE},
    {"gone, the feature stays",      "GenericEphemeralVolume",         NULL, NULL, 32, TRUE },
    {"gone with its feature",        "VolumeCapacityPriority",         NULL, NULL, 36, FALSE},
    {"a release behind the table",   "AnyVolumeDataSource",            NULL, NULL, 40, TRUE },
    {"the user's setting",           "VolumeAttributesClass", "VolumeAttributesClass", "true", 31, TRUE },
    {"another gate's setting",       "VolumeAttributesClass", "AnyVolumeDataSource",   "true", 31, FALSE},
    {"AllAlpha sets alpha",          "CrossNamespaceVolumeDataSource", "AllAlpha", "true",  32, TRUE },
    {"AllAlpha leaves beta",         "VolumeAttributesClass",          "AllAlpha", "true",  32, FALSE},
    {"AllBeta sets beta",            "VolumeAttributesClass",          "AllBeta",  "true",  32, TRUE },
    {"AllBeta switches off",         "HonorPVReclaimPolicy",           "AllBeta",  "false", 32, FALSE},
    {"AllBeta leaves GA",            "HonorPVReclaimPolicy",           "AllBeta",  "false", 33, TRUE },
};
/* clang-format on */

static void
gate_is_on(void **state)
{
    const ReleaseCase *row = *state;
    Strings *strings = strings_new();
    StringMap *gates =
        row->set == NULL ? NULL : string_map_with(NULL, strings_intern(strings, row->set), row->to);
    Release release = {.minor = row->minor, .gates = gates};

    assert_int_equal(release_has_gate(&release, row->gate), row->is_on);
    string_map_unref(gates);
    strings_free(strings);
}
TEST_ROWS(cases, gate_is_on);

/* ---- What components refuse ---- */

typedef struct {
    const char *name;
    const char *gate;
    int minor;
    gboolean value;
    const char *fault, *hint; /* NULL: none */
} ReleaseRefusal;

#define UNKNOWN "unrecognized feature gate: "
/* clang-format off */
static const ReleaseRefusal refusals[] = {
    {"a gate that may be set",  "VolumeAttributesClass",  32, TRUE,  NULL, NULL},
    {"no such gate",            "VolumeAttributeClass",   32, TRUE,  UNKNOWN "VolumeAttributeClass", NULL},
    {"too early",               "VolumeLimitScaling",     34, TRUE,  UNKNOWN "VolumeLimitScaling", "it comes with 1.35"},
    {"too late",                "VolumeCapacityPriority", 33, TRUE,  UNKNOWN "VolumeCapacityPriority", "1.32 had it last"},
    {"locked to its default",   "HonorPVReclaimPolicy",   33, TRUE,  NULL, NULL},
    {"locked",                  "HonorPVReclaimPolicy",   33, FALSE,
     "cannot set feature gate HonorPVReclaimPolicy to false, feature is locked to true", "1.33 has locked it"},
    {"locked off",              "GitRepoVolumeDriver",    36, TRUE,
     "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false", "1.36 has locked it"},
    {"all of a stage",          "AllAlpha",               32, TRUE,  NULL, NULL},
};
/* clang-format on */

static void
setting_is_refused(void **state)
{
    const ReleaseRefusal *row = *state;
    g_autofree char *hint = NULL;
    g_autofree char *fault = release_refuse_gate(row->minor, row->gate, row->value, &hint);

    if (row->fault == NULL)
        assert_null(fault);
    else
        assert_string_equal(fault, row->fault);
    if (row->hint == NULL)
        assert_null(hint);
    else
        assert_string_equal(hint, row->hint);
}
TEST_ROWS(refusals, setting_is_refused);
