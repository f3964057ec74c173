/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time, luck and callers of the modelled driver: limits, deadlines, death, injected errors, draws,
 * observers. */
#include "models/csi/csi-backend.h"
#include "models/csi/csi-test.h"
#include "models/csi/modelled/modelled-test.h"
#include "sim/sim-test.h"
#include "story.h"
#include "tests/lib/test.h"

#include <string.h>

typedef struct {
    const char *name, *options, *steps;
} DriverStoryCase;

#define FOUR_CREATES "&create a; &create b; &create c; create d; "

/* clang-format off */
static const DriverStoryCase cases[] = {
    /* Latency */
    {"a call takes its latency", "latency=CreateVolume:1s", "create v; took 1s; delete v; took 0s"},
    {"a repeat takes as long", "latency=CreateVolume:1s", "create v; create v; took 1s"},
    {"a repeat may be faster", "latency=CreateVolume:1s latency=Repeat:50ms", "create v; took 1s; create v; took 50ms"},
    {"a refusal comes at once", "latency=CreateVolume:1s", "create -  >INVALID_ARGUMENT; took 0s"},
    {"a refusal may take time", "latency=Refusal:20ms", "create - >INVALID_ARGUMENT; took 20ms"},
    {"a copy has its own latency", "clone latency=CreateVolume:1s latency=CreateVolumeFromSnapshot:5s latency=CreateVolumeFromVolume:7s",
     "create v; snapshot s v; create w from=snapshot:s; took 5s; create x from=volume:v; took 7s"},
    {"only the first stage formats", "latency=NodeStageVolume:2s latency=NodeStageVolumeFormatted:100ms",
     "create v; attach v n1; stage v n1; took 2s; unstage v n1; stage v n1; took 100ms"},
    /* Limits */
    {"one at a time", "latency=CreateVolume:1s limit=concurrent=1", FOUR_CREATES "took 4s; join"},
    {"two at a time", "latency=CreateVolume:1s limit=concurrent=2", FOUR_CREATES "took 2s; join"},
    {"a rate", "latency=CreateVolume:1s limit=qps=2:burst=1", FOUR_CREATES "took 2500ms; join"},
    {"a rate with a burst", "latency=CreateVolume:1s limit=qps=2:burst=3", FOUR_CREATES "took 1500ms; join"},
    {"a rate and servers", "latency=CreateVolume:1s limit=qps=2:burst=1:concurrent=1", FOUR_CREATES "took 4s; join"},
    {"a limit of one method", "latency=CreateVolume:1s latency=DeleteVolume:1s limit=DeleteVolume:concurrent=1",
     FOUR_CREATES "took 1s; join; &delete a; delete b; took 2s; join"},
    {"limits spare the node plugin", "latency=NodeStageVolume:1s no-attach limit=concurrent=1",
     "create v; create w; &stage v n1; stage w n1; took 1s; join"},
    {"limits spare what the driver knows itself", "latency=CreateVolume:1s limit=concurrent=1",
     "&create v; controller-capabilities; took 0s; probe; took 0s; join"},
    {"a limit per node", "latency=ControllerPublishVolume:1s limit=ControllerPublishVolume:node:concurrent=1",
     "create v; create w; create x; &attach v n1; &attach w n2; attach x n1; took 2s; join"},
    {"a rate per node", "limit=ControllerPublishVolume:node:qps=1:burst=1",
     "create v; create w; create x; &attach v n1; &attach w n2; attach x n1; took 1s; join"},
    {"two limits", "latency=ControllerPublishVolume:1s limit=ControllerPublishVolume:node:concurrent=1 limit=concurrent=2",
     "create v; create w; create x; create y; &attach v n1; &attach w n1; &attach x n2; attach y n2; took 2s; join"},
    {"a refusal takes no server", "latency=CreateVolume:1s limit=concurrent=1", "&create v; create - >INVALID_ARGUMENT; took 0s; join"},
    /* Calls that slow each other down */
    {"alone it takes as long as ever", "latency=CreateVolume:1s slowdown=CreateVolume:1", "create a; took 1s; create b; took 1s"},
    {"four share a machine", "latency=CreateVolume:1s slowdown=CreateVolume:1", FOUR_CREATES "took 4s; join; create e; took 1s"},
    {"four share two", "latency=CreateVolume:1s slowdown=CreateVolume:0.5", FOUR_CREATES "took 2s; join"},
    {"four share what two have to themselves", "latency=CreateVolume:1s slowdown=CreateVolume:1:2", FOUR_CREATES "took 2s; join"},
    {"four have enough", "latency=CreateVolume:1s slowdown=CreateVolume:1:4", FOUR_CREATES "took 1s; join"},
    {"four are in nobody's way", "latency=CreateVolume:1s slowdown=DeleteVolume:1", FOUR_CREATES "took 1s; join"},
    {"in company it goes faster", "latency=CreateVolume:1s slowdown=CreateVolume:-0.5", FOUR_CREATES "took 500ms; join"},
    /* a has half of its work left when b comes, and b half when a has gone */
    {"who comes later", "latency=CreateVolume:1s slowdown=CreateVolume:1", "&create a; until 500ms; create b; took 1500ms; join"},
    {"who goes sooner", "latency=CreateVolume:1s latency=DeleteVolume:2s slowdown=DeleteVolume:1",
     "create a; &create b; delete a; took 2500ms; join"},
    {"with others, by its own exponent", "latency=CreateVolume:1s latency=DeleteVolume:1s slowdown=CreateVolume:1 slowdown=DeleteVolume:2",
     "create a; &create b; delete a; took 2500ms; join"},
    {"who waits for a server is in nobody's way", "latency=CreateVolume:1s slowdown=CreateVolume:1 limit=concurrent=2", FOUR_CREATES "took 4s; join"},
    {"who gives up is in nobody's way any more", "aborts latency=CreateVolume:2s slowdown=CreateVolume:1",
     "&create v timeout=1s >DEADLINE_EXCEEDED; create w; took 2500ms; join; volumes 1"},
    {"the copies have a slowdown of their own", "clone latency=CreateVolume:1s latency=CreateVolumeFromVolume:1s slowdown=CreateVolumeFromVolume:1",
     "create v; create x; &create w from=volume:v; create y from=volume:x; took 2s; join"},
    /* Deadlines */
    {"CSI-5 what is made for nobody stays", "latency=CreateVolume:25s",
     "create v timeout=10s >DEADLINE_EXCEEDED; took 10s; volumes 0; create v timeout=10s >ABORTED; until 25s; volumes 1; create v timeout=30s; took 25s; volumes 1"},
    {"a deadline that is not met", "latency=CreateVolume:1s", "create v timeout=10s; took 1s; until 20s; volumes 1"},
    {"a driver that gives up with its caller", "aborts latency=CreateVolume:25s",
     "create v timeout=10s >DEADLINE_EXCEEDED; took 10s; until 60s; volumes 0; create v timeout=30s; took 25s"},
    {"giving up frees the server", "aborts latency=CreateVolume:25s limit=concurrent=1",
     "&create v timeout=10s >DEADLINE_EXCEEDED; create w; took 35s; join; volumes 1"},
    {"giving up in the queue", "aborts latency=CreateVolume:25s limit=concurrent=1",
     "&create v; &create w timeout=10s >DEADLINE_EXCEEDED; create x; took 50s; join; volumes 2"},
    {"giving up while waiting for a token", "aborts latency=CreateVolume:1s limit=qps=0.1:burst=1",
     "&create v; create w timeout=5s >DEADLINE_EXCEEDED; join; until 60s; volumes 1"},
    {"the queue goes on for nobody", "latency=CreateVolume:25s limit=concurrent=1",
     "&create v; create w timeout=10s >DEADLINE_EXCEEDED; join; until 60s; volumes 2"},
    /* Errors */
    {"an error, after the latency", "latency=CreateVolume:1s error=CreateVolume:INTERNAL",
     "create v >INTERNAL; took 1s; volumes 0; delete v"},
    {"the first three", "error=CreateVolume:INTERNAL:count=3",
     "create a >INTERNAL; create b >INTERNAL; create a >INTERNAL; create a; create c; volumes 2"},
    {"the first two of each volume", "error=CreateVolume:INTERNAL:count=2:volume",
     "create a >INTERNAL; create b >INTERNAL; create a >INTERNAL; create a; create b >INTERNAL; create b; volumes 2"},
    {"any method", "error=any:UNAVAILABLE:count=2", "create a >UNAVAILABLE; probe >UNAVAILABLE; probe"},
    {"a zone", "error=CreateVolume:RESOURCE_EXHAUSTED:zone=a", "create v zones=a,b >RESOURCE_EXHAUSTED; create v zones=b,a; create w requisite=a; create x"},
    {"a node", "error=ControllerPublishVolume:INTERNAL:node=n2", "create v mode=RWX; attach v n1 mode=RWX; attach v n2 mode=RWX >INTERNAL"},
    {"a node plugin", "error=NodeStageVolume:INTERNAL:node=n2 no-attach", "create v; stage v n1; stage v n2 >INTERNAL"},
    {"a time", "error=CreateVolume:UNAVAILABLE:from=10s:until=20s", "create a; until 10s; create b >UNAVAILABLE; until 20s; create b"},
    {"the first that applies", "error=CreateVolume:INTERNAL:count=1 error=CreateVolume:UNAVAILABLE:count=1", "create a >INTERNAL; create a >UNAVAILABLE; create a"},
    {"done, but told otherwise", "error=CreateVolume:INTERNAL:count=1:effect", "create v >INTERNAL; volumes 1; create v; volumes 1"},
    {"its own latency", "latency=CreateVolume:10s error=CreateVolume:UNAVAILABLE:latency=5ms", "create v >UNAVAILABLE; took 5ms"},
    {"changed while running", "latency=CreateVolume:1s", "create a; fail CreateVolume INTERNAL 1; create b >INTERNAL; create b; fail DeleteVolume ABORTED; delete b >ABORTED"},
    {"a call in flight keeps its luck", "latency=CreateVolume:1s error=CreateVolume:INTERNAL", "&create a >INTERNAL; fail DeleteVolume INTERNAL; join; volumes 0; create a"},
    {"CSI-46 what only an error gives", "error=CreateVolume:PERMISSION_DENIED:count=1 error=Probe:FAILED_PRECONDITION", "create v >PERMISSION_DENIED; probe >FAILED_PRECONDITION"},
};
/* clang-format on */

static void
driver_holds(void **state)
{
    const DriverStoryCase *story_case = *state;
    g_autoptr(DriverStory) story = story_new(story_case->options);

    story_tell(story, story_case->name, story_case->steps);
}
TEST_ROWS(cases, driver_holds);

/* The calls that an observer saw: "CreateVolume v 0s-1s OK" and so on. */
static void
driver_add_line(
    GString *log, const char *moment, const CsiCallRecord *record, CsiCode code, SimTime at)
{
    char buffer[SIM_TIME_BUFFER];
    const CsiRequest *request = record->request;

    g_string_append_printf(log, "%s %s %s %s %s\n", moment, csi_method_name(request->method),
                           request->name != NULL ? request->name : request->volume_id,
                           csi_code_name(code), sim_time_format(at, buffer));
}

static void
note_start(void *log, const CsiCallRecord *record)
{
    driver_add_line(log, "start", record, CSI_OK, record->started_at);
}

static void
note_answer(void *log, const CsiCallRecord *record)
{
    driver_add_line(log, "answer", record, record->answer, record->answered_at);
}

static void
note_end(void *log, const CsiCallRecord *record)
{
    driver_add_line(log, "end", record, record->response->code, record->ended_at);
}

static void
driver_observe(DriverStory *story, GString *log)
{
    csi_driver_add_observer(csi_modelled_driver_base(story_driver(story)),
                            &(CsiObserver){note_start, note_answer, note_end, log});
}

TEST(observers_see_both_ends)
{
    g_autoptr(DriverStory) story = story_new("latency=CreateVolume:3s latency=DeleteVolume:1s");
    g_autoptr(GString) log = g_string_new(NULL);

    driver_observe(story, log);
    story_tell(story, "observers", "create v timeout=2s >DEADLINE_EXCEEDED; until 4s; delete v");
    assert_string_equal(log->str, "start CreateVolume v OK 0s\n"
                                  "answer CreateVolume v DEADLINE_EXCEEDED 2s\n"
                                  "end CreateVolume v OK 3s\n"
                                  "start DeleteVolume v OK 4s\n"
                                  "answer DeleteVolume v OK 5s\n"
                                  "end DeleteVolume v OK 5s\n");
}

TEST(aborted_calls_end_with_their_caller)
{
    g_autoptr(DriverStory) story = story_new("aborts latency=CreateVolume:3s");
    g_autoptr(GString) log = g_string_new(NULL);

    driver_observe(story, log);
    story_tell(story, "aborts", "create v timeout=2s >DEADLINE_EXCEEDED");
    assert_string_equal(log->str, "start CreateVolume v OK 0s\n"
                                  "answer CreateVolume v DEADLINE_EXCEEDED 2s\n"
                                  "end CreateVolume v CANCELLED 2s\n");
}

static void
count_reply(void *data, const CsiResponse *response)
{
    (void)response;
    ++*(unsigned *)data;
}

static CsiCallId
call_create(DriverStory *story, const char *name, SimTime timeout, unsigned *n_replies)
{
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};
    const CsiRequest request = {.method = CSI_CREATE_VOLUME,
                                .name = strings_intern(story_strings(story), name),
                                .capabilities = &capability,
                                .n_capabilities = 1,
                                .timeout_ns = timeout};

    return csi_driver_call(csi_modelled_driver_base(story_driver(story)), &request, count_reply,
                           n_replies);
}

/* The caller dies: there is no reply, and the volume is created, or not. */
TEST(abandoned_calls_go_on)
{
    static const struct {
        const char *options;
        unsigned n_volumes;
    } rows[] = {
        {"latency=CreateVolume:3s",                                  2},
        {"latency=CreateVolume:3s aborts",                           1},
        {"latency=CreateVolume:3s limit=concurrent=1",               2},
        {"latency=CreateVolume:3s limit=concurrent=1 aborts",        1},
        {"latency=CreateVolume:3s limit=qps=1:burst=1:concurrent=1", 2},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(DriverStory) story = story_new(rows[i].options);
        CsiDriver *driver = csi_modelled_driver_base(story_driver(story));
        unsigned n_replies = 0;
        CsiCallId first = call_create(story, "v", 10 * SIM_SECOND, &n_replies);
        CsiCallId second = call_create(story, "w", 0, &n_replies);
        assert_int_equal(csi_driver_in_flight(driver), 2);
        assert_true(first != second);
        csi_driver_abandon(driver, first);
        csi_driver_abandon(driver, first); /* twice is fine */
        sim_run_until(story_sim(story), SIM_MINUTE);
        csi_driver_abandon(driver, second); /* long over */
        assert_int_equal(n_replies, 1);
        assert_int_equal(csi_driver_in_flight(driver), 0);
        assert_int_equal(csi_modelled_driver_n_volumes(story_driver(story)), rows[i].n_volumes);
    }
}

/* AddressSanitizer finds leaks. */
TEST(drivers_go_with_calls_in_flight)
{
    g_autoptr(DriverStory) story =
        story_new("latency=CreateVolume:3s limit=concurrent=1 limit=CreateVolume:qps=1:burst=2");
    unsigned n_replies = 0;

    for (unsigned i = 0; i < 5; i++)
        call_create(story, strings_internf(story_strings(story), "v%u", i), SIM_MINUTE, &n_replies);
    sim_run_until(story_sim(story), SIM_SECOND);
    assert_int_equal(n_replies, 0);
}

/* The draws of a volume do not depend on what else happens. */
TEST(draws_belong_to_the_volume)
{
    static const char *const stories[] = {
        "create v; delete v",
        "create a; create b; create v; probe; delete a; delete v",
        "&create c; create v; join; delete v",
    };
    g_autofree char *first = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++) {
        g_autoptr(DriverStory) story =
            story_new("latency=CreateVolume:1s:9s latency=DeleteVolume:1s:9s seed=7");
        g_autoptr(GString) log = g_string_new(NULL);
        driver_observe(story, log);
        story_tell(story, "draws", stories[i]);
        g_autofree char *took = g_strdup("");
        g_auto(GStrv) lines = g_strsplit(log->str, "\n", -1);
        SimTime started = 0;
        for (unsigned k = 0; lines[k] != NULL; k++) {
            g_auto(GStrv) words = g_strsplit(lines[k], " ", -1);
            SimTime at;
            if (words[0] == NULL || g_strv_length(words) < 5 || strcmp(words[2], "v") != 0)
                continue;
            assert_true(sim_time_parse(words[4], &at, NULL));
            if (strcmp(words[0], "start") == 0)
                started = at;
            else if (strcmp(words[0], "end") == 0) {
                g_autofree char *more = g_strdup_printf("%s %" G_GINT64_FORMAT, took, at - started);
                g_free(g_steal_pointer(&took));
                took = g_steal_pointer(&more);
            }
        }
        if (first == NULL)
            first = g_steal_pointer(&took);
        else
            assert_string_equal(took, first);
    }
}

/* A repeated call draws anew; another seed gives other draws. */
TEST(repeats_draw_anew)
{
    SimTime took[3];

    for (unsigned seed = 1; seed <= 2; seed++) {
        g_autofree char *options = g_strdup_printf("latency=Probe:1s:9s seed=%u", seed);
        g_autoptr(DriverStory) story = story_new(options);
        story_tell(story, "probe", "probe");
        took[seed - 1] = sim_now(story_sim(story));
        story_tell(story, "probe", "probe");
        took[2] = sim_now(story_sim(story)) - took[seed - 1];
        assert_true(took[2] != took[seed - 1]);
    }
    assert_true(took[0] != took[1]);
}

static unsigned
count_failures(const char *options, unsigned n_volumes, GString *which)
{
    g_autoptr(DriverStory) story = story_new(options);
    g_autoptr(GString) log = g_string_new(NULL);
    unsigned n_replies = 0, n_failed = 0;

    csi_driver_add_observer(csi_modelled_driver_base(story_driver(story)),
                            &(CsiObserver){.ended = note_end, .data = log});
    for (unsigned i = 0; i < n_volumes; i++)
        call_create(story, strings_internf(story_strings(story), "v%u", i), 0, &n_replies);
    sim_run_until(story_sim(story), SIM_MINUTE);
    g_auto(GStrv) lines = g_strsplit(log->str, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        gboolean failed = strstr(lines[i], "UNAVAILABLE") != NULL;
        n_failed += failed ? 1 : 0;
        g_string_append_c(which, failed ? 'x' : '.');
    }
    assert_int_equal(n_replies, n_volumes);
    return n_failed;
}

/* One call in ten fails, the same ones every time; calls that fail at one in ten also fail at one
 * in five. */
TEST(probability_draws_repeat)
{
    g_autoptr(GString) tenth = g_string_new(NULL);
    g_autoptr(GString) again = g_string_new(NULL);
    g_autoptr(GString) fifth = g_string_new(NULL);
    unsigned n = 2000;

    unsigned n_failed = count_failures("error=CreateVolume:UNAVAILABLE:probability=0.1", n, tenth);
    assert_in_range(n_failed, 150, 250); /* 3.7 standard deviations of 13.4 */
    count_failures("error=CreateVolume:UNAVAILABLE:probability=0.1", n, again);
    assert_string_equal(tenth->str, again->str);
    count_failures("error=CreateVolume:UNAVAILABLE:probability=0.2", n, fifth);
    for (unsigned i = 0; i < tenth->len; i++)
        assert_true(tenth->str[i] == '.' || fifth->str[i] == 'x');
}

/* Walks back from the end of a call over its waits. */
typedef struct {
    Sim *sim;
    SimTime latency, throttled;
} Waits;

static void
add_waits(void *data, const CsiResponse *response)
{
    Waits *waits = data;
    const SimTrace *trace = sim_trace(waits->sim);

    (void)response;
    waits->latency = waits->throttled = 0;
    for (SimCauseId id = sim_cause(waits->sim); id != 0;) {
        SimCause cause = sim_trace_get(trace, id);
        SimTime length = cause.at - (cause.parent == 0 ? 0 : sim_trace_get(trace, cause.parent).at);
        *(cause.wait == 1 ? &waits->latency : &waits->throttled) += length;
        assert_int_equal(cause.wait == 1 ? cause.detail : 0,
                         cause.wait == 1 ? CSI_WAIT_DETAIL(CSI_CREATE_VOLUME) : 0);
        id = cause.parent;
    }
}

TEST(waits_are_told_apart)
{
    static const struct {
        const char *options;
        SimTime latency, throttled;
    } rows[] = {
        {"latency=CreateVolume:2s",                                    2 * SIM_SECOND, 0             },
        {"latency=CreateVolume:2s limit=concurrent=1",                 2 * SIM_SECOND, 4 * SIM_SECOND},
        {"latency=CreateVolume:2s limit=qps=1:burst=1",                2 * SIM_SECOND, 2 * SIM_SECOND},
        {"latency=CreateVolume:2s limit=qps=0.1:burst=1:concurrent=1", 2 * SIM_SECOND,
         20 * SIM_SECOND                                                                             },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(DriverStory) story = story_new(rows[i].options);
        const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};
        Waits waits = {.sim = story_sim(story)};
        for (unsigned k = 0; k < 3; k++) { /* the last one counts */
            const CsiRequest request = {.method = CSI_CREATE_VOLUME,
                                        .name = strings_internf(story_strings(story), "v%u", k),
                                        .capabilities = &capability,
                                        .n_capabilities = 1};
            csi_driver_call(csi_modelled_driver_base(story_driver(story)), &request, add_waits,
                            &waits);
        }
        sim_run_until(story_sim(story), SIM_MINUTE);
        if (waits.latency != rows[i].latency || waits.throttled != rows[i].throttled)
            fail_msg("%s: %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT, rows[i].options, waits.latency,
                     waits.throttled);
    }
}

TEST(limits_change_under_way)
{
    g_autoptr(DriverStory) story = story_new("latency=CreateVolume:1s limit=concurrent=1");

    story_tell(story, "before", "&create a; &create b; &create c");
    csi_modelled_driver_set_limits(story_driver(story), NULL, 0);
    story_tell(story, "after", "create d; took 1s; join; took 3s; volumes 4");
}

TEST(pools_change_under_way)
{
    g_autoptr(DriverStory) story = story_new("pool=-:10Gi");
    const CsiModelledPool larger = {.bytes = INT64_C(20) << 30};

    story_tell(story, "before", "create a 8Gi; create b 8Gi >RESOURCE_EXHAUSTED");
    csi_modelled_driver_set_pools(story_driver(story), &larger, 1);
    story_tell(story, "after", "create b 8Gi; used 16Gi; create c 8Gi >RESOURCE_EXHAUSTED");
}

TEST(attach_limits_change_under_way)
{
    g_autoptr(DriverStory) story = story_new("attach-limit=1");
    const char *node = strings_intern(story_strings(story), "n1");

    story_tell(story, "before",
               "create a; create b; create c; attach a n1; attach b n1 >RESOURCE_EXHAUSTED");
    csi_modelled_driver_set_attach_limit(story_driver(story), 2);
    story_tell(story, "driver",
               "attach b n1; attach c n1 >RESOURCE_EXHAUSTED; node-info n1; max-volumes 2");
    csi_modelled_driver_set_node_limit(story_driver(story), node, 3);
    story_tell(story, "node",
               "attach c n1; node-info n1; max-volumes 3; node-info n2; max-volumes 2");
}

TEST(imported_attachments_hold)
{
    g_autoptr(DriverStory) story = story_new("attach-limit=1");
    CsiDriver *driver = csi_modelled_driver_base(story_driver(story));
    const char *volume = strings_intern(story_strings(story), "v");
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER, .fs_type = "other"};
    const CsiRequest attach = {.method = CSI_CONTROLLER_PUBLISH_VOLUME,
                               .volume_id = volume,
                               .node_id = strings_intern(story_strings(story), "id-n1"),
                               .capabilities = &capability,
                               .n_capabilities = 1};

    assert_false(csi_driver_adopt(driver, &attach));
    csi_modelled_driver_add_volume(
        story_driver(story),
        &(CsiModelledVolume){.id = volume, .capacity_bytes = INT64_C(1) << 30});
    assert_true(csi_driver_adopt(driver, &attach));
    story_tell(story, "import",
               "volumes 1; used 1Gi; published n1 1; create w; attach w n1 >RESOURCE_EXHAUSTED; "
               "attach v n2 >FAILED_PRECONDITION; attach v n1; detach v n1");
}

static void
append_id(void *data, const CsiModelledVolume *volume)
{
    g_string_append_printf(data, "%s ", volume->id);
}

TEST(volumes_are_told_in_order)
{
    g_autoptr(DriverStory) story = story_new("latency=CreateVolume:1s:9s");
    g_autoptr(GString) ids = g_string_new(NULL);
    CsiModelledVolume volume;

    story_tell(story, "order",
               "create c 3Gi mode=RWX; create a; create b; delete a; create a; attach c n2 "
               "mode=RWX; attach c n1 mode=RWX");
    csi_modelled_driver_each_volume(story_driver(story), append_id, ids);
    assert_string_equal(ids->str, "c b a ");
    const char *c = strings_intern(story_strings(story), "c");
    assert_true(csi_modelled_driver_get_volume(story_driver(story), c, &volume));
    assert_int_equal(volume.capacity_bytes, INT64_C(3) << 30);
    assert_int_equal(volume.n_published, 2);
    StringList *nodes = csi_modelled_driver_published_nodes(story_driver(story), c);
    assert_int_equal(nodes->n_items, 2);
    assert_string_equal(nodes->items[0], "id-n2");
    assert_string_equal(nodes->items[1], "id-n1");
    string_list_unref(nodes);
}

TEST(names_go_both_ways)
{
    for (unsigned i = 0; i < CSI_N_METHODS; i++) {
        CsiMethod method;
        assert_true(csi_method_parse(csi_method_name((CsiMethod)i), &method));
        assert_int_equal(method, i);
    }
    for (unsigned i = 0; i < CSI_N_CODES; i++) {
        CsiCode code;
        assert_true(csi_code_parse(csi_code_name((CsiCode)i), &code));
        assert_int_equal(code, i);
        assert_true(csi_code_parse(csi_code_go_name((CsiCode)i), &code));
        assert_int_equal(code, i);
    }
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        CsiLatency latency;
        assert_true(csi_latency_parse(csi_latency_name((CsiLatency)i), &latency));
        assert_int_equal(latency, i);
    }
    for (unsigned i = 0; i < CSI_N_MODES; i++)
        assert_non_null(csi_access_mode_name((CsiAccessMode)i));
    assert_false(csi_method_parse("createVolume", &(CsiMethod){0}));
    assert_false(csi_code_parse("", &(CsiCode){0}));
    assert_int_equal(csi_method_service(CSI_NODE_GET_INFO), CSI_NODE);
    assert_string_equal(csi_method_full_name(CSI_PROBE), "/csi.v1.Identity/Probe");
}

TEST(errors_read_as_in_go)
{
    g_autoptr(Strings) strings = strings_new();
    const CsiResponse response = {.code = CSI_RESOURCE_EXHAUSTED, .message = "injected error"};

    assert_string_equal(csi_response_error(&response, strings),
                        "rpc error: code = ResourceExhausted desc = injected error");
}

/* Options that CSI, or arithmetic, forbids. */
TEST(impossible_options_are_refused)
{
    static const CsiModelledError no_code = {.code = CSI_OK, .probability = 1};
    static const CsiModelledError no_luck = {.code = CSI_INTERNAL, .probability = 0};
    CsiModelledOptions rows[10];
    unsigned n = 0;
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    g_autoptr(Strings) strings = strings_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        csi_modelled_options_init(&rows[i]);
        rows[i].name = "driver.example";
    }
    rows[n++].name = "-driver";
    rows[n++].name = "driver_example";
    rows[n++].name = "a23456789-a23456789-a23456789-a23456789-a23456789-a23456789-1234";
    rows[n++].controller_capabilities = CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES;
    rows[n++].plugin_capabilities = 0;
    rows[n++].topologies_per_volume = 0;
    rows[n++].attach_limit = -1;
    rows[n].volume_bytes_min = 2;
    rows[n++].volume_bytes_max = 1;
    rows[n].errors = &no_code;
    rows[n++].n_errors = 1;
    rows[n].errors = &no_luck;
    rows[n++].n_errors = 1;
    for (unsigned i = 0; i < n; i++) {
        g_autoptr(GError) error = NULL;
        if (csi_modelled_driver_new(sim, strings, &rows[i], &error) != NULL)
            fail_msg("row %u was taken", i);
        assert_true(g_error_matches(error, SIM_ERROR, SIM_ERROR_INVALID));
    }
}
