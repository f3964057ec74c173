/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what a cluster printed; nothing of a run comes here */
/* Replaces names, namespaces, labels, parameters and messages that would identify the user's
 * cluster. All words are learned first and numbered in their order, so the same dump always gives
 * the same stand-ins, and equal words stay equal in every file. Words of Kubernetes and its drivers
 * stay, and so do members whose values are enumerations, times or quantities; a message is replaced
 * as a whole. A name that is computed of other names (an attachment's) is computed anew. */
#include "anonymize.h"

#include <string.h>

#include "clients.h"
#include "models/api/fields.h"
#include "models/volume/plugins.h"
#include "sim/strings.h"

struct Anonymizer {
    GHashTable *words;  /* word (owned) -> stand-in (owned); NULL: not numbered yet */
    GHashTable *others; /* the same for messages and the like, which are replaced whole */
    GHashTable *kept;   /* words (owned) that stay, as kept_words */
    gboolean is_numbered;
    gboolean is_reading; /* words are learned, not replaced */
};

/* Words of Kubernetes and its drivers, in names and texts. */
static const char *const kept_words[] = {
    "CronJob",     "DaemonSet",   "Deployment", "Job",         "Node",      "Pod",
    "ReplicaSet",  "StatefulSet", "amd64",      "arm64",       "attacher",  "bound",
    "by",          "cluster",     "conf",       "controller",  "coredns",   "critical",
    "csi",         "default",     "driver",     "ephemeral",   "etcd",      "ext4",
    "external",    "false",       "health",     "io",          "k8s",       "kube",
    "kubelet",     "kubernetes",  "lease",      "lib",         "linux",     "manager",
    "monitor",     "no",          "node",       "none",        "null",      "plugin",
    "plugins",     "pods",        "protection", "provisioner", "proxy",     "public",
    "pv",          "pvc",         "registrar",  "resizer",     "scheduler", "snapshot",
    "snapshotter", "storage",     "system",     "topology",    "true",      "v1",
    "var",         "windows",     "xfs",        "yes",
};

/* Members whose values are enumerations, times, quantities, or of the simulator. */
static const char *const kept_members[] = {
    "accessModes",
    "allocatable",
    "allocatedResourceStatuses",
    "apiVersion",
    "at",
    "capacity",
    "code",
    "component",
    "components",
    "controllerCapabilities",
    "cpu",
    "deletionPolicy",
    "do",
    "effect",
    "featureGates",
    "for",
    "format",
    "from",
    "fsGroupChangePolicy",
    "fsGroupPolicy",
    "fsType",
    "hard",
    "kind",
    "kubeletVersion",
    "latency",
    "limits",
    "manifests",
    "maximumVolumeSize",
    "memory",
    "method",
    "milestones",
    "nodeCapabilities",
    "nodeInfo",
    "operator",
    "persistentVolumeReclaimPolicy",
    "phase",
    "pluginCapabilities",
    "podManagementPolicy",
    "policy",
    "preemptionPolicy",
    "profile",
    "qosClass",
    "reason",
    "reclaimPolicy",
    "requests",
    "resizeStatus",
    "resource",
    "resourceVersion",
    "restartAfter",
    "restartPolicy",
    "restoreSize",
    "scope",
    "sidecars",
    "start",
    "status",
    "storage",
    "terminationMessagePolicy",
    "type",
    "uid",
    "unhealthyPodEvictionPolicy",
    "until",
    "used",
    "verb",
    "version",
    "volumeBindingMode",
    "volumeLifecycleModes",
    "volumeMode",
    "whenDeleted",
    "whenScaled",
    "whenUnsatisfiable",
};

/* Members whose texts are for people, or a driver's own. */
static const char *const whole_members[] = {"message", "note", "description", "error", "missing"};

static gboolean
is_in(const char *const *list, gsize n, const char *text)
{
    for (gsize i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return TRUE;
    return FALSE;
}

Anonymizer *
anonymizer_new(void)
{
    Anonymizer *self = g_new0(Anonymizer, 1);

    self->words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(kept_words); i++)
        g_hash_table_add(self->kept, g_strdup(kept_words[i]));
    self->others = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return self;
}

void
anonymizer_free(Anonymizer *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->kept);
    g_hash_table_unref(self->words);
    g_hash_table_unref(self->others);
    g_free(self);
}

/* ---- Words ---- */

#define UID_LENGTH 36

static gboolean
is_uid(const char *text, gsize length)
{
    if (length < UID_LENGTH)
        return FALSE;
    for (unsigned i = 0; i < UID_LENGTH; i++) {
        gboolean is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !g_ascii_isxdigit(text[i]))
            return FALSE;
    }
    return TRUE;
}

/* Ordinals, sizes and ports stay; longer numbers may be accounts. */
static gboolean
anonymize_is_number(const char *text, gsize length)
{
    for (gsize i = 0; i < length; i++)
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
    return length < 6;
}

/* Returns: the length of an address such as 10.0.0.1 at @text; 0: none is there */
static gsize
address_length(const char *text)
{
    unsigned dots = 0;
    gsize n = 0;

    while (g_ascii_isdigit(text[n]) || (text[n] == '.' && n > 0 && g_ascii_isdigit(text[n + 1])))
        dots += text[n++] == '.';
    return dots == 3 ? n : 0;
}

static gsize
word_length(const char *text)
{
    gsize n = 0;

    while (g_ascii_isalnum(text[n]) || (text[n] & 0x80) != 0) /* UTF-8 is part of a word */
        n++;
    return n;
}

static void
learn(Anonymizer *self, const char *word, gsize length)
{
    g_autofree char *copy = g_strndup(word, length);

    if (!g_hash_table_contains(self->kept, copy) && !g_hash_table_contains(self->words, copy))
        g_hash_table_insert(self->words, g_steal_pointer(&copy), NULL);
}

/* In the order of the words. */
static void
number_words(Anonymizer *self)
{
    unsigned n_words;
    g_autofree char **sorted = (char **)g_hash_table_get_keys_as_array(self->words, &n_words);
    int digits = 4; /* five letters, as the end of a pod's name */

    for (unsigned n = n_words; n >= 10000; n /= 10)
        digits++;
    qsort(sorted, n_words, sizeof *sorted, strings_compare);
    for (unsigned i = 0; i < n_words; i++)
        g_hash_table_insert(self->words, g_strdup(sorted[i]), g_strdup_printf("w%0*u", digits, i));
    self->is_numbered = TRUE;
}

/* A word that was never seen has no place in the order. */
static const char *
stand_in(Anonymizer *self, const char *word, gsize length, gboolean is_sentence)
{
    g_autofree char *copy = g_strndup(word, length);
    const char *found;

    if (g_hash_table_contains(self->kept, copy))
        return NULL;
    found = g_hash_table_lookup(self->words, copy);
    if (found == NULL && !is_sentence) {
        char *made = g_strdup_printf("x%u", g_hash_table_size(self->words));
        g_hash_table_insert(self->words, g_steal_pointer(&copy), made);
        found = made;
    }
    return found;
}

static void
put_word(Anonymizer *self, GString *out, const char *word, gsize length, gboolean is_sentence)
{
    const char *found = NULL;

    if (self->is_reading)
        learn(self, word, length);
    else
        found = stand_in(self, word, length, is_sentence);
    if (found != NULL)
        g_string_append(out, found);
    else
        g_string_append_len(out, word, (gssize)length);
}

/* Goes through the words of @text. */
static void
put_text(Anonymizer *self, GString *out, const char *text, gboolean is_sentence)
{
    while (*text != '\0') {
        gsize n = address_length(text);
        gboolean stays = FALSE;
        if (n == 0 && is_uid(text, strlen(text))) {
            n = UID_LENGTH;
            stays = TRUE;
        }
        if (n == 0)
            n = word_length(text);
        if (n == 0) {
            g_string_append_c(out, *text++);
            continue;
        }
        if (stays || anonymize_is_number(text, n) || (is_sentence && n < 3)) /* "a", "of" */
            g_string_append_len(out, text, (gssize)n);
        else
            put_word(self, out, text, n, is_sentence);
        text += n;
    }
}

/* ---- Values ---- */

/* Keys of labels and annotations that Kubernetes and its sidecars know. */
static gboolean
is_known_key(const char *key)
{
    static const char *const domains[] = {"kubernetes.io", "k8s.io", "kvolsim.io"};
    static const char *const plain[] = {
        "controller-revision-hash", "controller-uid",    "job-name",
        "pod-template-generation",  "pod-template-hash", "metadata.name" /* of matchFields */};
    const char *slash = strchr(key, '/');

    if (is_in(plain, G_N_ELEMENTS(plain), key))
        return TRUE;

    for (unsigned i = 0; slash != NULL && i < G_N_ELEMENTS(domains); i++) {
        gsize tail = strlen(domains[i]), length = (gsize)(slash - key);
        if (length >= tail && memcmp(slash - tail, domains[i], tail) == 0 &&
            (length == tail || slash[-(gssize)tail - 1] == '.'))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_kept(const char *member, const json_t *value)
{
    if (json_is_object(json_array_get(value, 0)) ||
        (json_is_object(value) && strcmp(member, "status") == 0))
        return FALSE;
    if (strcmp(member, "client") == 0)
        return sender_name_is_known(json_string_value(value));
    return g_str_has_suffix(member, "Timestamp") || g_str_has_suffix(member, "Time") ||
           g_str_has_suffix(member, "At") ||
           is_in(kept_members, G_N_ELEMENTS(kept_members), member);
}

/* Keys of labels that are Kubernetes' own, up to a last part that is not, and names of resources
 * with a class before or a vendor's domain in them. */
static void
put_key(Anonymizer *self, GString *out, const char *key)
{
    static const char role[] = "node-role.kubernetes.io/",
                      class[] = ".storageclass.storage.k8s.io/";
    static const char *const roles[] = {"control-plane", "master", "worker", ""};
    const char *of_class = strstr(key, class), *rest = key + strlen(role);

    if (of_class != NULL) {
        g_autofree char *name = g_strndup(key, (gsize)(of_class - key));
        put_text(self, out, name, FALSE);
        g_string_append(out, of_class);
    } else if (g_str_has_prefix(key, role) && !is_in(roles, G_N_ELEMENTS(roles), rest)) {
        g_string_append(out, role);
        put_text(self, out, rest, FALSE);
    } else if (is_known_key(key)) {
        g_string_append(out, key);
    } else {
        put_text(self, out, key, FALSE);
    }
}

/* A member that is kept. Resources may be a vendor's: "example.com/gpu". */
static json_t *
replace_keys(Anonymizer *self, const json_t *value)
{
    json_t *copy, *member;
    const char *key;

    if (!json_is_object(value))
        return json_deep_copy(value);
    copy = json_object();
    json_object_foreach((json_t *)value, key, member) {
        const char *slash = strchr(key, '/');
        g_autoptr(GString) name = g_string_new(NULL);
        if (slash != NULL && memchr(key, '.', (gsize)(slash - key)) != NULL)
            put_key(self, name, key);
        else
            g_string_append(name, key);
        json_object_set_new(copy, name->str, json_deep_copy(member));
    }
    return copy;
}

/* Whether an object is, or refers to, a custom resource: its kind may tell whose it is. */
static gboolean
refers_to_custom(const json_t *object)
{
    const char *group = json_path_string(object, "apiVersion");

    if (group == NULL)
        group = json_path_string(object, "apiGroup");
    const char *dot = group == NULL ? NULL : strchr(group, '.');
    return dot != NULL && strstr(dot, ".k8s.io") == NULL && !g_str_has_prefix(group, "kvolsim.io/");
}

static json_t *replace(Anonymizer *self, const json_t *value, const char *member, gboolean is_map);

static json_t *
replace_text(Anonymizer *self, const char *text, const char *member)
{
    g_autoptr(GString) out = g_string_new(NULL);

    if (member != NULL && is_in(whole_members, G_N_ELEMENTS(whole_members), member)) {
        if (*text == '\0')
            return json_string("");
        const char *known = g_hash_table_lookup(self->others, text);
        if (known == NULL) {
            char *made = g_strdup_printf("%s %u", member, g_hash_table_size(self->others) + 1);
            g_hash_table_insert(self->others, g_strdup(text), made);
            known = made;
        }
        return json_string(known);
    }
    /* A finalizer, or the key of an expression; a volume's name has more slashes. */
    if (strchr(text, '/') == strrchr(text, '/'))
        put_key(self, out, text);
    else
        put_text(self, out, text, FALSE);
    return json_string(out->str);
}

/* Maps whose keys are a user's. */
static gboolean
has_user_keys(const char *member)
{
    static const char *const maps[] = {"labels",        "matchLabels",   "annotations",
                                       "nodeSelector",  "parameters",    "volumeAttributes",
                                       "topology",      "options",       "attachmentMetadata",
                                       "volumeContext", "publishContext"};

    return is_in(maps, G_N_ELEMENTS(maps), member);
}

/* Of a scenario: a sentence. */
static json_t *
replace_comment(Anonymizer *self, const json_t *comment)
{
    g_autoptr(GString) out = g_string_new(NULL);

    if (!self->is_reading && json_is_string(comment))
        put_text(self, out, json_string_value(comment), TRUE);
    return json_string(out->str);
}

static json_t *
replace_object(Anonymizer *self, const json_t *object, gboolean is_map)
{
    gboolean is_custom = !is_map && refers_to_custom(object);
    json_t *copy = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)object, key, value) {
        gboolean tells_kind = strcmp(key, "kind") == 0 || strcmp(key, "apiVersion") == 0;
        g_autoptr(GString) name = g_string_new(NULL);
        if (is_map)
            put_key(self, name, key);
        else
            g_string_append(name, key);
        if (key[0] == '#') {
            json_object_set_new(copy, key, replace_comment(self, value));
            continue;
        }
        json_object_set_new(
            copy, name->str,
            g_str_has_prefix(key, "kvolsim.io/")
                ? json_deep_copy(value)
                : replace(self, value, tells_kind && is_custom ? NULL : key, is_map));
    }
    return copy;
}

static json_t *
replace(Anonymizer *self, const json_t *value, const char *member, gboolean is_map)
{
    json_t *copy, *item;
    gsize i;

    if (member != NULL && !is_map && is_kept(member, value))
        return replace_keys(self, value);
    if (json_is_string(value))
        return replace_text(self, json_string_value(value), is_map ? NULL : member);
    if (json_is_object(value))
        return replace_object(self, value, member != NULL && !is_map && has_user_keys(member));
    if (!json_is_array(value))
        return json_deep_copy(value);
    copy = json_array();
    json_array_foreach(value, i, item) {
        json_array_append_new(copy,
                              replace(self, item, json_is_object(item) ? NULL : member, is_map));
    }
    return copy;
}

void
anonymizer_keep(Anonymizer *self, const char *text)
{
    g_auto(GStrv) words = g_strsplit_set(text, ".-/", -1);

    for (unsigned i = 0; words[i] != NULL; i++)
        g_hash_table_add(self->kept, g_strdup(words[i]));
}

void
anonymizer_see(Anonymizer *self, const json_t *value)
{
    self->is_reading = TRUE;
    json_decref(replace(self, value, NULL, FALSE));
    self->is_reading = FALSE;
}

static void
get_ready(Anonymizer *self)
{
    if (!self->is_numbered)
        number_words(self);
}

json_t *
anonymizer_replace(Anonymizer *self, const json_t *value)
{
    get_ready(self);
    return replace(self, value, NULL, FALSE);
}

char *
anonymizer_sentence(Anonymizer *self, const char *text)
{
    GString *out = g_string_new(NULL);

    get_ready(self);
    put_text(self, out, text, TRUE);
    return g_string_free(out, FALSE);
}

/* The name that the attach/detach controller gives it. (owned) */
static char *
attachment_name(const char *handle, const char *driver, const char *node)
{
    g_autoptr(Objects) objects = objects_new(0);

    return g_strdup(volume_attachment_key(objects, driver, handle, node)->name);
}

static char *
replaced(Anonymizer *self, const char *text)
{
    GString *out = g_string_new(NULL);

    put_text(self, out, text, FALSE);
    return g_string_free(out, FALSE);
}

void
anonymizer_see_attachment(
    Anonymizer *self, const char *name, const char *handle, const char *driver, const char *node)
{
    g_autofree char *expected = attachment_name(handle, driver, node);

    get_ready(self);
    if (strcmp(name, expected) != 0)
        return; /* another controller's */
    g_autofree char *new_handle = replaced(self, handle);
    g_autofree char *new_driver = replaced(self, driver);
    g_autofree char *new_node = replaced(self, node);
    g_autofree char *made = attachment_name(new_handle, new_driver, new_node);
    g_hash_table_insert(self->words, g_strdup(name + strlen("csi-")),
                        g_strdup(made + strlen("csi-")));
}
