/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of stories: message sequences and lifecycles, drawn from a run made again, since results
 * do not contain the narrator's entries. The scenario is found by the name in the results. The size
 * of a picture follows from its lanes, rows and longest texts. As Mermaid they need no gnuplot. */
#include "plot-story.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gnuplot.h"
#include "paint.h"
#include "run/results/results.h"
#include "run/teach/lifecycle.h"
#include "run/teach/sequence.h"

/* A picture cannot show more. */
#define MESSAGES_MAX 150
#define LANE_WIDTH 128
#define ROW_HEIGHT 27
#define CHARACTER_WIDTH 7.2 /* of the pictures' font, about */

typedef struct {
    const PlotStory *options;
    const Narrator *narrator;
    SimTime from, to;
    const char *header; /* "# kvolsim ..." */
    gboolean is_mermaid;
} PlotStoryStory;

typedef struct {
    /* (owned): a table for gnuplot, or Mermaid; "": nothing happened; NULL: no such object */
    char *text;
    unsigned width, height;
    unsigned room; /* of the width: beside the last lane, for texts that begin near it */
} Drawn;

/* Returns: pixels that the longest text needs beside the lanes */
static unsigned
room_for_texts(const Sequence *sequence)
{
    const double width = LANE_WIDTH * (sequence->lanes->len - 0.5);
    double room = 0;

    for (unsigned i = 0; i < sequence->messages->len; i++) {
        const Message *message = &g_array_index(sequence->messages, Message, i);
        const double begin = LANE_WIDTH * (MIN(message->from, message->to) + 0.05);
        if (message->kind != MESSAGE_SILENCE && message->kind != MESSAGE_MORE)
            room = MAX(room, begin + CHARACTER_WIDTH * (double)strlen(message->text) - width);
    }
    return (unsigned)room;
}

static Drawn
draw_sequence(const PlotStoryStory *story)
{
    const SequenceOptions options = {.object = story->options->object,
                                     .namespace = story->options->namespace,
                                     .from = story->from,
                                     .to = story->to,
                                     .messages_max = MESSAGES_MAX};
    g_autoptr(Sequence) sequence = sequence_new(story->narrator, &options);

    if (sequence == NULL)
        return (Drawn){0};
    if (sequence->messages->len == 0)
        return (Drawn){.text = g_strdup("")};
    const unsigned room = room_for_texts(sequence);
    return (Drawn){.text = story->is_mermaid ? sequence_mermaid(sequence, story->header)
                                             : sequence_table(sequence, story->header),
                   .width = 105 + LANE_WIDTH * sequence->lanes->len + room,
                   .room = room,
                   .height = ROW_HEIGHT * (sequence->messages->len + 6)};
}

static Drawn
draw_lifecycle(const PlotStoryStory *story)
{
    const PlotStory *options = story->options;
    g_autoptr(Lifecycle) lifecycle =
        lifecycle_new(story->narrator, options->namespace, options->object, story->to);

    if (lifecycle == NULL)
        return (Drawn){0};
    if (lifecycle_n_objects(lifecycle) == 0)
        return (Drawn){.text = g_strdup("")};
    return (Drawn){.text = story->is_mermaid ? lifecycle_mermaid(lifecycle, story->header)
                                             : lifecycle_table(lifecycle, story->header),
                   .width = 1400,
                   .height = 80 + 440 * MAX(1, lifecycle_n_objects(lifecycle))};
}

static const struct {
    const char *name, *meaning;
    Drawn (*draw)(const PlotStoryStory *story);
} pictures[] = {
    {"sequence",  "the messages between components about --object",   draw_sequence },
    {"lifecycle", "the phases of the claims and volumes of --object", draw_lifecycle},
};

static int
find_picture(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++)
        if (strcmp(pictures[i].name, name) == 0)
            return (int)i;
    return -1;
}

gboolean
plot_story_has(const char *picture)
{
    return find_picture(picture) >= 0;
}

char *
plot_story_names(const char *separator)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++)
        g_string_append_printf(text, "%s%-10s %s", i > 0 ? separator : "", pictures[i].name,
                               pictures[i].meaning);
    return g_string_free(text, FALSE);
}

/* ---- The run again ---- */

/* Results name their scenario, but not its file. Scenarios that come with the program are found by
 * that name. */
static Look *
open_results(const PlotStory *self, const char *folder)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *objects = g_build_filename(folder, "objects.csv", NULL);
    Origin origin;

    if (!cli_read_origin(objects, &origin)) {
        cli_error("plot: %s: no results of a run, and no scenario file", folder);
        return NULL;
    }
    g_autofree char *name = g_strconcat(origin.scenario, ".yaml", NULL);
    g_autofree char *file = self->scenario != NULL
                                ? g_strdup(self->scenario)
                                : g_build_filename(data_dir, "scenarios", name, NULL);
    const LookOptions options = {
        .set = self->look.set, .seed = origin.seed, .replication = origin.replication};
    if (!g_file_test(file, G_FILE_TEST_EXISTS)) {
        cli_error(
            "plot: no file is known for the scenario \"%s\" of this run: give --scenario FILE",
            origin.scenario);
        return NULL;
    }
    g_autoptr(Look) look = look_open(&options, file);
    if (look != NULL && strcmp(look->scenario->hash, origin.hash) != 0) {
        cli_error("plot: the run in %s was of another scenario than %s is now: give --scenario "
                  "FILE, and each --set that the run had",
                  folder, file);
        return NULL;
    }
    return g_steal_pointer(&look);
}

/* ---- Output ---- */

/* "sequence-pod-web-0.svg" in the folder. (owned) */
static char *
output_path(const PlotStory *self, const char *run, const char *picture, const char *suffix)
{
    g_autofree char *object = g_strdelimit(g_strdup(self->object), "/", '-');
    g_autofree char *name = g_strdup_printf("%s-%s.%s", picture, object, suffix);
    const char *folder = self->out != NULL                      ? self->out
                         : g_file_test(run, G_FILE_TEST_IS_DIR) ? run
                                                                : ".";

    return g_build_filename(folder, name, NULL);
}

static ExitCode
draw_table(const PlotStory *self,
           const char *run,
           const char *picture,
           const char *format,
           const char *title,
           const Drawn *drawn)
{
    g_autofree char *output = output_path(self, run, picture, format);
    g_autofree char *terminal =
        g_strdup_printf("%s size %u,%u background rgb 'white' font 'sans,%s'",
                        strcmp(format, "svg") == 0 ? "svg" : "pngcairo", drawn->width,
                        drawn->height, strcmp(format, "svg") == 0 ? "11" : "9.5");
    g_autofree char *settings =
        g_strdup_printf("lane_width = %d.; room = %u.", LANE_WIDTH, drawn->room);

    return gnuplot_draw_text(picture, drawn->text, title, terminal, settings, output);
}

static ExitCode
common_plot_story_draw(
    const PlotStory *self, Look *look, const char *run, int picture, const char *format)
{
    g_autoptr(Narrator) narrator = narrator_new(look->run);
    g_autoptr(GString) header = g_string_new(NULL);
    PlotStoryStory story = {.options = self,
                            .narrator = narrator,
                            .to = SIM_TIME_MAX,
                            .is_mermaid = strcmp(format, "mermaid") == 0};

    if (!cli_parse_time("plot: --from", self->from, &story.from) ||
        !cli_parse_time("plot: --to", self->to, &story.to))
        return EXIT_BAD_INPUT;
    run_execute(look->run);
    results_append_header(header, look->run, story.is_mermaid ? "" : "# ", "");
    story.header = header->str;
    Drawn drawn = pictures[picture].draw(&story);
    g_autofree char *text = drawn.text;
    if (text == NULL)
        return cli_bad_input("plot: the run has no \"%s\" (as kind/name: pod/web-0, pvc/data)",
                             self->object);
    if (*text == '\0')
        return cli_bad_input("plot: nothing happened to \"%s\" that %s can show", self->object,
                             pictures[picture].name);
    if (story.is_mermaid) {
        plain_print(stdout, text);
        return EXIT_DONE;
    }
    if (self->out != NULL && g_mkdir_with_parents(self->out, 0777) != 0)
        return cli_fail("plot: %s: %s", self->out, g_strerror(errno));
    g_autofree char *title =
        g_strdup_printf("%s: %s of %s, seed %" G_GUINT64_FORMAT, look->scenario->name,
                        pictures[picture].name, self->object, run_options(look->run)->seed);
    return draw_table(self, run, pictures[picture].name, format, title, &drawn);
}

ExitCode
plot_story_draw(const PlotStory *self, const char *run, const char *picture, const char *format)
{
    int number = find_picture(picture);

    g_assert(number >= 0);
    if (self->object == NULL)
        return cli_bad_input("plot: %s needs --object KIND/NAME", picture);
    if (strcmp(format, "dumb") == 0)
        return cli_bad_input("plot: --format: %s can be png, svg or mermaid", picture);
    g_autoptr(Look) look = g_file_test(run, G_FILE_TEST_IS_DIR) ? open_results(self, run)
                                                                : look_open(&self->look, run);
    return look != NULL ? common_plot_story_draw(self, look, run, number, format) : EXIT_BAD_INPUT;
}
