/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes recorded.json of a simulated run: make-recording SCENARIO SEED FOLDER [MILESTONE SECONDS].
 * Each of these milestones is that much later than it was, and those of the same object after it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "run/import/import-test.h"
#include "run/import/recorder.h"

static void
delay(const Recorded *recorded, const char *milestone, SimTime by)
{
    const GPtrArray *objects = recorded_objects(recorded);
    RecordedTime which = 0;

    while (!g_str_equal(recorded_time_name(which), milestone))
        which++;
    for (unsigned i = 0; i < objects->len; i++) {
        RecordedObject *object = objects->pdata[i];
        SimTime from = object->at[which];
        for (unsigned k = 0; from != TIME_UNSET && k < N_RECORDED_TIMES; k++)
            if (object->at[k] != TIME_UNSET && object->at[k] >= from)
                object->at[k] += by;
    }
}

int
main(int argc, char **argv)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    if (argc < 4)
        return 2;
    g_autoptr(Scenario) scenario = scenario_load(argv[1], &options, &faults);
    const RunOptions run_options = {.seed = (uint64_t)atoll(argv[2]), .untraced = TRUE};
    g_autoptr(Recorder) recorder = NULL;
    g_autoptr(Run) run = scenario == NULL ? NULL : run_new(scenario, &run_options, &error);
    if (run == NULL)
        return 1;
    recorder = recorder_new(run);
    run_execute(run);
    recorded_set_span(recorder_recorded(recorder), "2026-01-01T00:00:00Z", sim_now(run_sim(run)));
    if (argc > 5)
        delay(recorder_recorded(recorder), argv[4], (SimTime)(atof(argv[5]) * (double)SIM_SECOND));
    if (recorded_write(recorder_recorded(recorder), argv[3], &error))
        return 0;
    fprintf(stderr, "%s\n", error->message);
    return 1;
}
