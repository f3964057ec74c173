/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/sim-test.h"
#include "story-private.h"

#include <string.h>

/* The words that change the driver, and what words of options and calls mean. */

int64_t
story_parse_size(const char *text)
{
    char *end;
    int64_t number = g_ascii_strtoll(text, &end, 10);

    if (strcmp(end, "Gi") == 0)
        return number << 30;
    if (strcmp(end, "Mi") == 0)
        return number << 20;
    assert_string_equal(end, "");
    return number;
}

SimTime
story_parse_time(const char *text)
{
    SimTime time;

    assert_true(sim_time_parse(text, &time, NULL));
    return time;
}

int
story_parse_int(const char *text)
{
    return (int)g_ascii_strtoll(text, NULL, 10);
}

CsiCode
story_parse_code(const char *text)
{
    CsiCode code;

    assert_true(csi_code_parse(text, &code));
    return code;
}

CsiMethod
story_parse_method(const char *text)
{
    CsiMethod method;

    assert_true(csi_method_parse(text, &method));
    return method;
}

static const struct {
    const char *word;
    CsiAccessMode mode;
} mode_words[] = {
    {"none", CSI_MODE_UNKNOWN             },
    {"RWO",  CSI_SINGLE_NODE_WRITER       },
    {"ROX",  CSI_MULTI_NODE_READER_ONLY   },
    {"RWX",  CSI_MULTI_NODE_MULTI_WRITER  },
    {"RWOP", CSI_SINGLE_NODE_SINGLE_WRITER},
    {"SNMW", CSI_SINGLE_NODE_MULTI_WRITER },
    {"SNRO", CSI_SINGLE_NODE_READER_ONLY  },
    {"MNSW", CSI_MULTI_NODE_SINGLE_WRITER },
};

CsiAccessMode
story_parse_mode(const char *text)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(mode_words); i++)
        if (strcmp(mode_words[i].word, text) == 0)
            return mode_words[i].mode;
    fail_msg("no mode %s", text);
    return CSI_MODE_UNKNOWN;
}

const char *
story_intern(DriverStory *self, const char *text)
{
    return text == NULL || strcmp(text, "-") == 0 ? NULL : strings_intern(self->strings, text);
}

/* "k:v" as a map that the story keeps. */
const StringMap *
story_pair_map(DriverStory *self, const char *key, const char *value)
{
    StringPair pair = {strings_intern(self->strings, key), strings_intern(self->strings, value)};
    StringMap *map = string_map_new(&pair, 1);

    g_ptr_array_add(self->maps, map);
    return map;
}

const StringMap *
story_parse_pair(DriverStory *self, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);

    return story_pair_map(self, parts[0], parts[1]);
}

/* "a": zone a; "a+linux": also the operating system; "+linux": that alone */
const StringMap *
story_zone_map(DriverStory *self, const char *place)
{
    g_auto(GStrv) values = g_strsplit(place, "+", 2);
    StringPair pairs[2];
    unsigned n = 0;

    if (*values[0] != '\0')
        pairs[n++] = (StringPair){strings_intern(self->strings, "zone"),
                                  strings_intern(self->strings, values[0])};
    if (values[1] != NULL)
        pairs[n++] = (StringPair){strings_intern(self->strings, "os"),
                                  strings_intern(self->strings, values[1])};
    StringMap *map = string_map_new(pairs, n);
    g_ptr_array_add(self->maps, map);
    return map;
}

/* Options */

static SimDist *
keep_dist(DriverStory *self, SimDist *dist)
{
    g_ptr_array_add(self->dists, dist);
    return dist;
}

static void
option_latency(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 3); /* METHOD:TIME, or METHOD:LOW:HIGH, uniform */
    CsiLatency latency;

    assert_true(csi_latency_parse(parts[0], &latency));
    options->latency[latency] =
        keep_dist(self, parts[2] == NULL ? sim_dist_new_constant(story_parse_time(parts[1]))
                                         : sim_dist_new_uniform(story_parse_time(parts[1]),
                                                                story_parse_time(parts[2])));
}

/* METHOD:EXPONENT, METHOD:EXPONENT:UNDISTURBED */
static void
option_slowdown(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 3);
    CsiLatency latency;

    (void)self;
    assert_true(csi_latency_parse(parts[0], &latency));
    options->slowdown[latency].exponent = g_ascii_strtod(parts[1], NULL);
    if (parts[2] != NULL)
        options->slowdown[latency].undisturbed = g_ascii_strtod(parts[2], NULL);
}

/* METHOD:CODE[:word=value…], words: count, probability, volume (per volume), zone, node, from,
 * until, effect, latency */
static void
option_error(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", -1);
    CsiModelledError error = {
        .method = CSI_N_METHODS, .code = story_parse_code(parts[1]), .probability = 1};

    if (strcmp(parts[0], "any") != 0)
        error.method = story_parse_method(parts[0]);
    for (unsigned i = 2; parts[i] != NULL; i++) {
        const char *word = strchr(parts[i], '=');
        word = word == NULL ? "" : word + 1;
        if (g_str_has_prefix(parts[i], "count="))
            error.count = (unsigned)story_parse_int(word);
        else if (g_str_has_prefix(parts[i], "probability="))
            error.probability = g_ascii_strtod(word, NULL);
        else if (strcmp(parts[i], "volume") == 0)
            error.per_volume = TRUE;
        else if (strcmp(parts[i], "effect") == 0)
            error.after_effect = TRUE;
        else if (g_str_has_prefix(parts[i], "zone="))
            error.zone = strings_intern(self->strings, word);
        else if (g_str_has_prefix(parts[i], "node="))
            error.node = strings_intern(self->strings, word);
        else if (g_str_has_prefix(parts[i], "from="))
            error.from = story_parse_time(word);
        else if (g_str_has_prefix(parts[i], "until="))
            error.until = story_parse_time(word);
        else if (g_str_has_prefix(parts[i], "latency="))
            error.latency = keep_dist(self, sim_dist_new_constant(story_parse_time(word)));
        else
            fail_msg("no word %s of an error", parts[i]);
    }
    (void)options;
    g_array_append_val(self->errors, error);
}

/* [METHOD,…:]word=value…, words: concurrent, qps, burst, node, changes, within */
static void
option_limit(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", -1);
    CsiModelledLimit limit = {.burst = 1};

    (void)options;
    for (unsigned i = 0; parts[i] != NULL; i++) {
        const char *word = strchr(parts[i], '=');
        word = word == NULL ? "" : word + 1;
        if (g_str_has_prefix(parts[i], "concurrent="))
            limit.concurrent = (unsigned)story_parse_int(word);
        else if (g_str_has_prefix(parts[i], "qps="))
            limit.qps = g_ascii_strtod(word, NULL);
        else if (g_str_has_prefix(parts[i], "burst="))
            limit.burst = (unsigned)story_parse_int(word);
        else if (strcmp(parts[i], "node") == 0)
            limit.per_node = TRUE;
        else if (g_str_has_prefix(parts[i], "changes="))
            limit.per_volume = (CsiModelledQuota){.calls = (unsigned)story_parse_int(word),
                                                  .code = CSI_RESOURCE_EXHAUSTED};
        else if (g_str_has_prefix(parts[i], "within="))
            limit.per_volume.within = story_parse_time(word);
        else
            limit.methods |= UINT32_C(1) << story_parse_method(parts[i]);
    }
    g_array_append_val(self->limits, limit);
}

/* ZONE:SIZE; zone "-": everywhere */
static void
option_pool(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 2);
    CsiModelledPool pool = {.bytes = story_parse_size(parts[1])};

    (void)options;
    if (strcmp(parts[0], "-") != 0)
        pool.segments = story_zone_map(self, parts[0]);
    g_array_append_val(self->pools, pool);
}

static void
option_lock(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    (void)self;
    options->lock = strcmp(value, "none") == 0   ? CSI_LOCK_NONE
                    : strcmp(value, "node") == 0 ? CSI_LOCK_VOLUME_AND_NODE
                                                 : CSI_LOCK_VOLUME;
}

static void
option_mutable(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    const char *key = strings_intern(self->strings, value);

    options->controller_capabilities |= CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY;
    options->mutable_keys = string_list_new(&key, 1);
}

static void
option_keys(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    const char *key = strings_intern(self->strings, value);

    options->volume_keys = string_list_new(&key, 1);
}

/* START:STEP:EVERY:FILE */
static void
option_usage(DriverStory *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 4);

    (void)self;
    options->usage = (VolumeFilling){
        .start_bytes = story_parse_size(parts[0]),
        .step_bytes = story_parse_size(parts[1]),
        .every = story_parse_time(parts[2]),
        .file_bytes = story_parse_size(parts[3]),
    };
}

static void
option_number(CsiModelledOptions *options, const char *key, const char *value)
{
    if (strcmp(key, "attach-limit") == 0)
        options->attach_limit = story_parse_int(value);
    else if (strcmp(key, "reported") == 0)
        options->attach_limit_reported = story_parse_int(value);
    else if (strcmp(key, "min") == 0)
        options->volume_bytes_min = story_parse_size(value);
    else if (strcmp(key, "max") == 0)
        options->volume_bytes_max = story_parse_size(value);
    else if (strcmp(key, "step") == 0)
        options->volume_bytes_step = story_parse_size(value);
    else if (strcmp(key, "places") == 0)
        options->topologies_per_volume = (unsigned)story_parse_int(value);
    else if (strcmp(key, "ready-at") == 0)
        options->ready_at = story_parse_time(value);
    else if (strcmp(key, "seed") != 0)
        fail_msg("no option %s", key);
}

typedef struct {
    const char *word;
    unsigned set, clear;
    size_t offset;
} FlagWord;

#define OPTION(field) G_STRUCT_OFFSET(CsiModelledOptions, field)

/* clang-format off */
static const FlagWord flag_words[] = {
    {"no-attach",             0,                                           CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME, OPTION(controller_capabilities)},
    {"no-expand",             0,                                           CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY, OPTION(controller_capabilities)},
    {"no-create",             0,                                           CSI_CONTROLLER_CREATE_DELETE_VOLUME,     OPTION(controller_capabilities)},
    {"no-snapshots",          0,                                           CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,   OPTION(controller_capabilities)},
    {"no-multi-writer",       0,                                           CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER, OPTION(controller_capabilities)},
    {"no-node-multi-writer",  0,                                           CSI_NODE_SINGLE_NODE_MULTI_WRITER,       OPTION(node_capabilities)      },
    {"no-stage",              0,                                           CSI_NODE_STAGE_UNSTAGE_VOLUME,           OPTION(node_capabilities)      },
    {"no-stats",              0,                                           CSI_NODE_GET_VOLUME_STATS_CAPABILITY,    OPTION(node_capabilities)      },
    {"no-node-expand",        0,                                           CSI_NODE_EXPAND_VOLUME_CAPABILITY,       OPTION(node_capabilities)      },
    {"no-topology",           0,                                           CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS, OPTION(plugin_capabilities)},
    {"no-controller",         0,                                           CSI_PLUGIN_CONTROLLER_SERVICE,           OPTION(plugin_capabilities)    },
    {"group-service",         CSI_PLUGIN_GROUP_CONTROLLER_SERVICE,         0,                                       OPTION(plugin_capabilities)    },
    {"groups",                CSI_GROUP_SNAPSHOT,                          0,                                       OPTION(group_capabilities)     },
    {"offline",               CSI_PLUGIN_EXPANSION_OFFLINE,                CSI_PLUGIN_EXPANSION_ONLINE,             OPTION(plugin_capabilities)    },
    {"list",                  CSI_CONTROLLER_LIST_VOLUMES,                 0,                                       OPTION(controller_capabilities)},
    {"published-nodes",       CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES, 0,                                       OPTION(controller_capabilities)},
    {"capacity",              CSI_CONTROLLER_GET_CAPACITY,                 0,                                       OPTION(controller_capabilities)},
    {"list-snapshots",        CSI_CONTROLLER_LIST_SNAPSHOTS,               0,                                       OPTION(controller_capabilities)},
    {"get-snapshot",          CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY,      0,                                       OPTION(controller_capabilities)},
    {"clone",                 CSI_CONTROLLER_CLONE_VOLUME,                 0,                                       OPTION(controller_capabilities)},
    {"publish-readonly",      CSI_CONTROLLER_PUBLISH_READONLY,             0,                                       OPTION(controller_capabilities)},
    {"get",                   CSI_CONTROLLER_GET_VOLUME_CAPABILITY,        0,                                       OPTION(controller_capabilities)},
    {"condition",             CSI_CONTROLLER_VOLUME_CONDITION,             0,                                       OPTION(controller_capabilities)},
    {"needs-secrets",         TRUE,                                        0,                                       OPTION(needs_secrets)          },
    {"random-ids",            TRUE,                                        0,                                       OPTION(random_ids)             },
    {"adopts",                TRUE,                                        0,                                       OPTION(adopts_unknown_volumes) },
    {"checks-mounts",         TRUE,                                        0,                                       OPTION(checks_mounts)          },
    {"keeps-sources",         TRUE,                                        0,                                       OPTION(keeps_snapshot_sources) },
    {"snapshots-take-room",   TRUE,                                        0,                                       OPTION(snapshots_take_room)    },
    {"aborts",                TRUE,                                        0,                                       OPTION(aborts_with_caller)     },
};
/* clang-format on */

static gboolean
option_flag(CsiModelledOptions *options, const char *word)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(flag_words); i++) {
        const FlagWord *flag = &flag_words[i];
        if (strcmp(flag->word, word) != 0)
            continue;
        unsigned *place = (unsigned *)G_STRUCT_MEMBER_P(options, flag->offset);
        *place = (*place & ~flag->clear) | flag->set;
        return TRUE;
    }
    return FALSE;
}

static const struct {
    const char *key;
    void (*set)(DriverStory *self, CsiModelledOptions *options, const char *value);
} value_words[] = {
    {"latency",  option_latency },
    {"slowdown", option_slowdown},
    {"error",    option_error   },
    {"limit",    option_limit   },
    {"pool",     option_pool    },
    {"lock",     option_lock    },
    {"mutable",  option_mutable },
    {"keys",     option_keys    },
    {"usage",    option_usage   },
};

void
story_apply_option(DriverStory *self, CsiModelledOptions *options, const char *word)
{
    g_auto(GStrv) parts = g_strsplit(word, "=", 2);

    if (parts[1] == NULL) {
        if (!option_flag(options, word))
            fail_msg("no option %s", word);
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(value_words); i++) {
        if (strcmp(value_words[i].key, parts[0]) == 0) {
            value_words[i].set(self, options, parts[1]);
            return;
        }
    }
    option_number(options, parts[0], parts[1]);
}
