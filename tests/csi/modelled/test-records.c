/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the modelled driver: a story begins with one driver and goes on with another one,
 * which knows the first by its records only. And records that are none. */
#include "models/csi/modelled/records.h"
#include "story.h"
#include "tests/lib/test.h"

#include <string.h>

#define EPOCH (INT64_C(1700000000) * SIM_SECOND) /* of the first process; the second is later */
#define LATER (3600 * SIM_SECOND)

typedef struct {
    const char *name, *options, *before;
    const char *objects; /* as remembered: "v ID", "s ID", "g ID" */
    const char *after;
} RecordCase;

/* clang-format off */
static const RecordCase cases[] = {
    {"a volume, by its name and its id", "random-ids", "create v 5Gi parameter=type:ssd zones=a", "v v",
     "volumes 1; used 5Gi; create v 5Gi parameter=type:ssd zones=a; size 5Gi; in a; create v 5Gi parameter=type:hdd >ALREADY_EXISTS; volumes 1"},
    {"where it is attached, staged and mounted", "", "create v mode=RWX; attach v n1 mode=RWX; attach v n2 mode=RWX; stage v n1 mode=RWX; mount v n1 mode=RWX; mount v n1 target=/other mode=RWX", "v v",
     "published n1 1; published n2 1; staged v n1 1; staged v n2 0; targets v n1 2; delete v >FAILED_PRECONDITION; unstage v n1 >INTERNAL; "
     "mount v n1 mode=RWX ro >ALREADY_EXISTS; unmount v n1; unmount v n1 target=/other; unstage v n1; detach v; delete v; volumes 0; used 0"},
    {"a read-only attachment", "publish-readonly", "create v; attach v n1 ro", "v v", "attach v n1 ro; attach v n1 >ALREADY_EXISTS"},
    {"the place of a volume counts as taken", "attach-limit=1 pool=-:10Gi", "create v 6Gi; create w 1Gi; attach v n1", "v v, v w",
     "attach w n1 >RESOURCE_EXHAUSTED; create x 6Gi >RESOURCE_EXHAUSTED; create x 3Gi"},
    {"the order of creation", "list", "create b; create a; create c", "v b, v a, v c", "list max=1; entries 1; next 2; delete b; create d; list token=next; entries 3; list max=2; next 4"},
    {"a snapshot that is ready, and its source is gone", "list-snapshots", "create v 5Gi; snapshot s v; delete v", "s s",
     "snapshots-left 1; snapshots id=s; entries 1; create w 5Gi from=snapshot:s; size 5Gi; delete-snapshot s; snapshots-left 0"},
    {"a clone knows its source", "clone", "create v 5Gi; create w 5Gi from=volume:v", "v v, v w", "create w 5Gi from=volume:v; source v; create w 5Gi >ALREADY_EXISTS"},
    {"a group and its members", "group-service groups", "create v; create w; group g v,w", "v v, v w, s g-0, s g-1, g g",
     "get-group g g-0,g-1; entries 2; group g v,w; entries 2; group g v >ALREADY_EXISTS; delete-snapshot g-0 >INVALID_ARGUMENT; delete-group g g-1,g-0; snapshots-left 0"},
    {"a larger volume with a smaller file system", "", "create v 1Gi; attach v n1; stage v n1; mount v n1; expand v 2Gi", "v v",
     "stats v n1; total 1Gi; grow v n1 2Gi; stats v n1; total 2Gi"},
    {"how full it is, and that it fills on", "min=5Gi usage=1Gi:1Gi:1m:0", "create v; attach v n1; stage v n1; mount v n1; until 61s", "v v",
     "stats v n1; written 2Gi; until 61s; stats v n1; written 3Gi"},
    {"changed parameters", "mutable=iops", "create v mutable=iops:1; modify v mutable=iops:2", "v v", "modify v mutable=speed:2 >INVALID_ARGUMENT; modify v mutable=iops:2"},
    {"an ephemeral volume", "no-attach no-stage", "mount csi-1 n1 inline", "v csi-1", "volumes 1; unmount csi-1 n1; volumes 0"},
};
/* clang-format on */

static CsiRecordKind
records_kind_of(char letter)
{
    return letter == 'v'   ? CSI_RECORD_VOLUME
           : letter == 's' ? CSI_RECORD_SNAPSHOT
                           : CSI_RECORD_GROUP;
}

/* Carries "v one, s two" from one driver to the other; what the second then writes of it is the
 * same. */
static void
carry(const RecordCase *row, DriverStory *from, DriverStory *to)
{
    g_auto(GStrv) objects = g_strsplit(row->objects, ", ", -1);

    for (char **object = objects; *object != NULL; object++) {
        CsiRecordKind kind = records_kind_of(**object);
        json_auto_t *record = csi_modelled_driver_record(
            story_driver(from), kind, strings_intern(story_strings(from), *object + 2), EPOCH);
        if (record == NULL)
            fail_msg("%s: there is no %s", row->name, *object);
        assert_true(csi_modelled_driver_remember(story_driver(to), kind, record, EPOCH + LATER));
        const char *id = json_string_value(json_object_get(record, "id"));
        json_auto_t *again = csi_modelled_driver_record(
            story_driver(to), kind, strings_intern(story_strings(to), id), EPOCH + LATER);
        if (!json_equal(record, again))
            fail_msg("%s: %s\nis not\n%s", row->name, json_dumps(again, JSON_SORT_KEYS),
                     json_dumps(record, JSON_SORT_KEYS));
        if (csi_modelled_driver_remember(story_driver(to), kind, record, EPOCH + LATER))
            fail_msg("%s: %s is remembered twice", row->name, *object);
    }
}

static void
goes_on(void **state)
{
    const RecordCase *row = *state;
    g_autoptr(DriverStory) first = story_new(row->options);
    g_autoptr(DriverStory) second = story_new(row->options);

    story_tell(first, row->name, row->before);
    carry(row, first, second);
    story_tell(second, row->name, row->after);
}
TEST_ROWS(cases, goes_on);

/* ---- Records that are none ---- */

static const char *const odd[] = {
    "{}",
    "{\"id\": 7}",
    "{\"id\": \"\"}",
    "{\"id\": \"x\", \"places\": 3, \"parameters\": [], \"topologies\": {}}",
    "{\"id\": \"x\", \"places\": [{}, {\"node\": 1}, {\"node\": \"nobody\"}, "
    "{\"node\": \"n1\", \"targets\": [{}, 1]}]}",
    "{\"id\": \"x\", \"bytes\": -1, \"sequence\": -1, \"sourceKind\": 99, \"modes\": -1}",
    "{\"id\": \"x\", \"members\": [1, \"nothing\", null], \"room\": 1, \"source\": \"nothing\"}",
    "{\"id\": \"x\", \"parameters\": {\"a\": 1, \"b\": null}, \"ready\": \"soon\"}",
};

/* Nothing crashes, and what was taken can be written and ended. */
TEST_CALLED("records that are none", takes_odd_records)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        for (CsiRecordKind kind = CSI_RECORD_VOLUME; kind <= CSI_RECORD_GROUP; kind++) {
            g_autoptr(DriverStory) story = story_new("group-service groups list");
            json_auto_t *record = json_loads(odd[i], 0, NULL);
            gboolean taken = csi_modelled_driver_remember(story_driver(story), kind, record, EPOCH);
            json_auto_t *again = csi_modelled_driver_record(
                story_driver(story), kind, strings_intern(story_strings(story), "x"), EPOCH);
            assert_int_equal(taken, again != NULL);
            assert_int_equal(taken, strstr(odd[i], "\"x\"") != NULL);
            story_tell(story, odd[i], "create v; list; detach x; delete-snapshot x");
        }
    }
}
