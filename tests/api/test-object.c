/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

TEST(one_key_per_object)
{
    g_autoptr(Objects) objects = objects_new(1);
    ObjectKey *claim = objects_key(objects, KIND_CLAIM, "default", "data");

    assert_ptr_equal(objects_key(objects, KIND_CLAIM, "default", "data"), claim);
    assert_ptr_equal(objects_find_key(objects, KIND_CLAIM, "default", "data"), claim);
    assert_null(objects_find_key(objects, KIND_CLAIM, "other", "data"));
    assert_ptr_not_equal(objects_key(objects, KIND_CLAIM, "other", "data"), claim);
    assert_ptr_not_equal(objects_key(objects, KIND_POD, "default", "data"), claim);
    assert_string_equal(claim->text, "default/data");

    ObjectKey *node = objects_key(objects, KIND_NODE, NULL, "n");
    assert_ptr_equal(objects_key(objects, KIND_NODE, "", "n"), node);
    assert_string_equal(node->text, "n");
    assert_string_equal(node->namespace, "");
}

/* Many keys: the table grows, slots are dense, keys stay where they are. */
TEST(keys_stay)
{
    enum { N = 5000 };
    g_autoptr(Objects) objects = objects_new(1);
    g_autofree ObjectKey **keys = g_new(ObjectKey *, N);
    char name[32];

    for (unsigned i = 0; i < N; i++) {
        g_snprintf(name, sizeof name, "pod-%u", i);
        keys[i] = objects_key(objects, KIND_POD, "default", name);
        objects_key(objects, KIND_CLAIM, "default", name);
        assert_int_equal(keys[i]->slot, i);
    }
    assert_int_equal(objects_n_keys(objects, KIND_POD), N);
    assert_int_equal(objects_n_keys(objects, KIND_NODE), 0);
    for (unsigned i = 0; i < N; i++) {
        g_snprintf(name, sizeof name, "pod-%u", i);
        assert_ptr_equal(objects_find_key(objects, KIND_POD, "default", name), keys[i]);
        assert_ptr_equal(objects_key_at(objects, KIND_POD, i), keys[i]);
        assert_string_equal(keys[i]->name, name);
    }
}

TEST(a_uid_is_a_function)
{
    g_autoptr(Objects) one = objects_new(1), same = objects_new(1), two = objects_new(2);
    char text[OBJECT_UID_BUFFER], again[OBJECT_UID_BUFFER];
    ObjectUid uid, back;

    objects_key(same, KIND_CLAIM, "default", "before"); /* changes nothing */
    ObjectKey *key = objects_key(one, KIND_CLAIM, "default", "data");
    uid = objects_uid(one, key, 1);
    assert_true(object_uid_equal(
        uid, objects_uid(same, objects_key(same, KIND_CLAIM, "default", "data"), 1)));
    assert_false(object_uid_equal(uid, objects_uid(one, key, 2)));
    assert_false(object_uid_equal(
        uid, objects_uid(two, objects_key(two, KIND_CLAIM, "default", "data"), 1)));
    assert_false(
        object_uid_equal(uid, objects_uid(one, objects_key(one, KIND_POD, "default", "data"), 1)));

    object_uid_format(uid, text);
    assert_int_equal(strlen(text), 36);
    assert_int_equal(text[14], '4');
    assert_non_null(strchr("89ab", text[19]));
    assert_true(object_uid_parse(text, &back));
    assert_true(object_uid_equal(uid, back));
    assert_string_equal(object_uid_format(back, again), text);
    assert_true(object_uid_parse("7878C82E-6DBC-4D12-B2E1-F7A8202C9A4A", &back));
    assert_string_equal(object_uid_format(back, again), "7878c82e-6dbc-4d12-b2e1-f7a8202c9a4a");
}

static const char *const bad_uids[] = {
    "",
    "7878c82e",
    "7878c82e-6dbc-4d12-b2e1-f7a8202c9a4",
    "7878c82e-6dbc-4d12-b2e1-f7a8202c9a4a0",
    "7878c82e06dbc-4d12-b2e1-f7a8202c9a4a",
    "g878c82e-6dbc-4d12-b2e1-f7a8202c9a4a",
};

static void
refuses_uid(void **state)
{
    ObjectUid uid;

    assert_false(object_uid_parse(*(const char *const *)*state, &uid));
}
TEST_ROWS(bad_uids, refuses_uid);

typedef struct {
    const char *kind, *api_version;
    gboolean found;
} KindRow;

static const KindRow kind_rows[] = {
    {"Pod",                   "v1",                     TRUE },
    {"PersistentVolumeClaim", "v1",                     TRUE },
    {"PersistentVolume",      "v1",                     TRUE },
    {"Node",                  "v1",                     TRUE },
    {"StatefulSet",           "apps/v1",                TRUE },
    {"ControllerRevision",    "apps/v1",                TRUE },
    {"StorageClass",          "storage.k8s.io/v1",      TRUE },
    {"StorageClass",          "storage.k8s.io/v1beta1", TRUE },
    {"CSIStorageCapacity",    "storage.k8s.io/v1beta1", TRUE },
    {"CSIDriver",             "storage.k8s.io/v1",      TRUE },
    {"CSINode",               "storage.k8s.io/v1",      TRUE },
    {"VolumeAttachment",      "storage.k8s.io/v1",      TRUE },
    {"VolumeAttachment",      NULL,                     TRUE },
    {"StorageClass",          "v1",                     FALSE},
    {"StatefulSet",           "apps/v1beta1",           FALSE},
    {"Pod",                   "apps/v1",                FALSE},
    {"pod",                   "v1",                     FALSE},
    {"Deployment",            "apps/v1",                TRUE },
    {"ReplicaSet",            "apps/v1",                TRUE },
    {"ReplicationController", "v1",                     TRUE },
    {"StorageClass",          "storage.k8s.io/v2",      FALSE},
};

static void
finds_kind(void **state)
{
    const KindRow *row = *state;
    ObjectKind kind;

    assert_int_equal(kind_find(row->api_version, row->kind, &kind), row->found);
    if (row->found)
        assert_string_equal(kind_class(kind)->kind, row->kind);
}
TEST_ROWS(kind_rows, finds_kind);

/* API-24: the first and the last release that serves a version, and what 1.32 serves instead. */
typedef struct {
    const char *title;
    ObjectKind kind;
    const char *version;
    int first, last;
} ServedRow;

static const ServedRow served_rows[] = {
    {"StorageClass v1",        KIND_STORAGE_CLASS,     "storage.k8s.io/v1",               18, 36},
    {"StorageClass v1beta1",   KIND_STORAGE_CLASS,     "storage.k8s.io/v1beta1",          18, 21},
    {"CSIDriver v1beta1",      KIND_CSI_DRIVER,        "storage.k8s.io/v1beta1",          18, 21},
    {"CSINode v1beta1",        KIND_CSI_NODE,          "storage.k8s.io/v1beta1",          18, 21},
    {"attachment v1beta1",     KIND_ATTACHMENT,        "storage.k8s.io/v1beta1",          18, 21},
    {"capacity v1",            KIND_STORAGE_CAPACITY,  "storage.k8s.io/v1",               24, 36},
    {"capacity v1beta1",       KIND_STORAGE_CAPACITY,  "storage.k8s.io/v1beta1",          21, 26},
    {"attributes class v1",    KIND_ATTRIBUTES_CLASS,  "storage.k8s.io/v1",               34, 36},
    {"attributes class beta",  KIND_ATTRIBUTES_CLASS,  "storage.k8s.io/v1beta1",          31, 36},
    {"attributes class alpha", KIND_ATTRIBUTES_CLASS,  "storage.k8s.io/v1alpha1",         29, 34},
    {"budget v1",              KIND_DISRUPTION_BUDGET, "policy/v1",                       21, 36},
    {"budget v1beta1",         KIND_DISRUPTION_BUDGET, "policy/v1beta1",                  18, 24},
    {"Lease v1beta1",          KIND_LEASE,             "coordination.k8s.io/v1beta1",     18, 21},
    {"CronJob v1",             KIND_CRON_JOB,          "batch/v1",                        21, 36},
    {"CronJob v1beta1",        KIND_CRON_JOB,          "batch/v1beta1",                   18, 24},
    {"Deployment v1",          KIND_DEPLOYMENT,        "apps/v1",                         18, 36},
    {"snapshot v1beta1 never", KIND_VOLUME_SNAPSHOT,   "snapshot.storage.k8s.io/v1beta1", 1,  0 },
};

static void
serves_versions(void **state)
{
    const ServedRow *row = *state;

    for (int minor = 18; minor <= 36; minor++) {
        gboolean is_served = row->first <= minor && minor <= row->last;
        assert_int_equal(kind_is_served(row->kind, row->version, minor), is_served);
        if (is_served && kind_is_served(row->kind, kind_class(row->kind)->api_version, minor))
            assert_string_equal(kind_served_version(row->kind, minor),
                                kind_class(row->kind)->api_version);
    }
    assert_string_equal(kind_served_version(row->kind, 32), kind_class(row->kind)->api_version);
}
TEST_ROWS(served_rows, serves_versions);

TEST(an_old_release_serves_betas)
{
    assert_null(kind_served_version(KIND_STORAGE_CAPACITY, 20));
    assert_string_equal(kind_served_version(KIND_STORAGE_CAPACITY, 22), "storage.k8s.io/v1beta1");
    assert_string_equal(kind_served_version(KIND_DISRUPTION_BUDGET, 18), "policy/v1beta1");
}

/* object_edit() walks only over counted fields: they must stand first, and drop their
 * references. */
TEST(counted_fields_stand_first)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        gboolean was_counted = TRUE;
        for (const Field *field = kind_class((ObjectKind)i)->fields; field->path != NULL; field++) {
            const FieldType *type = field->type;
            gboolean is_counted = type->unref != NULL || type->item != NULL || type->whole != NULL;
            gboolean is_data = type->words != NULL || type->fields != NULL || type->item != NULL ||
                               type->whole != NULL;
            assert_true(was_counted || !is_counted);
            assert_true(type->unref == NULL || type->same != NULL);
            assert_true(is_data || type->parse != NULL);
            assert_true(is_data || type->to_json != NULL || type->over != NULL ||
                        type->print != NULL);
            was_counted = is_counted;
        }
    }
}

TEST(an_edit_leaves_the_original_alone)
{
    g_autoptr(ApiTest) test = api_test_new();
    Strings *strings = objects_strings(test->objects);
    g_autoptr(Object) claim = api_test_read(
        test, "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'data', "
              "'labels': {'a': 'b'}},"
              " 'spec': {'accessModes': ['ReadWriteOnce'], 'selector': {'matchLabels': {'x': 'y'}},"
              " 'resources': {'requests': {'storage': '1Gi'}}}}");
    g_autoptr(Object) before = object_edit(claim);

    g_autoptr(Object) after = object_edit(claim);
    assert_true(object_equal(claim, after));
    assert_ptr_equal(CLAIM(after)->selector, CLAIM(claim)->selector);

    assert_true(
        object_set_annotation(after, strings_intern(strings, "k"), strings_intern(strings, "v")));
    assert_false(
        object_set_annotation(after, strings_intern(strings, "k"), strings_intern(strings, "v")));
    assert_true(object_set_label(after, strings_intern(strings, "a"), NULL));
    assert_false(object_set_label(after, strings_intern(strings, "a"), NULL));
    assert_true(object_add_finalizer(after, strings_intern(strings, FINALIZER_PVC_PROTECTION)));
    assert_false(object_add_finalizer(after, strings_intern(strings, FINALIZER_PVC_PROTECTION)));
    CLAIM(after)->volume_name = strings_intern(strings, "pv");
    g_clear_pointer(&CLAIM(after)->selector, label_selector_unref);

    assert_false(object_equal(claim, after));
    assert_true(object_equal(claim, before));
    assert_string_equal(object_annotation(after, "k"), "v");
    assert_null(object_annotation(claim, "k"));
    assert_string_equal(object_label(claim, "a"), "b");
    assert_null(object_label(after, "a"));
    assert_true(object_has_finalizer(after, FINALIZER_PVC_PROTECTION));
    assert_false(object_has_finalizer(claim, FINALIZER_PVC_PROTECTION));
    assert_true(object_remove_finalizer(after, FINALIZER_PVC_PROTECTION));
    assert_false(object_remove_finalizer(after, FINALIZER_PVC_PROTECTION));
    assert_null(after->finalizers);
    assert_non_null(CLAIM(claim)->selector);
}

/* A write of the object and a write of its status each take their own fields (API-18). */
TEST(spec_and_status_are_taken_apart)
{
    g_autoptr(ApiTest) test = api_test_new();
    ObjectKey *key = objects_key(test->objects, KIND_CLAIM, "default", "data");
    g_autoptr(Object) stored = object_new(key), written = object_new(key);
    const ClaimCondition resizing = {.type = "Resizing", .status = "True"};
    ClaimConditions *conditions = claim_conditions_new(&resizing, 1);

    CLAIM(written)->request_bytes = 5;
    CLAIM(written)->selector = label_selector_new(NULL, 0);
    CLAIM(written)->phase = CLAIM_BOUND;
    CLAIM(written)->conditions = conditions;
    written->labels = api_test_labels(test, "a=b");

    g_autoptr(Object) spec = object_edit(stored);
    object_take_fields(spec, written, FALSE);
    assert_int_equal(CLAIM(spec)->request_bytes, 5);
    assert_non_null(CLAIM(spec)->selector);
    assert_int_equal(CLAIM(spec)->phase, CLAIM_PENDING);
    assert_null(CLAIM(spec)->conditions);
    assert_null(spec->labels);

    g_autoptr(Object) status = object_edit(stored);
    object_take_fields(status, written, TRUE);
    assert_int_equal(CLAIM(status)->request_bytes, 0);
    assert_null(CLAIM(status)->selector);
    assert_int_equal(CLAIM(status)->phase, CLAIM_BOUND);
    assert_ptr_equal(CLAIM(status)->conditions, conditions);

    object_take_fields(spec, written, TRUE);
    object_set_label(spec, api_parser_intern(&test->parser, "a"),
                     api_parser_intern(&test->parser, "b"));
    assert_true(object_equal(spec, written));
}

TEST(owners)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) set =
        object_new(objects_key(test->objects, KIND_STATEFUL_SET, "default", "web"));
    g_autoptr(Object) node = object_new(objects_key(test->objects, KIND_NODE, NULL, "n"));
    g_autoptr(Object) pod = object_new(objects_key(test->objects, KIND_POD, "default", "web-0"));

    set->uid = objects_uid(test->objects, set->key, 1);
    node->uid = objects_uid(test->objects, node->key, 1);
    assert_null(object_controller(pod));
    object_set_owner(pod, node, FALSE, FALSE);
    object_set_owner(pod, set, TRUE, TRUE);
    object_set_owner(pod, set, TRUE, TRUE); /* once only */
    assert_int_equal(pod->owners->n_items, 2);
    assert_ptr_equal(object_controller(pod)->key, set->key);
    assert_true(object_is_controlled_by(pod, set));
    assert_false(object_is_controlled_by(pod, node));

    json_t *json = object_to_json(pod);
    const json_t *owner =
        json_array_get(json_object_get(json_object_get(json, "metadata"), "ownerReferences"), 1);
    assert_string_equal(json_string_value(json_object_get(owner, "apiVersion")), "apps/v1");
    assert_string_equal(json_string_value(json_object_get(owner, "kind")), "StatefulSet");
    json_decref(json);
}

TEST(one_of_many)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) first = object_new(objects_key(test->objects, KIND_POD, "default", "web-0"));
    ObjectKey *key = objects_key(test->objects, KIND_POD, "default", "web-1");

    first->uid = objects_uid(test->objects, first->key, 1);
    first->resource_version = 7;
    g_autoptr(Object) second = object_edit_as(first, key);
    assert_ptr_equal(second->key, key);
    assert_false(object_uid_is_set(second->uid));
    assert_int_equal(second->resource_version, 0);
    assert_ptr_equal(POD(second)->spec, POD(first)->spec);
}
