/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/volume/flex/flex.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* FlexVolume: the calls of each operation, with arguments and answers; and the prober. A directory
 * of a case exists, with nothing mounted on it; there is no device. */

/* ---- Operations ---- */

/* An operation under way. */
typedef struct {
    Case *self;
    json_t *calls;    /* as in expected.driver_calls */
    size_t n_answers; /* taken */
    char *result;     /* (owned): the device, the volume's name; NULL: none */
    gboolean attached, unknown, is_error;
} FlexvolumeCalls;

/* A volume of a case: "volume" in a pod, or "persistent_volume". */
static void
suite_flexvolume_read_volume(const json_t *spec, FlexTarget *target)
{
    const json_t *pv = json_object_get(spec, "persistent_volume");
    const json_t *volume =
        pv != NULL ? json_object_get(pv, "spec") : json_object_get(spec, "volume");
    const json_t *source = json_object_get(volume, "flexVolume");

    target->name = json_string_value(
        json_object_get(pv != NULL ? json_object_get(pv, "metadata") : volume, "name"));
    target->fs_type = json_string_value(json_object_get(source, "fsType"));
    target->options = json_object_get(source, "options");
    target->read_only = json_is_true(json_object_get(source, "readOnly"));
}

static json_t *
answer_json(const json_t *given)
{
    static const char *const words[][2] = {
        {"success",       "Success"      },
        {"failure",       "Failure"      },
        {"not supported", "Not supported"}
    };
    const char *word = json_string_value(json_object_get(given, "answer"));
    json_t *answer = json_deep_copy(given);

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_strcmp0(word, words[i][0]) == 0)
            json_object_set_new(answer, "status", json_string(words[i][1]));
    return answer;
}

/* Arguments that are JSON stand as objects in a case. */
static json_t *
arguments_json(FlexCall call, const FlexTarget *target)
{
    g_auto(GStrv) arguments = flex_arguments(call, target);
    json_t *list = json_array();

    for (unsigned i = 0; arguments[i] != NULL; i++) {
        json_t *value = arguments[i][0] == '{' ? json_loads(arguments[i], 0, NULL) : NULL;
        json_array_append_new(list, value != NULL ? value : json_string(arguments[i]));
    }
    return list;
}

/* Returns: whether the operation goes on */
static gboolean
make_call(FlexvolumeCalls *self, FlexCall call, const FlexTarget *target)
{
    const json_t *given =
        json_array_get(case_get(self->self, "inject.driver_answers"), self->n_answers++);
    const char *expected = json_string_value(json_object_get(given, "command"));
    json_t *record = json_object(), *text = answer_json(given);
    FlexAnswer answer;

    if (g_strcmp0(expected, flex_call_name(call)) != 0)
        case_fail(self->self, "%s is called: the case answers %s", flex_call_name(call),
                  expected == NULL ? "nothing" : expected);
    json_object_update(record, (json_t *)given);
    json_object_set_new(record, "command", json_string(flex_call_name(call)));
    json_t *arguments = arguments_json(call, target);
    if (json_array_size(arguments) > 0)
        json_object_set(record, "args", arguments);
    json_decref(arguments);
    if (call == FLEX_CALL_WAIT_FOR_ATTACH)
        json_object_set_new(
            record, "timeout",
            json_string(case_text(self->self, case_get(self->self, "args"), "timeout")));
    json_array_append_new(self->calls, record);
    gboolean is_read = flex_answer_read(text, TRUE, &answer) == NULL;
    self->is_error = !is_read || answer.status == FLEX_FAILURE;
    if (is_read && answer.status == FLEX_NOT_SUPPORTED)
        switch (flex_default(call)) {
        case FLEX_DEFAULT_NONE:
            self->is_error = TRUE;
            break;
        case FLEX_DEFAULT_SUCCESS:
            break;
        case FLEX_DEFAULT_DEVICE:
            self->result = g_strdup(target->device);
            break;
        case FLEX_DEFAULT_UNKNOWN:
            self->unknown = TRUE;
            break;
        case FLEX_DEFAULT_WORK: /* a file system of no device does not grow */
            self->is_error = call == FLEX_CALL_EXPAND_FS;
            break;
        }
    else if (is_read && (call == FLEX_CALL_ATTACH || call == FLEX_CALL_WAIT_FOR_ATTACH))
        self->result = g_strdup(answer.device == NULL ? "" : answer.device);
    self->attached = is_read && answer.attached;
    json_decref(text);
    return !self->is_error;
}

static void
run_calls(FlexvolumeCalls *self, FlexOperation operation, FlexPath path, const FlexTarget *target)
{
    const FlexCall *calls = flex_operation_calls(operation, path);

    for (unsigned i = 0; calls[i] != FLEX_N_CALLS; i++)
        if (!make_call(self, calls[i], target))
            return;
}

/* @returned: (owned) (nullable) */
static void
suite_flexvolume_expect_calls(FlexvolumeCalls *self, json_t *returned)
{
    const json_t *expected = case_get(self->self, "expected.driver_calls");
    json_t *nothing = json_array();

    case_expect_flag(self->self, "expected.error", self->is_error);
    case_expect_json(self->self, "the calls", expected == NULL ? nothing : expected, self->calls);
    if (!self->is_error && case_get(self->self, "expected.returns") != NULL)
        case_expect_json(self->self, "the result", case_get(self->self, "expected.returns"),
                         returned);
    json_decref(nothing);
    json_decref(self->calls);
    json_decref(returned);
    g_free(self->result);
}

static int64_t
size_of(Case *self, const json_t *json, const char *key)
{
    int64_t bytes = 0;
    const char *text = json_string_value(json_object_get(json, key));

    if (text != NULL && !quantity_parse(text, &bytes, NULL, NULL))
        case_fail(self, "%s: %s is no quantity", key, text);
    return bytes;
}

static void
run_operation(Case *self)
{
    static const struct {
        const char *act;
        FlexOperation operation;
    } acts[] = {
        {"attach",          FLEX_ATTACH         },
        {"wait_for_attach", FLEX_WAIT_FOR_ATTACH},
        {"detach",          FLEX_DETACH         },
        {"mount_device",    FLEX_MOUNT_DEVICE   },
        {"unmount_device",  FLEX_UNMOUNT_DEVICE },
        {"tear_down_at",    FLEX_TEAR_DOWN      },
        {"expand_volume",   FLEX_EXPAND_VOLUME  },
        {"get_volume_name", FLEX_NAME_VOLUME    },
    };
    const json_t *args = case_get(self, "args");
    const char *path = json_string_value(json_object_get(args, "dir"));
    FlexTarget target = {
        .device = json_string_value(json_object_get(args, "device_path")),
        .node = json_string_value(json_object_get(args, "host_name")),
        .path = path != NULL ? path : json_string_value(json_object_get(args, "device_mount_path")),
        .new_size = size_of(self, args, "new_size"),
        .old_size = size_of(self, args, "old_size"),
    };
    FlexvolumeCalls calls = {self, json_array(), 0, NULL, FALSE, FALSE, FALSE};

    case_known(self, "args", "spec", "device_path", "host_name", "volume_name", "device_mount_path",
               "dir", "volume", "timeout", "new_size", "old_size");
    suite_flexvolume_read_volume(json_object_get(args, "spec"), &target);
    if (json_object_get(args, "volume_name") != NULL)
        target.name = json_string_value(json_object_get(args, "volume_name"));
    for (unsigned i = 0; i < G_N_ELEMENTS(acts); i++)
        if (strcmp(case_string(self, "act"), acts[i].act) == 0)
            run_calls(&calls, acts[i].operation, FLEX_PATH_EMPTY, &target);
    if (strcmp(case_string(self, "act"), "get_volume_name") == 0)
        calls.result = g_strdup(target.name); /* whatever the driver says (FLX-13) */
    suite_flexvolume_expect_calls(&calls, calls.result == NULL ? NULL : json_string(calls.result));
}

static void
run_check(Case *self)
{
    FlexvolumeCalls calls = {self, json_array(), 0, NULL, FALSE, FALSE, FALSE};
    json_t *result = json_array();
    const json_t *spec;
    size_t i;

    case_known(self, "args", "specs", "node_name");
    json_array_foreach(case_get(self, "args.specs"), i, spec) {
        FlexTarget target = {.node = case_string(self, "args.node_name")};
        suite_flexvolume_read_volume(spec, &target);
        run_calls(&calls, FLEX_CHECK_ATTACHED, FLEX_PATH_EMPTY, &target);
        json_array_append_new(result, json_boolean(calls.attached));
    }
    if (calls.unknown) {
        json_decref(result);
        result = NULL;
    }
    suite_flexvolume_expect_calls(&calls, result);
}

static void
run_set_up(Case *self)
{
    FlexvolumeCalls calls = {self, json_array(), 0, NULL, FALSE, FALSE, FALSE};
    const json_t *group = case_get(self, "args.mounter_args.fs_group");
    int64_t fs_group = json_integer_value(group);
    const FlexPod pod = {
        case_string(self, "args.volume.pod_name"), case_string(self, "args.volume.pod_namespace"),
        case_string(self, "args.volume.pod_uid"), "my-sa", /* of all pods of the cases */
    };
    FlexTarget target = {
        .path = case_string(self, "args.dir"),
        .pod = &pod,
        .fs_group = group == NULL ? NULL : &fs_group,
    };

    case_known(self, "args", "dir", "mounter_args", "volume");
    suite_flexvolume_read_volume(case_get(self, "args.volume.spec"), &target);
    run_calls(&calls, FLEX_SET_UP, FLEX_PATH_EMPTY, &target);
    suite_flexvolume_expect_calls(&calls, NULL);
}

static void
run_node_expand(Case *self)
{
    FlexvolumeCalls calls = {self, json_array(), 0, NULL, FALSE, FALSE, FALSE};
    const json_t *options = case_get(self, "args.rs_opt");
    FlexTarget target = {
        .device = json_string_value(json_object_get(options, "device_path")),
        .path = json_string_value(json_object_get(options, "device_mount_path")),
        .new_size = size_of(self, options, "new_size"),
        .old_size = size_of(self, options, "old_size"),
    };

    case_known(self, "args", "rs_opt");
    suite_flexvolume_read_volume(json_object_get(options, "volume_spec"), &target);
    run_calls(&calls, FLEX_EXPAND_FILE_SYSTEM, FLEX_PATH_EMPTY, &target);
    suite_flexvolume_expect_calls(&calls, json_true());
}

/* ---- The prober ---- */

#define ROOT "/root"

typedef struct {
    Case *self;
    FlexProber *prober;
    char *directory;      /* the prober's */
    GPtrArray *installed; /* names of directories there; ends with NULL */
    json_t *watches;      /* of the step */
} FlexvolumeMachine;

/* Of a path, for messages as the case has them. */
static json_t *
path_json(const char *path)
{
    g_autofree char *text = g_strconcat("$ROOT", path + strlen(ROOT), NULL);

    return json_string(text);
}

static gboolean
is_installed(const FlexvolumeMachine *self, const char *name)
{
    for (unsigned i = 0; i + 1 < self->installed->len; i++)
        if (strcmp(self->installed->pdata[i], name) == 0)
            return TRUE;
    return FALSE;
}

static void
install(FlexvolumeMachine *self, const char *name)
{
    g_ptr_array_insert(self->installed, (int)self->installed->len - 1, g_strdup(name));
}

static void
start_prober(FlexvolumeMachine *self, const json_t *step)
{
    const char *root = case_string(self->self, "given.plugin_dir");

    (void)step;
    g_free(self->directory);
    self->directory = g_strconcat(ROOT, root == NULL ? "" : root, NULL);
    if (root == NULL) /* the driver that TestCanSupport installs */
        install(self, "kubernetes.io~fakeAttacher");
    flex_prober_free(self->prober);
    self->prober = flex_prober_new(self->directory);
    json_array_append_new(self->watches, path_json(self->directory));
    for (unsigned i = 0; i + 1 < self->installed->len; i++) {
        g_autofree char *path = g_build_filename(self->directory, self->installed->pdata[i], NULL);
        json_array_append_new(self->watches, path_json(path));
    }
}

static void
hear_event(FlexvolumeMachine *self, const json_t *step)
{
    const char *word = case_text(self->self, step, "event");
    g_autofree char *path = g_strconcat(ROOT, case_text(self->self, step, "file"), NULL);
    g_autofree char *name = g_path_get_basename(path);
    FlexFileEvent event = strcmp(word, "create") == 0   ? FLEX_FILE_CREATED
                          : strcmp(word, "remove") == 0 ? FLEX_FILE_REMOVED
                                                        : FLEX_FILE_CHANGED;

    g_autofree char *parent = g_path_get_dirname(path);
    if (flex_prober_hear(self->prober, event, path) && is_installed(self, name) &&
        strcmp(parent, self->directory) == 0) /* of files there are no watches */
        json_array_append_new(self->watches, path_json(path));
}

/* Drivers called "error..." do not start, as in the tests of Kubernetes. */
static void
probe(FlexvolumeMachine *self, const json_t *step)
{
    g_autoptr(GPtrArray) due =
        flex_prober_due(self->prober, (const char *const *)self->installed->pdata);
    json_t *events = json_array(), *calls = json_array();
    gboolean is_error = FALSE;

    for (unsigned i = 0; i < due->len; i++) {
        const FlexProbe *one = due->pdata[i];
        g_autofree char *driver = flex_driver_name(one->directory);
        if (!one->is_removal && g_str_has_prefix(driver, "error")) {
            is_error = TRUE;
            continue;
        }
        json_array_append_new(events, json_pack("{ssss}", "op",
                                                one->is_removal ? "remove" : "add or update",
                                                "driver", driver));
        if (!one->is_removal)
            json_array_append_new(calls,
                                  json_pack("{ssss}", "command", flex_call_name(FLEX_CALL_INIT),
                                            "answer", "success"));
        flex_prober_done(self->prober, one->directory);
    }
    if (json_is_true(json_object_get(step, "error")) != !!is_error)
        case_fail(self->self, "the probe: expected %s error", is_error ? "no" : "an");
    case_expect_json(self->self, "events", json_object_get(step, "events"), events);
    if (json_object_get(step, "driver_calls") != NULL)
        case_expect_json(self->self, "calls of the prober", json_object_get(step, "driver_calls"),
                         calls);
    json_decref(events);
    json_decref(calls);
}

static void
can_support(FlexvolumeMachine *self, const json_t *step)
{
    static const char *const paths[] = {"args.spec.volume.flexVolume.driver",
                                        "args.spec.persistent_volume.spec.flexVolume.driver"};
    gboolean found = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
        const char *driver = json_path_string(step, paths[i]);
        for (unsigned k = 0; driver != NULL && k + 1 < self->installed->len; k++) {
            g_autofree char *name = flex_driver_name(self->installed->pdata[k]);
            found |= strcmp(name, driver) == 0;
        }
    }
    if (json_is_true(json_object_get(step, "returns")) != !!found)
        case_fail(self->self, "can_support: expected %s", found ? "false" : "true");
}

static void
do_install(FlexvolumeMachine *self, const json_t *step)
{
    install(self, case_text(self->self, step, "driver"));
}

/* The plugin's own Init() calls nothing: the prober has (FLX-41). */
static void
do_nothing(FlexvolumeMachine *self, const json_t *step)
{
    (void)self;
    (void)step;
}

static void
run_step(FlexvolumeMachine *self, const json_t *step)
{
    static const struct {
        const char *key, *value;
        void (*run)(FlexvolumeMachine *self, const json_t *step);
    } steps[] = {
        {"environment", "driver installed", do_install  },
        {"environment", "file event",       hear_event  },
        {"call",        "prober_init",      start_prober},
        {"call",        "probe",            probe       },
        {"call",        "init",             do_nothing  },
        {"call",        "can_support",      can_support },
    };

    self->watches = json_array();
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        const char *value = json_string_value(json_object_get(step, steps[i].key));
        if (g_strcmp0(value, steps[i].value) == 0) {
            steps[i].run(self, step);
            const json_t *expected = json_object_get(step, "watches_added");
            json_t *none = json_array();
            case_expect_json(self->self, "watches", expected == NULL ? none : expected,
                             self->watches);
            json_decref(none);
            json_decref(self->watches);
            return;
        }
    }
    json_decref(self->watches);
    case_fail(self->self, "a step is unknown");
}

static void
run_init(Case *self)
{
    case_expect_flag(self, "expected.error", FALSE);
    if (case_get(self, "expected.driver_calls") != NULL)
        case_fail(self, "init of a plugin calls nothing");
}

static void
run_prober(Case *self)
{
    FlexvolumeMachine machine = {self, NULL, NULL, g_ptr_array_new_with_free_func(g_free), NULL};
    const json_t *step;
    size_t i;

    g_ptr_array_add(machine.installed, NULL);
    json_array_foreach(case_get(self, "steps"), i, step)
        run_step(&machine, step);
    flex_prober_free(machine.prober);
    g_free(machine.directory);
    g_ptr_array_unref(machine.installed);
}

static const Act flexvolume_acts[] = {
    {"attach",               run_operation  },
    {"wait_for_attach",      run_operation  },
    {"volumes_are_attached", run_check      },
    {"detach",               run_operation  },
    {"mount_device",         run_operation  },
    {"unmount_device",       run_operation  },
    {"set_up_at",            run_set_up     },
    {"tear_down_at",         run_operation  },
    {"expand_volume",        run_operation  },
    {"node_expand",          run_node_expand},
    {"get_volume_name",      run_operation  },
    {"init",                 run_init       },
    {"Plugin",               run_prober     },
    {"Prober",               run_prober     },
    {NULL,                   NULL           },
};

const Suite flexvolume_suite = {"flexvolume", flexvolume_acts};
