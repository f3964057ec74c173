/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Annotations by which a pod tells how long its containers run, how many of them fail, and with
 * which exit codes. No image is run here, so a Job's end comes from these. All is drawn by run
 * number from the stream of the caller, so a container's life does not depend on others. Defaults:
 * all runs end with 0; if some fail, with 1. */
#include "container-life.h"

#include <string.h>

#define WORDS_MAX 16

gboolean
container_life_is_told(const StringMap *annotations)
{
    return string_map_has(annotations, ANNOTATION_RUNS_FOR) ||
           string_map_has(annotations, ANNOTATION_EXIT_CODE) ||
           string_map_has(annotations, ANNOTATION_FAILS);
}

void
container_life_clear(ContainerLife *self)
{
    g_clear_pointer(&self->runs_for, sim_dist_unref);
    *self = (ContainerLife){0};
}

/* "p50=30s", "30s", "0.5". @word is cut at its "=". */
static gboolean
argument_parse(char *word, SimDistArg *argument, GError **error)
{
    char *value = strchr(word, '='), *end;

    *argument = (SimDistArg){0};
    if (value != NULL) {
        *value++ = '\0';
        argument->name = word;
    } else {
        value = word;
    }
    argument->number = g_ascii_strtod(value, &end);
    if (end != value && *end == '\0')
        return TRUE;
    argument->is_time = TRUE;
    return sim_time_parse(value, &argument->time, error);
}

static SimDist *
dist_parse(const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " ", -1);
    SimDistArg arguments[WORDS_MAX];
    unsigned n = 0;
    SimTime time;

    if (sim_time_parse(text, &time, NULL) && time >= 0)
        return sim_dist_new_constant(time);
    if (sim_dist_kind_args(words[0]) == NULL) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "\"%s\" is neither a duration nor a kind of distribution (known: %s)", text,
                    sim_dist_kinds());
        return NULL;
    }
    for (unsigned i = 1; words[i] != NULL; i++) {
        if (words[i][0] == '\0')
            continue;
        if (n == WORDS_MAX) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "has too many words");
            return NULL;
        }
        if (!argument_parse(words[i], &arguments[n++], error))
            return NULL;
    }
    return sim_dist_new(words[0], arguments, n, error);
}

static gboolean
codes_parse(ContainerLife *self, const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " ", -1);
    guint64 code;

    for (unsigned i = 0; words[i] != NULL; i++) {
        if (words[i][0] == '\0')
            continue;
        if (self->n_codes == EXIT_CODES_MAX ||
            !g_ascii_string_to_unsigned(words[i], 10, 0, 255, &code, NULL)) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "\"%s\" is not a list of up to %d exit codes from 0 to 255", text,
                        EXIT_CODES_MAX);
            return FALSE;
        }
        self->codes[self->n_codes++] = (uint8_t)code;
    }
    if (self->n_codes == 0)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "has no exit code in it");
    return self->n_codes > 0;
}

static gboolean
share_parse(ContainerLife *self, const char *text, GError **error)
{
    char *end;

    self->fails = g_ascii_strtod(text, &end);
    if (end != text && *end == '\0' && self->fails >= 0 && self->fails <= 1)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is not a number from 0 to 1", text);
    return FALSE;
}

/* Defaults: all runs end with 0; if some fail, with 1; with an exit code other than 0 all fail. */
static gboolean
life_parse(const StringMap *annotations,
           ContainerLife *life,
           const char **annotation,
           GError **error)
{
    const char *runs_for = string_map_get(annotations, ANNOTATION_RUNS_FOR);
    const char *codes = string_map_get(annotations, ANNOTATION_EXIT_CODE);
    const char *fails = string_map_get(annotations, ANNOTATION_FAILS);

    life->fails = 1;
    *annotation = ANNOTATION_EXIT_CODE;
    if (codes != NULL && !codes_parse(life, codes, error))
        return FALSE;
    *annotation = ANNOTATION_FAILS;
    if (fails != NULL && !share_parse(life, fails, error))
        return FALSE;
    if (life->n_codes == 0)
        life->codes[life->n_codes++] = fails != NULL;
    *annotation = codes != NULL ? ANNOTATION_EXIT_CODE : ANNOTATION_FAILS;
    if (runs_for == NULL && (codes != NULL || fails != NULL)) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "needs \"%s\" beside it",
                    ANNOTATION_RUNS_FOR);
        return FALSE;
    }
    *annotation = ANNOTATION_RUNS_FOR;
    if (runs_for != NULL)
        life->runs_for = dist_parse(runs_for, error);
    return runs_for == NULL || life->runs_for != NULL;
}

gboolean
container_life_parse(const StringMap *annotations,
                     ContainerLife *life,
                     const char **annotation,
                     GError **error)
{
    const char *fault;

    *life = (ContainerLife){0};
    if (life_parse(annotations, life, annotation != NULL ? annotation : &fault, error))
        return TRUE;
    container_life_clear(life);
    return FALSE;
}

SimTime
container_life_run(const ContainerLife *self, SimStream stream, uint64_t entity, uint32_t n)
{
    return sim_dist_draw(self->runs_for, stream, entity, 2 * (uint64_t)n);
}

int
container_life_exit_code(const ContainerLife *self, SimStream stream, uint64_t entity, uint32_t n)
{
    if (self->fails < 1 && sim_random_uniform(stream, entity, 2 * (uint64_t)n + 1) >= self->fails)
        return 0;
    return self->codes[MIN(n, self->n_codes - 1)];
}
