/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles of real back ends: each number says where it is from and how far to trust it; and they
 * are what was collected, value by value. The collection is not part of this tree: KVOLSIM_PROFILES
 * names its file. */
#include <glib/gstdio.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "run/files/yaml.h"
#include "run/scenario/scenario.h"
#include "tests/lib/test.h"

#define TOLERANCE 0.002 /* of values that were written with four digits or more */

static const double quantiles[] = {0.01, 0.1, 0.5, 0.9, 0.99};

static char *
profile_file(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".yaml", NULL);

    return g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "models", "profiles", file, NULL);
}

static char *
profiles_read_text(const char *file)
{
    char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(file, &text, NULL, &error))
        fail_msg("%s", error->message);
    return text;
}

/* The profile as a driver of a scenario has it. */
static Scenario *
profiles_load(const char *name)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *text = g_strdup_printf(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: profile}\nspec:\n  until: 1s\n"
        "  nodes: [{count: 1, name: \"node-%%d\", zones: [a]}]\n"
        "  drivers: [{name: profile.kvolsim.io, profile: %s}]\n",
        name);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;

    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        print_error("%s: %s\n", name, line);
    }
    assert_non_null(scenario);
    g_unlink(file);
    g_rmdir(folder);
    return scenario;
}

/* The comment right above "  KEY:", its lines as one. (owned) */
static char *
comment_above(const char *text, const char *key)
{
    g_autofree char *start = g_strdup_printf("  %s:", key);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) comment = g_string_new(NULL);

    for (unsigned i = 0; lines[i] != NULL; i++) {
        const char *line = lines[i] + strspn(lines[i], " ");
        if (g_str_has_prefix(lines[i], start))
            break;
        if (line[0] == '#')
            g_string_append_printf(comment, " %s", line + 1 + strspn(line + 1, " "));
        else
            g_string_truncate(comment, 0);
    }
    return g_strdup(comment->str);
}

static const char *const trusts[] = {"measured", "documented", "anecdotal", "assumed"};

/* Its first word that tells how far to trust it. NULL: none */
static const char *
trust_in(const char *comment)
{
    const char *first = NULL, *word = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(trusts); i++) {
        const char *found = strstr(comment, trusts[i]);
        if (found != NULL && (first == NULL || found < first)) {
            first = found;
            word = trusts[i];
        }
    }
    return word;
}

/* What is not assumed has a source, which README.md explains: "measured: EBS-2021, LOOP; n=256". */
static void
check_sources(const char *name, const char *key, const char *comment, const char *readme)
{
    const char *trust = trust_in(comment);

    if (trust == NULL)
        fail_msg("%s: %s: how far to trust it is not said: \"%s\"", name, key, comment);
    const char *after = strstr(comment, trust) + strlen(trust);
    if (after[0] != ':') {
        if (strcmp(trust, "assumed") != 0)
            fail_msg("%s: %s: %s, but no source: \"%s\"", name, key, trust, comment);
        return;
    }
    g_auto(GStrv) parts = g_strsplit_set(after + 1, ";", 2);
    g_auto(GStrv) sources = g_strsplit(parts[0], ",", -1);
    for (unsigned i = 0; sources[i] != NULL; i++) {
        const char *source = g_strstrip(sources[i]);
        g_auto(GStrv) family = g_strsplit(source, "-", 2);    /* EBS-2021 stands there as EBS-n */
        if (source[0] == '\0' || strchr(source, '/') != NULL) /* owner/repository#n */
            continue;
        if (strstr(readme, family[0]) == NULL)
            fail_msg("%s: %s: README.md knows no source %s", name, key, source);
    }
}

/* Names of all profiles of back ends. (owned) */
static GPtrArray *
all_names(void)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "models", "profiles", NULL);
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while ((name = g_dir_read_name(files)) != NULL)
        if (g_str_has_suffix(name, ".yaml") && !g_str_has_prefix(name, "timing-"))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(".yaml")));
    return names;
}

TEST(every_number_has_a_source)
{
    g_autoptr(GPtrArray) names = all_names();
    g_autofree char *readme_file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "models", "profiles", "README.md", NULL);
    g_autofree char *readme = profiles_read_text(readme_file);

    assert_true(names->len > 20);
    for (unsigned i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *file = profile_file(name);
        g_autofree char *text = profiles_read_text(file);
        g_autoptr(Scenario) scenario = profiles_load(name);
        for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
            if (scenario->drivers[0].model.latency[kind] == NULL)
                continue;
            g_autofree char *comment = comment_above(text, csi_latency_name(kind));
            check_sources(name, csi_latency_name(kind), comment, readme);
        }
    }
}

/* ---- Against the collection ---- */

static double
profiles_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value))
        fail_msg("the collection has no number %s", key);
    return json_number_value(value);
}

static double
table_quantile(const json_t *table, double q)
{
    for (size_t i = 1; i < json_array_size(table); i++) {
        double to = json_number_value(json_array_get(json_array_get(table, i), 0));
        if (fabs(to - q) < 1e-9)
            return json_number_value(json_array_get(json_array_get(table, i), 1));
    }
    return -1; /* between two that are there: how to read that is everybody's own affair */
}

/* Seconds; -1: the collection does not say. */
static double
expected(const json_t *dist, double q)
{
    const char *type = json_string_value(json_object_get(dist, "type"));

    if (strcmp(type, "lognormal") == 0)
        return exp(profiles_number(dist, "mu") +
                   profiles_number(dist, "sigma") * gsl_cdf_ugaussian_Pinv(q));
    if (strcmp(type, "gamma") == 0)
        return gsl_cdf_gamma_Pinv(q, profiles_number(dist, "shape"),
                                  profiles_number(dist, "scale"));
    if (strcmp(type, "weibull") == 0)
        return gsl_cdf_weibull_Pinv(q, profiles_number(dist, "scale"),
                                    profiles_number(dist, "shape"));
    if (strcmp(type, "constant") == 0)
        return profiles_number(dist, "value");
    if (strcmp(type, "empirical") == 0)
        return table_quantile(json_object_get(dist, "quantiles"), q);
    fail_msg("unknown distribution %s in the collection", type);
    return -1;
}

static void
check_method(const char *name,
             const char *method,
             const json_t *found,
             const SimDist *dist,
             const char *comment)
{
    const char *trust = json_string_value(json_object_get(found, "confidence"));
    const json_t *sources = json_object_get(found, "sources");

    if (dist == NULL)
        fail_msg("%s has no %s", name, method);
    for (unsigned i = 0; i < G_N_ELEMENTS(quantiles); i++) {
        double wanted = expected(json_object_get(found, "dist"), quantiles[i]);
        double got = (double)sim_dist_quantile(dist, quantiles[i]) / (double)SIM_SECOND;
        if (wanted >= 0 && fabs(got - wanted) > TOLERANCE * wanted + 2e-9)
            fail_msg("%s: %s: quantile %g is %g s, collected %g s", name, method, quantiles[i], got,
                     wanted);
    }
    assert_string_equal(trust_in(comment), trust);
    for (size_t i = 0; i < json_array_size(sources); i++)
        if (strstr(comment, json_string_value(json_array_get(sources, i))) == NULL)
            fail_msg("%s: %s: source %s is not named: \"%s\"", name, method,
                     json_string_value(json_array_get(sources, i)), comment);
}

static void
check_limits(const char *name, const json_t *collected, const ScenarioDriver *driver)
{
    const json_t *limit = json_object_get(collected, "attach_limit");
    const char *rule = json_string_value(json_object_get(limit, "rule"));
    const json_t *effective = json_object_get(limit, "effective");
    const json_t *value = effective != NULL ? effective
                          : json_object_get(limit, "default") != NULL
                              ? json_object_get(limit, "default")
                              : json_object_get(limit, "value");
    gboolean attaches =
        (driver->model.controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;

    assert_int_equal(attaches, json_is_true(json_object_get(collected, "attach_required")));
    assert_int_equal(driver->n_topology > 0,
                     strcmp(json_string_value(json_object_get(collected, "topology")), "cluster") !=
                         0);
    assert_int_equal(driver->attach_limit,
                     strcmp(rule, "none") == 0 ? 0 : (int)json_integer_value(value));
    if (effective != NULL && driver->model.attach_limit_reported !=
                                 (int)json_integer_value(json_object_get(limit, "value")))
        fail_msg("%s: attachLimitReported", name);
}

static void
check_profile(const json_t *collected)
{
    const char *name = json_string_value(json_object_get(collected, "name"));
    const json_t *methods = json_object_get(collected, "methods");
    g_autofree char *file = profile_file(name);
    g_autofree char *text = profiles_read_text(file);
    g_autoptr(Scenario) scenario = profiles_load(name);
    const ScenarioDriver *driver = &scenario->drivers[0];
    unsigned n = 0;
    const char *key;
    json_t *found;

    json_object_foreach((json_t *)methods, key, found) {
        /* Growing a volume in one step, as it was measured, is the node's part here. */
        const char *method = strcmp(key, "ExpandVolume") == 0 ? "NodeExpandVolume" : key;
        g_autofree char *comment = comment_above(text, method);
        CsiLatency kind;
        if (!csi_latency_parse(method, &kind))
            fail_msg("%s: no CSI call %s", name, method);
        check_method(name, method, found, driver->model.latency[kind], comment);
    }
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        n += driver->model.latency[kind] != NULL ? 1 : 0;
    assert_int_equal(n, json_object_size(methods));
    check_limits(name, collected, driver);
}

TEST(all_is_as_it_was_collected)
{
    const char *file = g_getenv("KVOLSIM_PROFILES");

    if (file == NULL) {
        print_message("# SKIP KVOLSIM_PROFILES is not set: no collection\n");
        skip();
    }
    g_autofree char *text = profiles_read_text(file);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    assert_true(yaml_read(positions, file, text, strlen(text), NULL, documents));
    const json_t *profiles = json_object_get(documents->pdata[0], "profiles");
    assert_true(json_array_size(profiles) > 0);
    for (size_t i = 0; i < json_array_size(profiles); i++)
        check_profile(json_array_get(profiles, i));
}
