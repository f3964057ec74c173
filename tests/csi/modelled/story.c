/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/csi/modelled/modelled-test.h"
#include "story-private.h"

#include <stdlib.h>
#include <string.h>

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

DriverStory *
story_new(const char *options)
{
    DriverStory *self = g_new0(DriverStory, 1);
    CsiModelledOptions driver_options;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = g_strsplit(options, " ", -1);

    self->sim = sim_new(&(SimOptions){.seed = seed_of(options)});
    self->strings = strings_new();
    self->dists = g_ptr_array_new_with_free_func(dist_free);
    self->maps = g_ptr_array_new_with_free_func(map_free);
    self->lists = g_ptr_array_new_with_free_func((GDestroyNotify)string_list_unref);
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
            story_apply_option(self, &driver_options, words[i]);
    driver_options.errors = (const CsiModelledError *)self->errors->data;
    driver_options.n_errors = self->errors->len;
    driver_options.limits = (const CsiModelledLimit *)self->limits->data;
    driver_options.n_limits = self->limits->len;
    driver_options.pools = (const CsiModelledPool *)self->pools->data;
    driver_options.n_pools = self->pools->len;
    self->driver = csi_modelled_driver_new(self->sim, self->strings, &driver_options, &error);
    string_list_unref((StringList *)driver_options.volume_keys);
    string_list_unref((StringList *)driver_options.mutable_keys);
    if (self->driver == NULL)
        fail_msg("%s", error->message);
    csi_modelled_driver_add_node(self->driver, story_intern(self, "n1"),
                                 story_intern(self, "id-n1"), story_zone_map(self, "a+linux"));
    csi_modelled_driver_add_node(self->driver, story_intern(self, "n2"),
                                 story_intern(self, "id-n2"), story_zone_map(self, "b+linux"));
    return self;
}

void
story_free(DriverStory *self)
{
    if (self == NULL)
        return;
    csi_driver_free(csi_modelled_driver_base(self->driver));
    csi_response_free(sim_memory(self->sim), self->last);
    g_ptr_array_unref(self->calls);
    g_ptr_array_unref(self->maps);
    g_ptr_array_unref(self->lists);
    g_ptr_array_unref(self->dists);
    g_array_unref(self->errors);
    g_array_unref(self->limits);
    g_array_unref(self->pools);
    strings_free(self->strings);
    sim_free(self->sim);
    g_free(self);
}

CsiModelledDriver *
story_driver(DriverStory *self)
{
    return self->driver;
}

Sim *
story_sim(DriverStory *self)
{
    return self->sim;
}

Strings *
story_strings(DriverStory *self)
{
    return self->strings;
}

/* Calls */

static void
replied(void *data, const CsiResponse *response)
{
    StoryCall *call = data;
    DriverStory *self = call->story;

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
join(DriverStory *self)
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
    TAKES_VOLUMES = 1 << 9,
    TAKES_GROUP = 1 << 10, /* its id, and its snapshots */
} DraftFields;

/* clang-format off */
/* Arguments come in this order: name, group, snapshot, volume, node, size; lists as "a,b". */
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
    {"group-capabilities",      CSI_GROUP_CONTROLLER_GET_CAPABILITIES, 0},
    {"group",                   CSI_CREATE_VOLUME_GROUP_SNAPSHOT, TAKES_NAME | TAKES_VOLUMES},
    {"delete-group",            CSI_DELETE_VOLUME_GROUP_SNAPSHOT, TAKES_GROUP},
    {"get-group",               CSI_GET_VOLUME_GROUP_SNAPSHOT,    TAKES_GROUP},
};
/* clang-format on */

static unsigned
parse_zones(DriverStory *self, const char *text, const StringMap **maps)
{
    g_auto(GStrv) zones = g_strsplit(text, ",", MAPS_MAX);
    unsigned n = g_strv_length(zones);

    for (unsigned i = 0; i < n; i++)
        maps[i] = story_zone_map(self, zones[i]);
    return n;
}

static void
draft_source(DriverStory *self, CsiRequest *request, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);

    request->source_kind =
        strcmp(parts[0], "snapshot") == 0 ? CSI_SOURCE_SNAPSHOT : CSI_SOURCE_VOLUME;
    request->source_id = story_intern(self, parts[1]);
}

static void
draft_flag(DriverStory *self, Draft *draft, const char *word)
{
    if (strcmp(word, "block") == 0)
        draft->capability.type = CSI_ACCESS_BLOCK;
    else if (strcmp(word, "ro") == 0)
        draft->request.readonly = TRUE;
    else if (strcmp(word, "secrets") == 0)
        draft->request.has_secrets = TRUE;
    else if (strcmp(word, "inline") == 0)
        draft->request.volume_context =
            story_pair_map(self, "csi.storage.k8s.io/ephemeral", "true");
    else
        STORY_FAIL(self, "no word %s", word);
}

static void
draft_word(DriverStory *self, Draft *draft, const char *key, const char *value)
{
    CsiRequest *request = &draft->request;

    if (strcmp(key, "limit") == 0)
        request->limit_bytes = story_parse_size(value);
    else if (strcmp(key, "mode") == 0 && strcmp(value, "-") == 0)
        request->n_capabilities = 0;
    else if (strcmp(key, "mode") == 0)
        draft->capability.mode = story_parse_mode(value);
    else if (strcmp(key, "fs") == 0)
        draft->capability.fs_type = story_intern(self, value);
    else if (strcmp(key, "requisite") == 0)
        request->n_requisite = parse_zones(self, value, draft->requisite);
    else if (strcmp(key, "zones") == 0)
        request->n_requisite = parse_zones(self, value, draft->requisite),
        request->n_preferred = parse_zones(self, value, draft->preferred);
    else if (strcmp(key, "from") == 0)
        draft_source(self, request, value);
    else if (strcmp(key, "parameter") == 0)
        request->parameters = story_parse_pair(self, value);
    else if (strcmp(key, "mutable") == 0)
        request->mutable_parameters = story_parse_pair(self, value);
    else if (strcmp(key, "path") == 0)
        request->staging_path = story_intern(self, value);
    else if (strcmp(key, "target") == 0)
        request->target_path = story_intern(self, value);
    else if (strcmp(key, "max") == 0)
        request->max_entries = (unsigned)story_parse_int(value);
    else if (strcmp(key, "token") == 0)
        request->starting_token =
            strcmp(value, "next") == 0 ? self->last->next_token : story_intern(self, value);
    else if (strcmp(key, "source") == 0)
        request->volume_id = story_intern(self, value);
    else if (strcmp(key, "id") == 0)
        request->snapshot_id = story_intern(self, value);
    else if (strcmp(key, "timeout") == 0)
        request->timeout_ns = story_parse_time(value);
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

/* Returns: (borrowed): NULL: there is no such argument */
static const StringList *
next_list(DriverStory *self, char **words, unsigned *i)
{
    const char *text = next_argument(words, i);
    g_auto(GStrv) items = g_strsplit(text == NULL ? "" : text, ",", -1);

    for (unsigned k = 0; text != NULL && items[k] != NULL; k++) {
        const char *item = story_intern(self, items[k]);
        g_free(items[k]);
        items[k] = (char *)item; /* only read */
    }
    StringList *list =
        text == NULL ? NULL : string_list_new((const char *const *)items, g_strv_length(items));
    if (text != NULL)
        items[0] = NULL;
    if (list != NULL)
        g_ptr_array_add(self->lists, list);
    return list;
}

static void
draft_arguments(DriverStory *self, Draft *draft, unsigned takes, char **words, unsigned *i)
{
    CsiRequest *request = &draft->request;

    if ((takes & TAKES_NAME) != 0)
        request->name = story_intern(self, next_argument(words, i));
    if ((takes & TAKES_VOLUMES) != 0)
        request->volume_ids = next_list(self, words, i);
    if ((takes & TAKES_GROUP) != 0) {
        request->group_snapshot_id = story_intern(self, next_argument(words, i));
        request->snapshot_ids = next_list(self, words, i);
    }
    if ((takes & TAKES_SNAPSHOT) != 0)
        request->snapshot_id = story_intern(self, next_argument(words, i));
    if ((takes & TAKES_VOLUME) != 0)
        request->volume_id = story_intern(self, next_argument(words, i));
    if ((takes & TAKES_NODE) != 0)
        request->served_by = story_intern(self, next_argument(words, i));
    if ((takes & TAKES_NODE_ID) != 0) {
        const char *node = next_argument(words, i);
        if (node != NULL && strcmp(node, "-") != 0)
            request->node_id = strings_internf(self->strings, "id-%s", node);
    }
    if ((takes & TAKES_SIZE) != 0 && words[*i] != NULL &&
        (g_ascii_isdigit(words[*i][0]) || words[*i][0] == '-'))
        request->required_bytes = story_parse_size(next_argument(words, i));
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
draft_words(DriverStory *self, Draft *draft, char **words, unsigned i)
{
    CsiCode expected = CSI_OK;

    for (; words[i] != NULL; i++) {
        g_auto(GStrv) parts = g_strsplit(words[i], "=", 2);
        if (words[i][0] == '>')
            expected = story_parse_code(words[i] + 1);
        else if (parts[1] != NULL)
            draft_word(self, draft, parts[0], parts[1]);
        else
            draft_flag(self, draft, words[i]);
    }
    return expected;
}

static gboolean
tell_call(DriverStory *self, const char *verb, char **words)
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
    assert_false(call->done); /* never within csi_driver_call() */
    while (!in_background && !call->done)
        assert_true(sim_step(self->sim));
    return TRUE;
}

/* Checks */

static void
expect_number(DriverStory *self, int64_t is, int64_t expected)
{
    if (is != expected)
        STORY_FAIL(self, "is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT, is, expected);
}

static void
story_expect_text(DriverStory *self, const char *is, const char *expected)
{
    if (g_strcmp0(is, strcmp(expected, "-") == 0 ? NULL : expected) != 0)
        STORY_FAIL(self, "is %s, expected %s", is != NULL ? is : "nothing", expected);
}

static gboolean
check_answer(DriverStory *self, const char *verb, char **words)
{
    const CsiResponse *last = self->last;

    if (last == NULL || words[1] == NULL)
        return FALSE;
    if (strcmp(verb, "size") == 0)
        expect_number(self, last->capacity_bytes, story_parse_size(words[1]));
    else if (strcmp(verb, "id") == 0)
        story_expect_text(self, last->volume_id, words[1]);
    else if (strcmp(verb, "took") == 0)
        expect_number(self, self->last_took, story_parse_time(words[1]));
    else if (strcmp(verb, "entries") == 0)
        expect_number(self, last->n_entries, story_parse_int(words[1]));
    else if (strcmp(verb, "next") == 0)
        story_expect_text(self, last->next_token, words[1]);
    else if (strcmp(verb, "in") == 0)
        story_expect_text(self,
                          last->n_accessible_topology == 0
                              ? NULL
                              : string_map_get(last->accessible_topology[0], "zone"),
                          words[1]);
    else if (strcmp(verb, "available") == 0)
        expect_number(self, last->available_bytes, story_parse_size(words[1]));
    else if (strcmp(verb, "total") == 0)
        expect_number(self, last->total_bytes, story_parse_size(words[1]));
    else if (strcmp(verb, "written") == 0)
        expect_number(self, last->used_bytes, story_parse_size(words[1]));
    else if (strcmp(verb, "inodes") == 0)
        expect_number(self, last->used_inodes, story_parse_int(words[1]));
    else if (strcmp(verb, "largest") == 0)
        expect_number(self, last->maximum_volume_bytes, story_parse_size(words[1]));
    else if (strcmp(verb, "ready") == 0)
        expect_number(self, last->ready || last->ready_to_use, story_parse_int(words[1]));
    else if (strcmp(verb, "confirmed") == 0)
        expect_number(self, last->confirmed, story_parse_int(words[1]));
    else if (strcmp(verb, "node-expansion") == 0)
        expect_number(self, last->node_expansion_required, story_parse_int(words[1]));
    else if (strcmp(verb, "max-volumes") == 0)
        expect_number(self, last->max_volumes_per_node, story_parse_int(words[1]));
    else if (strcmp(verb, "source") == 0)
        story_expect_text(self, last->source_id, words[1]);
    else
        return FALSE;
    return TRUE;
}

static gboolean
check_back_end(DriverStory *self, const char *verb, char **words)
{
    CsiModelledDriver *driver = self->driver;
    const char *a = words[1];
    const char *b = a == NULL ? NULL : words[2];

    if (strcmp(verb, "volumes") == 0)
        expect_number(self, csi_modelled_driver_n_volumes(driver), story_parse_int(a));
    else if (strcmp(verb, "snapshots-left") == 0)
        expect_number(self, csi_modelled_driver_n_snapshots(driver), story_parse_int(a));
    else if (strcmp(verb, "used") == 0)
        expect_number(self, csi_modelled_driver_used_bytes(driver), story_parse_size(a));
    else if (strcmp(verb, "published") == 0)
        expect_number(self, csi_modelled_driver_n_published(driver, story_intern(self, a)),
                      story_parse_int(b));
    else if (strcmp(verb, "staged") == 0)
        expect_number(
            self,
            csi_modelled_driver_is_staged(driver, story_intern(self, a), story_intern(self, b)),
            story_parse_int(words[3]));
    else if (strcmp(verb, "targets") == 0)
        expect_number(
            self,
            csi_modelled_driver_n_targets(driver, story_intern(self, a), story_intern(self, b)),
            story_parse_int(words[3]));
    else
        return FALSE;
    return TRUE;
}

static void
modelled_story_nothing(Sim *sim, void *data)
{
    (void)sim;
    (void)data;
}

/* The clock stops at the last event: so there is one. */
static void
story_run_until(DriverStory *self, SimTime end)
{
    static const SimEventType event = {.name = "story/until", .fire = modelled_story_nothing};

    sim_at(self->sim, end, &event, NULL, 0);
    sim_run_until(self->sim, end);
}

static gboolean
tell_other(DriverStory *self, const char *verb, char **words)
{
    if (strcmp(verb, "join") == 0)
        join(self);
    else if (strcmp(verb, "until") == 0)
        story_run_until(self, story_parse_time(words[1]));
    else if (strcmp(verb, "reboot") == 0)
        csi_modelled_driver_reboot_node(self->driver, story_intern(self, words[1]));
    else if (strcmp(verb, "abnormal") == 0)
        assert_true(csi_modelled_driver_set_condition(self->driver, story_intern(self, words[1]),
                                                      TRUE, "disk is on fire"));
    else if (strcmp(verb, "fail") == 0) {
        CsiModelledError error = {.method = story_parse_method(words[1]),
                                  .code = story_parse_code(words[2]),
                                  .probability = 1};
        error.count = words[3] == NULL ? 0 : (unsigned)story_parse_int(words[3]);
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
story_tell(DriverStory *self, const char *title, const char *steps)
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
