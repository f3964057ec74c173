/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The use of resources by pods and machines over time: memory, disk, images and process ids, from
 * annotations that give a start and steps at a period. The use at an age is a function of the text
 * alone, so nothing is kept between two looks, and the age of the next step is known beforehand.
 * Limits of containers are read from the pod's manifest; a limit stands for a missing request. */
#include "machine-use.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"

#define EMPTY_DIR "emptyDir/"

typedef struct {
    const char *name;
    UseKind kind;
    gboolean of_pod, of_machine;
} KindWord;

static const KindWord kind_words[] = {
    {"memory", USE_MEMORY, TRUE,  TRUE},
    {"disk",   USE_DISK,   TRUE,  TRUE},
    {"images", USE_IMAGES, FALSE, TRUE},
    {"pids",   USE_PIDS,   TRUE,  TRUE},
};

static gboolean
kind_parse(const char *word, gboolean of_pod, MachineUse *use, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kind_words); i++)
        if (strcmp(word, kind_words[i].name) == 0 &&
            (of_pod ? kind_words[i].of_pod : kind_words[i].of_machine)) {
            use->kind = kind_words[i].kind;
            return TRUE;
        }
    const char *volume =
        of_pod && g_str_has_prefix(word, EMPTY_DIR) ? word + strlen(EMPTY_DIR) : "";
    if (*volume != '\0' && strlen(volume) < USE_NAME_MAX) {
        use->kind = USE_EMPTY_DIR;
        g_strlcpy(use->volume, volume, USE_NAME_MAX);
        return TRUE;
    }
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is none of %s", word,
                of_pod ? "memory, disk, pids, emptyDir/<volume>" : "memory, disk, images, pids");
    return FALSE;
}

MachineUses *
machine_uses_parse(const char *text, gboolean of_pod, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ";", -1);
    g_autofree MachineUses *self =
        g_malloc0(sizeof(MachineUses) + g_strv_length(parts) * sizeof(MachineUse));

    for (unsigned i = 0; parts[i] != NULL; i++) {
        char *part = g_strstrip(parts[i]), *rest = part + strcspn(part, " ");
        MachineUse *use = &self->items[self->n];
        if (*part == '\0')
            continue;
        if (*rest != '\0')
            *rest++ = '\0';
        if (!kind_parse(part, of_pod, use, error) ||
            !volume_filling_parse(rest, &use->filling, error))
            return NULL;
        for (unsigned j = 0; j < self->n; j++)
            if (self->items[j].kind == use->kind &&
                strcmp(self->items[j].volume, use->volume) == 0) {
                g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" stands there twice", part);
                return NULL;
            }
        self->n++;
    }
    return g_steal_pointer(&self);
}

gboolean
machine_capacity_parse(const char *text, MachineCapacity *capacity, GError **error)
{
    const struct {
        const char *name;
        int64_t *amount;
    } words[] = {
        {"memory=",      &capacity->memory      },
        {"disk=",        &capacity->disk        },
        {"inodes=",      &capacity->inodes      },
        {"images=",      &capacity->images      },
        {"imageInodes=", &capacity->image_inodes},
        {"pids=",        &capacity->pids        },
    };
    g_auto(GStrv) given = g_strsplit(text, " ", -1);

    *capacity = (MachineCapacity)MACHINE_CAPACITY_UNKNOWN;
    for (unsigned i = 0; given[i] != NULL; i++) {
        unsigned at = 0;
        while (at < G_N_ELEMENTS(words) && !g_str_has_prefix(given[i], words[at].name))
            at++;
        if (*given[i] == '\0')
            continue;
        if (at == G_N_ELEMENTS(words)) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                        "\"%s\" is none of memory=, disk=, inodes=, images=, imageInodes=, pids=",
                        given[i]);
            return FALSE;
        }
        if (!quantity_parse(given[i] + strlen(words[at].name), words[at].amount, NULL, error))
            return FALSE;
        if (*words[at].amount <= 0) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "\"%s\" is not positive", given[i]);
            return FALSE;
        }
    }
    return TRUE;
}

int64_t
machine_use_at(const MachineUse *self, SimTime age)
{
    const VolumeFilling *filling = &self->filling;
    int64_t steps = filling->every == 0 ? 0 : age / filling->every;
    int64_t room = INT64_MAX - filling->start_bytes;

    if (steps > 0 && filling->step_bytes > room / steps)
        return INT64_MAX;
    return filling->start_bytes + steps * filling->step_bytes;
}

int64_t
machine_use_files(const MachineUse *self, int64_t bytes)
{
    int64_t file = self->filling.file_bytes;

    return file == 0 ? 0 : bytes / file + (bytes % file != 0);
}

SimTime
machine_use_next(const MachineUse *self, SimTime age)
{
    SimTime every = self->filling.every;

    return every == 0 ? SIM_TIME_MAX : sim_time_add(age, every - age % every);
}

/* ---- Limits ---- */

/* Returns: -1: it is not given, or no quantity */
static int64_t
amount_read(const json_t *value, const char **text)
{
    int64_t amount;

    if (json_is_integer(value))
        return json_integer_value(value);
    if (!json_is_string(value) || !quantity_parse(json_string_value(value), &amount, NULL, NULL))
        return -1;
    if (text != NULL)
        *text = json_string_value(value);
    return amount;
}

static int64_t
amount_at(const json_t *container, const char *kind, const char *resource, const char **text)
{
    const json_t *list = json_object_get(json_object_get(container, "resources"), kind);

    return amount_read(json_object_get(list, resource), text);
}

/* The API server takes a limit for a missing request. */
static int64_t
request_at(const json_t *container, const char *resource)
{
    int64_t request = amount_at(container, "requests", resource, NULL);

    return MAX(request >= 0 ? request : amount_at(container, "limits", resource, NULL), 0);
}

static gboolean
asks_something(const json_t *container)
{
    static const char *const kinds[] = {"requests", "limits"}, *const resources[] = {"cpu",
                                                                                     "memory"};

    for (unsigned i = 0; i < 4; i++) {
        const json_t *list = json_object_get(json_object_get(container, "resources"), kinds[i / 2]);
        if (json_object_get(list, resources[i % 2]) != NULL)
            return TRUE;
    }
    return FALSE;
}

void
pod_local_limits_read(const PodSpec *spec, PodLocalLimits *limits)
{
    const json_t *containers = json_object_get(spec->manifest, "containers");

    *limits = (PodLocalLimits){.limit = -1, .first_limit = -1, .asks_nothing = TRUE};
    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        const char *text = NULL;
        int64_t request = request_at(container, "ephemeral-storage");
        int64_t limit = amount_at(container, "limits", "ephemeral-storage", &text);
        if (i == 0)
            *limits = (PodLocalLimits){
                .limit = -1,
                .first_request = request,
                .first_limit = limit,
                .first_memory_request = request_at(container, "memory"),
                .first_limit_text = text,
                .asks_nothing = TRUE,
            };
        limits->request = sim_time_add(limits->request, request); /* saturates */
        if (limit >= 0)
            limits->limit = sim_time_add(MAX(limits->limit, 0), limit);
        limits->asks_nothing &= !asks_something(container);
    }
    containers = json_object_get(spec->manifest, "initContainers");
    for (size_t i = 0; i < json_array_size(containers); i++)
        limits->asks_nothing &= !asks_something(json_array_get(containers, i));
}

gboolean
pod_empty_dir_read(const json_t *spec, const char *name, PodEmptyDir *dir)
{
    const json_t *volumes = json_object_get(spec, "volumes");

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        const json_t *source = json_object_get(volume, "emptyDir");
        if (source == NULL || g_strcmp0(json_path_string(volume, "name"), name) != 0)
            continue;
        const char *medium = json_path_string(source, "medium");
        *dir = (PodEmptyDir){.in_memory = g_strcmp0(medium, "Memory") == 0};
        dir->limit = amount_read(json_object_get(source, "sizeLimit"), &dir->limit_text);
        return TRUE;
    }
    return FALSE;
}
