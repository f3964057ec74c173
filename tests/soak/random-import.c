/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/results/snapshot.h"
#include "trial.h"

/* Imported states: a random world runs for a while, its objects are written as kubectl prints them,
 * and another world begins with these objects, and goes on with what was still to come. */

#define MAKING_TAKES_S 120 /* at most, of real time */

/* The parts of a scenario's text. */
typedef enum {
    PART_HEAD,
    PART_NODES,
    PART_SETUP, /* components and drivers */
    PART_WORKLOAD,
    PART_FAULTS,
    PART_OBJECTS,
} RandomImportPart;

static RandomImportPart
part_of_line(const char *line, RandomImportPart before)
{
    if (before == PART_OBJECTS || g_str_equal(line, "---"))
        return PART_OBJECTS;
    if (g_str_equal(line, "  nodes:"))
        return PART_NODES;
    if (g_str_equal(line, "  components:") || g_str_equal(line, "  drivers:"))
        return PART_SETUP;
    if (g_str_equal(line, "  workload:"))
        return PART_WORKLOAD;
    return g_str_equal(line, "  faults:") ? PART_FAULTS : before;
}

/* The time of an action or a fault whose text begins with this line. @rest: (out): what follows it.
 * Returns: ms; negative: none begins here */
static gint64
time_of_line(const char *line, const char **rest)
{
    static const char *const begins[] = {"  - {at: ", "  - at: "};

    for (unsigned i = 0; i < G_N_ELEMENTS(begins); i++) {
        if (!g_str_has_prefix(line, begins[i]))
            continue;
        char *end;
        gint64 number = g_ascii_strtoll(line + strlen(begins[i]), &end, 10);
        gboolean is_ms = g_str_has_prefix(end, "ms");
        *rest = end + (is_ms ? 2 : 1);
        return is_ms ? number : number * 1000;
    }
    return -1;
}

/* Appends an action or a fault @ms earlier. Returns: whether it is still to come; if not, nothing
 * is appended */
static gboolean
append_earlier(GString *text, const char *line, gint64 ms)
{
    const char *rest;
    gint64 at = time_of_line(line, &rest);

    if (at < ms)
        return FALSE;
    g_string_append_printf(text, "%s%" G_GINT64_FORMAT "ms%s\n",
                           line[4] == '{' ? "  - {at: " : "  - at: ", at - ms, rest);
    return TRUE;
}

/* The scenario without its faults, as long as it runs before the dump. Returns: (owned) */
static char *
without_faults(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GString *to = g_string_new(NULL);
    RandomImportPart part = PART_HEAD;

    for (unsigned i = 0; lines[i] != NULL; i++) {
        part = part_of_line(lines[i], part);
        if (part != PART_FAULTS)
            g_string_append_printf(to, "%s\n", lines[i]);
    }
    return g_string_free(to, FALSE);
}

/* The head with an earlier end. */
static void
append_head(GString *to, const char *line, gint64 ms)
{
    static const char deletes[] = " deletes-at=";
    const char *at = strstr(line, deletes);

    if (at == NULL || !g_str_has_prefix(line, "# soak:"))
        g_string_append_printf(to, "%s\n", line);
    else
        g_string_append_printf(to, "# soak: imported%s%" G_GINT64_FORMAT "\n", deletes,
                               (g_ascii_strtoll(at + strlen(deletes), NULL, 10) * 1000 - ms) /
                                   1000);
}

/* The world that begins with @state at @ms of the other: what had happened by then is left out.
 * Actions may be about objects that are gone, like any user's. Returns: (owned) */
static char *
go_on_from(const char *text, const char *state, gint64 ms)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) workload = g_string_new(NULL), faults = g_string_new(NULL);
    GString *to = g_string_new(NULL);
    RandomImportPart part = PART_HEAD;
    gboolean is_kept = FALSE; /* the action or fault that this line is of */

    for (unsigned i = 0; lines[i] != NULL; i++) {
        const char *rest;
        GString *list = NULL;
        part = part_of_line(lines[i], part);
        if (part == PART_HEAD)
            append_head(to, lines[i], ms);
        else if (part == PART_SETUP)
            g_string_append_printf(to, "%s\n", lines[i]);
        else if (part == PART_WORKLOAD || part == PART_FAULTS)
            list = part == PART_WORKLOAD ? workload : faults;
        if (list != NULL && time_of_line(lines[i], &rest) >= 0)
            is_kept = append_earlier(list, lines[i], ms);
        else if (list != NULL && is_kept && g_str_has_prefix(lines[i], "    "))
            g_string_append_printf(list, "%s\n", lines[i]);
    }
    g_string_append(to, "  recordedFrom: 0\n");
    if (workload->len > 0)
        g_string_append_printf(to, "  workload:\n%s", workload->str);
    if (faults->len > 0)
        g_string_append_printf(to, "  faults:\n%s", faults->str);
    g_string_append_printf(to, "---\n%s\n", state);
    return g_string_free(to, FALSE);
}

/* What `kubectl get` would print, without Events. Returns: (owned) */
static char *
random_import_state_of(const Run *run)
{
    json_auto_t *all = snapshot_take(run);
    json_auto_t *kept = json_array();
    json_t *object;
    size_t i;

    json_array_foreach(all, i, object)
        if (g_strcmp0(json_string_value(json_object_get(object, "kind")), "Event") != 0)
            json_array_append(kept, object);
    json_auto_t *list =
        json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", kept);
    return json_dumps(list, JSON_COMPACT);
}

/* Returns: (owned) (nullable): NULL: the world does not even begin, which another trial tells */
static char *
make_imported(const char *text, gint64 ms)
{
    g_autofree char *calm = without_faults(text);
    g_autoptr(TrialWorld) world = world_new(calm);
    g_autofree char *folder = g_dir_make_tmp("kvolsim-soak-XXXXXX", NULL);
    Trial *trial;
    g_autoptr(Scenario) scenario = trial_load(world, folder, &trial);
    g_autofree char *state = NULL;

    if (scenario != NULL) {
        const RunOptions options = {.seed = scenario->seed};
        g_autoptr(Run) run = run_new(scenario, &options, NULL);
        if (run != NULL) {
            sim_run_until(run_sim(run), ms * SIM_MS);
            state = random_import_state_of(run);
        }
    }
    trial_free(trial);
    trial_remove_folder(folder);
    return state == NULL ? NULL : go_on_from(text, state, ms);
}

/* In a process of its own: it may crash or hang. */
char *
random_scenario_imported(guint64 seed)
{
    g_autofree char *text = random_scenario_new(seed);
    gint64 ms = (gint64)(10000 + seed * 7919 % 230000);
    g_autofree char *file = NULL;
    char *made = NULL;
    int fd = g_file_open_tmp("kvolsim-soak-XXXXXX", &file, NULL), status;

    if (fd < 0)
        g_error("there is no folder for temporary files");
    close(fd);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(MAKING_TAKES_S);
        g_autofree char *imported = make_imported(text, ms);
        _exit(imported != NULL && g_file_set_contents(file, imported, -1, NULL) ? 0 : 1);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        g_file_get_contents(file, &made, NULL, NULL);
    unlink(file);
    return made != NULL ? made : g_steal_pointer(&text);
}
