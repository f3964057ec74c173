/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "story.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Story *story;
    char *step;
    CsiCode expected;
    SimTime started_at;
    gboolean done;
} StoryCall;

struct Story {
    Sim *sim;
    Strings *strings;
    CsiModelledDriver *driver;
    GPtrArray *dists;
    GArray *errors, *limits, *pools;
    GPtrArray *maps;
    GPtrArray *calls;  /* of StoryCall, in the order made */
    CsiResponse *last; /* a copy of the last answer */
    SimTime last_took;
    const char *title, *step;
};

#define STORY_FAIL(story, ...)                                                                     \
    do {                                                                                           \
        g_autofree char *why = g_strdup_printf(__VA_ARGS__);                                       \
        fail_msg("%s: \"%s\": %s", (story)->title, (story)->step, why);                            \
    } while (0)

static int64_t
parse_size(const char *text)
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

static SimTime
parse_time(const char *text)
{
    SimTime time;

    assert_true(sim_time_parse(text, &time, NULL));
    return time;
}

static int
parse_int(const char *text)
{
    return (int)g_ascii_strtoll(text, NULL, 10);
}

static CsiCode
parse_code(const char *text)
{
    CsiCode code;

    assert_true(csi_code_parse(text, &code));
    return code;
}

static CsiMethod
parse_method(const char *text)
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

static CsiAccessMode
parse_mode(const char *text)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(mode_words); i++)
        if (strcmp(mode_words[i].word, text) == 0)
            return mode_words[i].mode;
    fail_msg("no mode %s", text);
    return CSI_MODE_UNKNOWN;
}

static const char *
intern(Story *self, const char *text)
{
    return text == NULL || strcmp(text, "-") == 0 ? NULL : strings_intern(self->strings, text);
}

/* "k:v" as a map that the story keeps. */
static const StringMap *
pair_map(Story *self, const char *key, const char *value)
{
    StringPair pair = {strings_intern(self->strings, key), strings_intern(self->strings, value)};
    StringMap *map = string_map_new(&pair, 1);

    g_ptr_array_add(self->maps, map);
    return map;
}

static const StringMap *
parse_pair(Story *self, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);

    return pair_map(self, parts[0], parts[1]);
}

static const StringMap *
zone_map(Story *self, const char *zone)
{
    return pair_map(self, "zone", zone);
}

/* Options */

static SimDist *
keep_dist(Story *self, SimDist *dist)
{
    g_ptr_array_add(self->dists, dist);
    return dist;
}

static void
option_latency(Story *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 3); /* METHOD:TIME, or METHOD:LOW:HIGH, uniform */
    CsiLatency latency;

    assert_true(csi_latency_parse(parts[0], &latency));
    options->latency[latency] = keep_dist(
        self, parts[2] == NULL ? sim_dist_new_constant(parse_time(parts[1]))
                               : sim_dist_new_uniform(parse_time(parts[1]), parse_time(parts[2])));
}

/* METHOD:EXPONENT, METHOD:EXPONENT:UNDISTURBED */
static void
option_slowdown(Story *self, CsiModelledOptions *options, const char *value)
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
option_error(Story *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", -1);
    CsiModelledError error = {
        .method = CSI_N_METHODS, .code = parse_code(parts[1]), .probability = 1};

    if (strcmp(parts[0], "any") != 0)
        error.method = parse_method(parts[0]);
    for (unsigned i = 2; parts[i] != NULL; i++) {
        const char *word = strchr(parts[i], '=');
        word = word == NULL ? "" : word + 1;
        if (g_str_has_prefix(parts[i], "count="))
            error.count = (unsigned)parse_int(word);
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
            error.from = parse_time(word);
        else if (g_str_has_prefix(parts[i], "until="))
            error.until = parse_time(word);
        else if (g_str_has_prefix(parts[i], "latency="))
            error.latency = keep_dist(self, sim_dist_new_constant(parse_time(word)));
        else
            fail_msg("no word %s of an error", parts[i]);
    }
    (void)options;
    g_array_append_val(self->errors, error);
}

/* [METHOD,…:]word=value…, words: concurrent, qps, burst, node */
static void
option_limit(Story *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", -1);
    CsiModelledLimit limit = {.burst = 1};

    (void)options;
    for (unsigned i = 0; parts[i] != NULL; i++) {
        const char *word = strchr(parts[i], '=');
        word = word == NULL ? "" : word + 1;
        if (g_str_has_prefix(parts[i], "concurrent="))
            limit.concurrent = (unsigned)parse_int(word);
        else if (g_str_has_prefix(parts[i], "qps="))
            limit.qps = g_ascii_strtod(word, NULL);
        else if (g_str_has_prefix(parts[i], "burst="))
            limit.burst = (unsigned)parse_int(word);
        else if (strcmp(parts[i], "node") == 0)
            limit.per_node = TRUE;
        else
            limit.methods |= UINT32_C(1) << parse_method(parts[i]);
    }
    g_array_append_val(self->limits, limit);
}

/* ZONE:SIZE; zone "-": everywhere */
static void
option_pool(Story *self, CsiModelledOptions *options, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ":", 2);
    CsiModelledPool pool = {.bytes = parse_size(parts[1])};

    (void)options;
    if (strcmp(parts[0], "-") != 0)
        pool.segments = zone_map(self, parts[0]);
    g_array_append_val(self->pools, pool);
}

static void
option_lock(Story *self, CsiModelledOptions *options, const char *value)
{
    (void)self;
    options->lock = strcmp(value, "none") == 0   ? CSI_LOCK_NONE
                    : strcmp(value, "node") == 0 ? CSI_LOCK_VOLUME_AND_NODE
                                                 : CSI_LOCK_VOLUME;
}

static void
option_mutable(Story *self, CsiModelledOptions *options, const char *value)
{
    const char *key = strings_intern(self->strings, value);

    options->controller_capabilities |= CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY;
    options->mutable_keys = string_list_new(&key, 1);
}

static void
option_number(CsiModelledOptions *options, const char *key, const char *value)
{
    if (strcmp(key, "attach-limit") == 0)
        options->attach_limit = parse_int(value);
    else if (strcmp(key, "reported") == 0)
        options->attach_limit_reported = parse_int(value);
    else if (strcmp(key, "min") == 0)
        options->volume_bytes_min = parse_size(value);
    else if (strcmp(key, "max") == 0)
        options->volume_bytes_max = parse_size(value);
    else if (strcmp(key, "step") == 0)
        options->volume_bytes_step = parse_size(value);
    else if (strcmp(key, "places") == 0)
        options->topologies_per_volume = (unsigned)parse_int(value);
    else if (strcmp(key, "ready-at") == 0)
        options->ready_at = parse_time(value);
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
    void (*set)(Story *self, CsiModelledOptions *options, const char *value);
} value_words[] = {
    {"latency",  option_latency },
    {"slowdown", option_slowdown},
    {"error",    option_error   },
    {"limit",    option_limit   },
    {"pool",     option_pool    },
    {"lock",     option_lock    },
    {"mutable",  option_mutable },
};

static void
apply_option(Story *self, CsiModelledOptions *options, const char *word)
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

static uint64_t
seed_of(const char *options)
{
    const char *seed = strstr(options, "seed=");

    return seed == NULL ? 1 : g_ascii_strtoull(seed + strlen("seed="), NULL, 10);
}

static void
story_call_free(void *data)
{
    StoryCall *call = data;

    g_free(call->step);
    g_free(call);
}

static void
dist_free(void *data)
{
    sim_dist_unref(data);
}

static void
map_free(void *data)
{
    string_map_unref(data);
}

Story *
story_new(const char *options)
{
    Story *self = g_new0(Story, 1);
    CsiModelledOptions driver_options;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = g_strsplit(options, " ", -1);

    self->sim = sim_new(&(SimOptions){.seed = seed_of(options)});
    self->strings = strings_new();
    self->dists = g_ptr_array_new_with_free_func(dist_free);
    self->maps = g_ptr_array_new_with_free_func(map_free);
    self->calls = g_ptr_array_new_with_free_func(story_call_free);
    self->errors = g_array_new(FALSE, FALSE, sizeof(CsiModelledError));
    self->limits = g_array_new(FALSE, FALSE, sizeof(CsiModelledLimit));
    self->pools = g_array_new(FALSE, FALSE, sizeof(CsiModelledPool));
    self->title = self->step = "";
    csi_modelled_options_init(&driver_options);
    driver_options.name = "driver.example";
    driver_options.waits = (CsiWaits){.latency = 1, .throttled = 2};
    for (unsigned i = 0; words[i] != NULL; i++)
        if (words[i][0] != '\0')
            apply_option(self, &driver_options, words[i]);
    driver_options.errors = (const CsiModelledError *)self->errors->data;
    driver_options.n_errors = self->errors->len;
    driver_options.limits = (const CsiModelledLimit *)self->limits->data;
    driver_options.n_limits = self->limits->len;
    driver_options.pools = (const CsiModelledPool *)self->pools->data;
    driver_options.n_pools = self->pools->len;
    self->driver = csi_modelled_driver_new(self->sim, self->strings, &driver_options, &error);
    string_list_unref((StringList *)driver_options.mutable_keys);
    if (self->driver == NULL)
        fail_msg("%s", error->message);
    csi_modelled_driver_add_node(self->driver, intern(self, "n1"), intern(self, "id-n1"),
                                 zone_map(self, "a"));
    csi_modelled_driver_add_node(self->driver, intern(self, "n2"), intern(self, "id-n2"),
                                 zone_map(self, "b"));
    return self;
}

void
story_free(Story *self)
{
    if (self == NULL)
        return;
    csi_driver_free(csi_modelled_driver_base(self->driver));
    csi_response_free(sim_memory(self->sim), self->last);
    g_ptr_array_unref(self->calls);
    g_ptr_array_unref(self->maps);
    g_ptr_array_unref(self->dists);
    g_array_unref(self->errors);
    g_array_unref(self->limits);
    g_array_unref(self->pools);
    strings_free(self->strings);
    sim_free(self->sim);
    g_free(self);
}

CsiModelledDriver *
story_driver(Story *self)
{
    return self->driver;
}

Sim *
story_sim(Story *self)
{
    return self->sim;
}

Strings *
story_strings(Story *self)
{
    return self->strings;
}

/* Calls */

static void
replied(void *data, const CsiResponse *response)
{
    StoryCall *call = data;
    Story *self = call->story;

    call->done = TRUE;
    self->step = call->step;
    self->last_took = sim_now(self->sim) - call->started_at;
    csi_response_free(sim_memory(self->sim), self->last);
    self->last = csi_response_copy(sim_memory(self->sim), response);
    if (response->code != call->expected)
        STORY_FAIL(self, "%s, expected %s (%s)", csi_code_name(response->code),
                   csi_code_name(call->expected),
                   response->message != NULL ? response->message : "");
}

static void
join(Story *self)
{
    for (unsigned i = 0; i < self->calls->len; i++) {
        StoryCall *call = g_ptr_array_index(self->calls, i);
        while (!call->done)
            assert_true(sim_step(self->sim));
    }
    g_ptr_array_set_size(self->calls, 0);
}

#define MAPS_MAX 4

/* A call under construction, with room for what its request points to. */
typedef struct {
    CsiRequest request;
    CsiCapability capability;
    const StringMap *requisite[MAPS_MAX], *preferred[MAPS_MAX];
} Draft;

typedef enum {
    TAKES_NAME = 1 << 0,
    TAKES_VOLUME = 1 << 1,
    TAKES_NODE_ID = 1 << 2, /* of the controller's calls */
    TAKES_NODE = 1 << 3,    /* that serves the call */
    TAKES_SNAPSHOT = 1 << 4,
    TAKES_SIZE = 1 << 5,
    TAKES_CAPABILITY = 1 << 6,
    TAKES_STAGING = 1 << 7,
    TAKES_TARGET = 1 << 8,
} DraftFields;

/* clang-format off */
/* Arguments come in this order: name, snapshot, volume, node, size. */
static const struct {
    const char *verb;
    CsiMethod method;
    unsigned takes;
} verbs[] = {
    {"create",                  CSI_CREATE_VOLUME,                TAKES_NAME | TAKES_SIZE | TAKES_CAPABILITY},
    {"delete",                  CSI_DELETE_VOLUME,                TAKES_VOLUME},
    {"attach",                  CSI_CONTROLLER_PUBLISH_VOLUME,    TAKES_VOLUME | TAKES_NODE_ID | TAKES_CAPABILITY},
    {"detach",                  CSI_CONTROLLER_UNPUBLISH_VOLUME,  TAKES_VOLUME | TAKES_NODE_ID},
    {"stage",                   CSI_NODE_STAGE_VOLUME,            TAKES_VOLUME | TAKES_NODE | TAKES_CAPABILITY | TAKES_STAGING},
    {"unstage",                 CSI_NODE_UNSTAGE_VOLUME,          TAKES_VOLUME | TAKES_NODE | TAKES_STAGING},
    {"mount",                   CSI_NODE_PUBLISH_VOLUME,
     TAKES_VOLUME | TAKES_NODE | TAKES_CAPABILITY | TAKES_STAGING | TAKES_TARGET},
    {"unmount",                 CSI_NODE_UNPUBLISH_VOLUME,        TAKES_VOLUME | TAKES_NODE | TAKES_TARGET},
    {"expand",                  CSI_CONTROLLER_EXPAND_VOLUME,     TAKES_VOLUME | TAKES_SIZE},
    {"grow",                    CSI_NODE_EXPAND_VOLUME,           TAKES_VOLUME | TAKES_NODE | TAKES_SIZE | TAKES_TARGET},
    {"stats",                   CSI_NODE_GET_VOLUME_STATS,        TAKES_VOLUME | TAKES_NODE | TAKES_TARGET},
    {"snapshot",                CSI_CREATE_SNAPSHOT,              TAKES_NAME | TAKES_VOLUME},
    {"delete-snapshot",         CSI_DELETE_SNAPSHOT,              TAKES_SNAPSHOT},
    {"get-snapshot",            CSI_GET_SNAPSHOT,                 TAKES_SNAPSHOT},
    {"snapshots",               CSI_LIST_SNAPSHOTS,               0},
    {"list",                    CSI_LIST_VOLUMES,                 0},
    {"get",                     CSI_CONTROLLER_GET_VOLUME,        TAKES_VOLUME},
    {"validate",                CSI_VALIDATE_VOLUME_CAPABILITIES, TAKES_VOLUME | TAKES_CAPABILITY},
    {"modify",                  CSI_CONTROLLER_MODIFY_VOLUME,     TAKES_VOLUME},
    {"capacity",                CSI_GET_CAPACITY,                 0},
    {"probe",                   CSI_PROBE,                        0},
    {"plugin-info",             CSI_GET_PLUGIN_INFO,              0},
    {"plugin-capabilities",     CSI_GET_PLUGIN_CAPABILITIES,      0},
    {"controller-capabilities", CSI_CONTROLLER_GET_CAPABILITIES,  0},
    {"node-capabilities",       CSI_NODE_GET_CAPABILITIES,        TAKES_NODE},
    {"node-info",               CSI_NODE_GET_INFO,                TAKES_NODE},
};
/* clang-format on */

static unsigned
parse_zones(Story *self, const char *text, const StringMap **maps)
{
    g_auto(GStrv) zones = g_strsplit(text, ",", MAPS_MAX);
    unsigned n = g_strv_length(zones);

    for (unsigned i = 0; i < n; i++)
        maps[i] = zone_map(self, zones[i]);
    return n;
}

static void
draft_source(Story *self, CsiRequest *request, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);

    request->source_kind =
        strcmp(parts[0], "snapshot") == 0 ? CSI_SOURCE_SNAPSHOT : CSI_SOURCE_VOLUME;
    request->source_id = intern(self, parts[1]);
}

static void
draft_flag(Story *self, Draft *draft, const char *word)
{
    if (strcmp(word, "block") == 0)
        draft->capability.type = CSI_ACCESS_BLOCK;
    else if (strcmp(word, "ro") == 0)
        draft->request.readonly = TRUE;
    else if (strcmp(word, "secrets") == 0)
        draft->request.has_secrets = TRUE;
    else if (strcmp(word, "inline") == 0)
        draft->request.volume_context = pair_map(self, "csi.storage.k8s.io/ephemeral", "true");
    else
        STORY_FAIL(self, "no word %s", word);
}

static void
draft_word(Story *self, Draft *draft, const char *key, const char *value)
{
    CsiRequest *request = &draft->request;

    if (strcmp(key, "limit") == 0)
        request->limit_bytes = parse_size(value);
    else if (strcmp(key, "mode") == 0 && strcmp(value, "-") == 0)
        request->n_capabilities = 0;
    else if (strcmp(key, "mode") == 0)
        draft->capability.mode = parse_mode(value);
    else if (strcmp(key, "fs") == 0)
        draft->capability.fs_type = intern(self, value);
    else if (strcmp(key, "requisite") == 0)
        request->n_requisite = parse_zones(self, value, draft->requisite);
    else if (strcmp(key, "zones") == 0)
        request->n_requisite = parse_zones(self, value, draft->requisite),
        request->n_preferred = parse_zones(self, value, draft->preferred);
    else if (strcmp(key, "from") == 0)
        draft_source(self, request, value);
    else if (strcmp(key, "parameter") == 0)
        request->parameters = parse_pair(self, value);
    else if (strcmp(key, "mutable") == 0)
        request->mutable_parameters = parse_pair(self, value);
    else if (strcmp(key, "path") == 0)
        request->staging_path = intern(self, value);
    else if (strcmp(key, "target") == 0)
        request->target_path = intern(self, value);
    else if (strcmp(key, "max") == 0)
        request->max_entries = (unsigned)parse_int(value);
    else if (strcmp(key, "token") == 0)
        request->starting_token =
            strcmp(value, "next") == 0 ? self->last->next_token : intern(self, value);
    else if (strcmp(key, "source") == 0)
        request->volume_id = intern(self, value);
    else if (strcmp(key, "id") == 0)
        request->snapshot_id = intern(self, value);
    else if (strcmp(key, "timeout") == 0)
        request->timeout_ns = parse_time(value);
    else
        STORY_FAIL(self, "no word %s", key);
}

/* The next argument that is not a word of the form key=value, or NULL. */
static const char *
next_argument(char **words, unsigned *i)
{
    if (words[*i] == NULL || strchr(words[*i], '=') != NULL || words[*i][0] == '>')
        return NULL;
    return words[(*i)++];
}

static void
draft_arguments(Story *self, Draft *draft, unsigned takes, char **words, unsigned *i)
{
    CsiRequest *request = &draft->request;

    if ((takes & TAKES_NAME) != 0)
        request->name = intern(self, next_argument(words, i));
    if ((takes & TAKES_SNAPSHOT) != 0)
        request->snapshot_id = intern(self, next_argument(words, i));
    if ((takes & TAKES_VOLUME) != 0)
        request->volume_id = intern(self, next_argument(words, i));
    if ((takes & TAKES_NODE) != 0)
        request->served_by = intern(self, next_argument(words, i));
    if ((takes & TAKES_NODE_ID) != 0) {
        const char *node = next_argument(words, i);
        if (node != NULL && strcmp(node, "-") != 0)
            request->node_id = strings_internf(self->strings, "id-%s", node);
    }
    if ((takes & TAKES_SIZE) != 0 && words[*i] != NULL &&
        (g_ascii_isdigit(words[*i][0]) || words[*i][0] == '-'))
        request->required_bytes = parse_size(next_argument(words, i));
    draft->capability.mode = CSI_SINGLE_NODE_WRITER;
    request->capabilities = &draft->capability;
    request->n_capabilities = (takes & TAKES_CAPABILITY) != 0;
    request->requisite = draft->requisite;
    request->preferred = draft->preferred;
    if ((takes & TAKES_STAGING) != 0)
        request->staging_path = strings_intern(self->strings, "/staging");
    if ((takes & TAKES_TARGET) != 0)
        request->target_path = strings_intern(self->strings, "/target");
}

static CsiCode
draft_words(Story *self, Draft *draft, char **words, unsigned i)
{
    CsiCode expected = CSI_OK;

    for (; words[i] != NULL; i++) {
        g_auto(GStrv) parts = g_strsplit(words[i], "=", 2);
        if (words[i][0] == '>')
            expected = parse_code(words[i] + 1);
        else if (parts[1] != NULL)
            draft_word(self, draft, parts[0], parts[1]);
        else
            draft_flag(self, draft, words[i]);
    }
    return expected;
}

static gboolean
tell_call(Story *self, const char *verb, char **words)
{
    gboolean in_background = verb[0] == '&';
    unsigned row = 0;

    while (row < G_N_ELEMENTS(verbs) && strcmp(verbs[row].verb, verb + in_background) != 0)
        row++;
    if (row == G_N_ELEMENTS(verbs))
        return FALSE;

    Draft draft = {.request.method = verbs[row].method};
    unsigned i = 1;
    draft_arguments(self, &draft, verbs[row].takes, words, &i);
    StoryCall *call = g_new0(StoryCall, 1);
    call->story = self;
    call->step = g_strdup(self->step);
    call->started_at = sim_now(self->sim);
    call->expected = draft_words(self, &draft, words, i);
    g_ptr_array_add(self->calls, call);
    csi_driver_call(csi_modelled_driver_base(self->driver), &draft.request, replied, call);
    assert_false(call->done); /* never from inside */
    while (!in_background && !call->done)
        assert_true(sim_step(self->sim));
    return TRUE;
}

/* Checks */

static void
expect_number(Story *self, int64_t is, int64_t expected)
{
    if (is != expected)
        STORY_FAIL(self, "is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT, is, expected);
}

static void
expect_text(Story *self, const char *is, const char *expected)
{
    if (g_strcmp0(is, strcmp(expected, "-") == 0 ? NULL : expected) != 0)
        STORY_FAIL(self, "is %s, expected %s", is != NULL ? is : "nothing", expected);
}

static gboolean
check_answer(Story *self, const char *verb, char **words)
{
    const CsiResponse *last = self->last;

    if (last == NULL || words[1] == NULL)
        return FALSE;
    if (strcmp(verb, "size") == 0)
        expect_number(self, last->capacity_bytes, parse_size(words[1]));
    else if (strcmp(verb, "id") == 0)
        expect_text(self, last->volume_id, words[1]);
    else if (strcmp(verb, "took") == 0)
        expect_number(self, self->last_took, parse_time(words[1]));
    else if (strcmp(verb, "entries") == 0)
        expect_number(self, last->n_entries, parse_int(words[1]));
    else if (strcmp(verb, "next") == 0)
        expect_text(self, last->next_token, words[1]);
    else if (strcmp(verb, "in") == 0)
        expect_text(self,
                    last->n_accessible_topology == 0
                        ? NULL
                        : string_map_get(last->accessible_topology[0], "zone"),
                    words[1]);
    else if (strcmp(verb, "available") == 0)
        expect_number(self, last->available_bytes, parse_size(words[1]));
    else if (strcmp(verb, "total") == 0)
        expect_number(self, last->total_bytes, parse_size(words[1]));
    else if (strcmp(verb, "largest") == 0)
        expect_number(self, last->maximum_volume_bytes, parse_size(words[1]));
    else if (strcmp(verb, "ready") == 0)
        expect_number(self, last->ready || last->ready_to_use, parse_int(words[1]));
    else if (strcmp(verb, "confirmed") == 0)
        expect_number(self, last->confirmed, parse_int(words[1]));
    else if (strcmp(verb, "node-expansion") == 0)
        expect_number(self, last->node_expansion_required, parse_int(words[1]));
    else if (strcmp(verb, "max-volumes") == 0)
        expect_number(self, last->max_volumes_per_node, parse_int(words[1]));
    else if (strcmp(verb, "source") == 0)
        expect_text(self, last->source_id, words[1]);
    else
        return FALSE;
    return TRUE;
}

static gboolean
check_back_end(Story *self, const char *verb, char **words)
{
    CsiModelledDriver *driver = self->driver;
    const char *a = words[1];
    const char *b = a == NULL ? NULL : words[2];

    if (strcmp(verb, "volumes") == 0)
        expect_number(self, csi_modelled_driver_n_volumes(driver), parse_int(a));
    else if (strcmp(verb, "snapshots-left") == 0)
        expect_number(self, csi_modelled_driver_n_snapshots(driver), parse_int(a));
    else if (strcmp(verb, "used") == 0)
        expect_number(self, csi_modelled_driver_used_bytes(driver), parse_size(a));
    else if (strcmp(verb, "published") == 0)
        expect_number(self, csi_modelled_driver_n_published(driver, intern(self, a)), parse_int(b));
    else if (strcmp(verb, "staged") == 0)
        expect_number(self, csi_modelled_driver_is_staged(driver, intern(self, a), intern(self, b)),
                      parse_int(words[3]));
    else if (strcmp(verb, "targets") == 0)
        expect_number(self, csi_modelled_driver_n_targets(driver, intern(self, a), intern(self, b)),
                      parse_int(words[3]));
    else
        return FALSE;
    return TRUE;
}

static void
nothing(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

/* The clock stops at the last event: so there is one. */
static void
run_until(Story *self, SimTime end)
{
    static const SimEventType event = {.name = "story/until", .fire = nothing};

    sim_at(self->sim, end, &event, NULL, 0);
    sim_run_until(self->sim, end);
}

static gboolean
tell_other(Story *self, const char *verb, char **words)
{
    if (strcmp(verb, "join") == 0)
        join(self);
    else if (strcmp(verb, "until") == 0)
        run_until(self, parse_time(words[1]));
    else if (strcmp(verb, "remove-node") == 0)
        csi_modelled_driver_remove_node(self->driver, intern(self, words[1]));
    else if (strcmp(verb, "reboot") == 0)
        csi_modelled_driver_reboot_node(self->driver, intern(self, words[1]));
    else if (strcmp(verb, "abnormal") == 0)
        assert_true(csi_modelled_driver_set_condition(self->driver, intern(self, words[1]), TRUE,
                                                      "disk is on fire"));
    else if (strcmp(verb, "fail") == 0) {
        CsiModelledError error = {
            .method = parse_method(words[1]), .code = parse_code(words[2]), .probability = 1};
        error.count = words[3] == NULL ? 0 : (unsigned)parse_int(words[3]);
        csi_modelled_driver_set_errors(self->driver, &error, 1);
    } else
        return FALSE;
    return TRUE;
}

static char **
split_words(const char *step)
{
    g_autofree char *copy = g_strstrip(g_strdup(step));
    g_auto(GStrv) parts = g_strsplit(copy, " ", -1);
    GStrvBuilder *builder = g_strv_builder_new();

    for (unsigned i = 0; parts[i] != NULL; i++)
        if (parts[i][0] != '\0')
            g_strv_builder_add(builder, parts[i]);
    char **words = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return words;
}

void
story_tell(Story *self, const char *title, const char *steps)
{
    g_auto(GStrv) list = g_strsplit(steps, ";", -1);

    self->title = title;
    for (unsigned i = 0; list[i] != NULL; i++) {
        g_auto(GStrv) words = split_words(list[i]);
        if (words[0] == NULL)
            continue;
        self->step = list[i];
        if (!tell_call(self, words[0], words) && !check_answer(self, words[0], words) &&
            !check_back_end(self, words[0], words) && !tell_other(self, words[0], words))
            STORY_FAIL(self, "no such step");
    }
    self->title = self->step = "";
}
