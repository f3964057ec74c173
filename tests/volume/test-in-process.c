/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/csi/csi-backend.h"
#include "models/volume/in-process.h"
#include "tests/lib/test.h"
#include "tests/plan/tester.h"

/* The calls of one operation of an in-tree plugin or of FlexVolume. */

#define FLEX "example.com/lvm"

/* ---- A driver that answers at once ---- */

typedef struct {
    CsiDriver base;
    CsiMethod refused; /* CSI_N_METHODS: none */
    CsiCode code;      /* of the refused one */
    GString *calls;
} Stub;

typedef struct {
    CsiCall base;
    SimEventId event;
} StubCall;

static void
stub_answers(Sim *sim, void *data)
{
    StubCall *call = data;
    Stub *self = (Stub *)call->base.driver;
    CsiMethod method = call->base.request->method;
    CsiResponse response = {.code = CSI_OK, .capacity_bytes = 7};

    (void)sim;
    call->event = 0;
    g_string_append_printf(self->calls, "%s%s", self->calls->len == 0 ? "" : " ",
                           csi_call_name(&self->base, method));
    if (method == self->refused)
        response = (CsiResponse){.code = self->code, .message = "no room"};
    csi_call_finish(&call->base, &response);
}

static const SimEventType stub_answers_event = {.name = "test/answer", .fire = stub_answers};

static void
stub_start(CsiDriver *driver, CsiCall *call)
{
    ((StubCall *)call)->event = sim_after(driver->sim, 0, &stub_answers_event, call, WAIT_DRIVER);
}

static void
stub_caller_gone(CsiDriver *driver, CsiCall *call)
{
    (void)driver, (void)call;
}

static void
stub_call_clear(CsiDriver *driver, CsiCall *call)
{
    sim_cancel(driver->sim, ((StubCall *)call)->event);
}

static void
stub_close(CsiDriver *driver)
{
    (void)driver;
}

static const CsiDriverClass stub_class = {
    .name = "stub",
    .call_size = sizeof(StubCall),
    .start = stub_start,
    .caller_gone = stub_caller_gone,
    .call_clear = stub_call_clear,
    .close = stub_close,
    .free = stub_close,
};

/* ---- Operations ---- */

typedef struct {
    const char *title;
    const char *flex_driver; /* NULL: an in-tree plugin */
    FlexOperation operation;
    gboolean waits_for_attach;
    const char *known;    /* a driver whose init was called; NULL: none */
    FlexCall unsupported; /* ... and which does not have this one */
    unsigned changes;     /* of the driver's files since then */
    CsiMethod refused;
    CsiCode code;
    const char *calls;
    const char *end; /* "": done; else the error */
} OperationCase;

#define NONE CSI_N_METHODS
#define HAS_ALL FLEX_N_CALLS

/* clang-format off */
static const OperationCase cases[] = {
    {"INT-3 attach", NULL, FLEX_ATTACH, FALSE, NULL, HAS_ALL, 0, NONE, CSI_OK, "ControllerPublishVolume", ""},
    {"INT-3 detach", NULL, FLEX_DETACH, FALSE, NULL, HAS_ALL, 0, NONE, CSI_OK, "ControllerUnpublishVolume", ""},
    {"INT-3 mount", NULL, FLEX_SET_UP, FALSE, NULL, HAS_ALL, 0, NONE, CSI_OK, "NodePublishVolume", ""},
    {"INT-3 an attach fails", NULL, FLEX_ATTACH, FALSE, NULL, HAS_ALL, 0, CSI_CONTROLLER_PUBLISH_VOLUME,
     CSI_INTERNAL, "ControllerPublishVolume", "no room"},
    {"INT-3 an expansion is not there", NULL, FLEX_EXPAND_VOLUME, FALSE, NULL, HAS_ALL, 0,
     CSI_CONTROLLER_EXPAND_VOLUME, CSI_UNIMPLEMENTED, "ControllerExpandVolume", "no room"},
    {"INT-41 the node resizes", NULL, FLEX_EXPAND_FILE_SYSTEM, FALSE, NULL, HAS_ALL, 0,
     CSI_NODE_EXPAND_VOLUME, CSI_UNIMPLEMENTED, "NodeExpandVolume", "by default"},

    {"FLX-41 attach, and init", FLEX, FLEX_ATTACH, FALSE, NULL, HAS_ALL, 0, NONE, CSI_OK,
     "init getvolumename attach", ""},
    {"FLX-41 init of another driver", FLEX, FLEX_ATTACH, FALSE, "example.com/nfs", HAS_ALL, 0, NONE, CSI_OK,
     "init getvolumename attach", ""},
    {"FLX-14 attach", FLEX, FLEX_ATTACH, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK, "getvolumename attach", ""},
    {"FLX-46 new files", FLEX, FLEX_ATTACH, FALSE, FLEX, FLEX_CALL_GET_VOLUME_NAME, 1, NONE, CSI_OK,
     "init getvolumename attach", ""},
    {"FLX-23 not supported", FLEX, FLEX_ATTACH, FALSE, FLEX, FLEX_CALL_GET_VOLUME_NAME, 0, NONE, CSI_OK,
     "attach", ""},
    {"detach", FLEX, FLEX_DETACH, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK, "detach", ""},
    {"mount of a device", FLEX, FLEX_MOUNT_DEVICE, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK,
     "getvolumename mountdevice", ""},
    {"mount of a device that is to come", FLEX, FLEX_MOUNT_DEVICE, TRUE, FLEX, HAS_ALL, 0, NONE, CSI_OK,
     "waitforattach getvolumename mountdevice", ""},
    {"unmount of a device", FLEX, FLEX_UNMOUNT_DEVICE, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK,
     "unmountdevice", ""},
    {"mount", FLEX, FLEX_SET_UP, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK, "mount", ""},
    {"unmount", FLEX, FLEX_TEAR_DOWN, FALSE, FLEX, HAS_ALL, 0, NONE, CSI_OK, "unmount", ""},
    {"FLX-30 Kubernetes mounts", FLEX, FLEX_SET_UP, FALSE, FLEX, HAS_ALL, 0, CSI_NODE_PUBLISH_VOLUME,
     CSI_UNIMPLEMENTED, "mount", "by default"},
    {"FLX-23 Kubernetes mounts, unasked", FLEX, FLEX_SET_UP, FALSE, FLEX, FLEX_CALL_MOUNT, 0, NONE, CSI_OK, "",
     "by default"},
    {"FLX-20 an attach fails", FLEX, FLEX_ATTACH, FALSE, FLEX, HAS_ALL, 0, CSI_CONTROLLER_PUBLISH_VOLUME,
     CSI_INTERNAL, "getvolumename attach", "attach command failed, status: Failure, reason: no room"},
    {"FLX-43 init fails", FLEX, FLEX_DETACH, FALSE, NULL, HAS_ALL, 0, CSI_PROBE, CSI_UNIMPLEMENTED, "init",
     "init command failed, status: Failure, reason: no room"},
};
/* clang-format on */

static const OperationCase *row;
static FlexDrivers *known;
static CsiDriver *driver;
static char *ended; /* (owned) */

static void
operation_ends(const void *self, Plan *plan, const InProcessResult *result)
{
    (void)self, (void)plan;
    assert_null(ended);
    ended = g_strdup(result->error != NULL ? result->error
                     : result->by_default  ? "by default"
                                           : "");
    if (result->error == NULL && *row->calls != '\0' && !result->by_default)
        assert_int_equal(result->bytes, 7);
}

static void
decide_operation(const void *self, Plan *plan)
{
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};

    in_process_begin(self, plan,
                     &(InProcessWork){
                         .driver = driver,
                         .flex_driver = row->flex_driver,
                         .flex_changes = row->changes,
                         .operation = row->operation,
                         .waits_for_attach = row->waits_for_attach,
                         .known = known,
                         .request = {.volume_id = "v",
                                     .node_id = "n",
                                     .capabilities = &capability,
                                     .n_capabilities = 1},
                         .then = operation_ends,
    });
}

TEST(operations_make_their_calls)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        static const CsiWaits waits = {WAIT_DRIVER, WAIT_DRIVER_THROTTLE};
        void *tester_state;
        tester_setup(&tester_state);
        TesterWorld *world = tester_state;
        Strings *strings = objects_strings(world->objects);
        Stub *stub = g_new0(Stub, 1);
        OperationCase with_interned = cases[i];
        with_interned.flex_driver = strings_intern(strings, cases[i].flex_driver);
        row = &with_interned;
        csi_driver_init(&stub->base, &stub_class, world->sim, strings,
                        strings_intern(strings, row->flex_driver == NULL ? "csi.test" : FLEX),
                        &waits);
        stub->calls = g_string_new(NULL);
        stub->refused = row->refused;
        stub->code = row->code;
        driver = &stub->base;
        known = flex_drivers_new();
        if (row->known != NULL)
            in_process_note(
                known,
                &(PlanChange){.text = strings_intern(strings, row->known),
                              .number = row->unsupported == HAS_ALL ? 0 : 1 << row->unsupported});
        tester_create_claim(world, "a");
        tester_start(world, decide_operation);
        tester_sync_key(world, "a");
        sim_run_until(world->sim, SIM_SECOND);
        if (strcmp(stub->calls->str, row->calls) != 0 || g_strcmp0(ended, row->end) != 0)
            fail_msg("%s: calls \"%s\", end \"%s\"", row->title, stub->calls->str, ended);
        g_clear_pointer(&ended, g_free);
        g_string_free(stub->calls, TRUE);
        flex_drivers_free(known);
        tester_teardown(&tester_state);
        csi_driver_free(driver);
    }
}

/* A claim of a volume that nobody backs: the work takes no time. */
TEST_WITH(tester_setup, tester_teardown, without_a_driver_all_is_done)
{
    const OperationCase attach = {.operation = FLEX_ATTACH, .calls = ""};
    TesterWorld *world = *state;

    row = &attach;
    driver = NULL;
    tester_create_claim(world, "a");
    tester_start(world, decide_operation);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(ended, "");
    g_clear_pointer(&ended, g_free);
}

/* The widest mode that the volume has. */
TEST(modes_of_calls)
{
    static const struct {
        uint32_t modes;
        gboolean read_only;
        CsiAccessMode mode;
    } rows[] = {
        {ACCESS_RWO,                           FALSE, CSI_SINGLE_NODE_WRITER     },
        {ACCESS_RWOP,                          FALSE, CSI_SINGLE_NODE_WRITER     },
        {ACCESS_ROX,                           FALSE, CSI_MULTI_NODE_READER_ONLY },
        {ACCESS_ROX | ACCESS_RWO,              FALSE, CSI_SINGLE_NODE_WRITER     },
        {ACCESS_ROX | ACCESS_RWO | ACCESS_RWX, FALSE, CSI_MULTI_NODE_MULTI_WRITER},
        {ACCESS_RWX,                           TRUE,  CSI_MULTI_NODE_MULTI_WRITER},
        {0,                                    FALSE, CSI_SINGLE_NODE_WRITER     }, /* it stands in a pod */
        {0,                                    TRUE,  CSI_MULTI_NODE_READER_ONLY },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        VolumeSource source = {.read_only = rows[i].read_only};
        const Volume volume = {.access_modes = rows[i].modes, .source = &source};
        assert_int_equal(in_process_volume_mode(&volume), rows[i].mode);
    }
}
