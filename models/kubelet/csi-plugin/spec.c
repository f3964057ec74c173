/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, paths and decisions that need no request: csi_plugin.go, csi_util.go, and parts of
 * csi_mounter.go, csi_attacher.go and csi_block.go. All of it follows from the volume, its
 * CSIDriver object, the pod and the release: lifecycle mode, access modes, group and SELinux label
 * of files, paths. Tables decide; tests walk all their facts.
 *
 * Paths are interned when an operation begins, because plans compare and keep them. */
#include "csi-plugin.h"
#include "models/kubelet/csi-plugin/csi-plugin-test.h"

#define PERSISTENT "Persistent"
#define EPHEMERAL "Ephemeral"
#define DEFAULT_FS_GROUP_POLICY "ReadWriteOnceWithFSType"
#define CSI_DIR KUBELET_DIR "/plugins/kubernetes.io/csi"

/* ---- Access modes: KVM-44 ---- */

/* Without and with the node capability SINGLE_NODE_MULTI_WRITER. */
static const struct {
    AccessModes mode;
    CsiAccessMode single, multi;
} access_modes[] = {
    {ACCESS_RWO,  CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {ACCESS_RWOP, CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
    {ACCESS_ROX,  CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
};

CsiAccessMode
csi_spec_access_mode(uint32_t modes, gboolean multi)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(access_modes); i++)
        if ((modes & access_modes[i].mode) != 0)
            return multi ? access_modes[i].multi : access_modes[i].single;
    return CSI_MODE_UNKNOWN;
}

uint32_t
csi_spec_modes(const Volume *volume)
{
    const uint32_t modes = volume_access_modes(volume);

    return modes == 0 ? ACCESS_RWO : modes;
}

CsiNodeCapabilities
csi_spec_node_capabilities(CsiNodeCapabilities can, const Release *release)
{
    if ((can & CSI_NODE_VOLUME_MOUNT_GROUP) == 0 ||
        release_has_gate(release, "DelegateFSGroupToCSIDriver"))
        return can;
    return can & ~(CsiNodeCapabilities)CSI_NODE_VOLUME_MOUNT_GROUP;
}

CsiCapability
csi_spec_capability(Strings *strings,
                    const Volume *volume,
                    uint32_t modes,
                    CsiNodeCapabilities can,
                    int64_t fs_group)
{
    gboolean is_block = volume->volume_mode == VOLUME_BLOCK;
    CsiCapability capability = {
        .mode = csi_spec_access_mode(modes, (can & CSI_NODE_SINGLE_NODE_MULTI_WRITER) != 0),
        .type = is_block ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
        .fs_type = is_block ? NULL : volume->source->fs_type,
        .mount_flags = is_block ? NULL : volume->mount_options,
    };

    if (!is_block && fs_group >= 0 && (can & CSI_NODE_VOLUME_MOUNT_GROUP) != 0)
        capability.volume_mount_group = strings_internf(strings, "%" G_GINT64_FORMAT, fs_group);
    return capability;
}

/* ---- The driver's own word ---- */

gboolean
csi_spec_tells_pod(const CsiDriverObject *driver)
{
    return driver != NULL && driver->pod_info_on_mount;
}

const char *
csi_spec_fs_group_policy(const CsiDriverObject *driver)
{
    return driver == NULL ? DEFAULT_FS_GROUP_POLICY : driver->fs_group_policy;
}

/* ---- Modes of life: CSP-4, CSP-5 ---- */

const char *
csi_spec_lifecycle_mode(const VolumeSource *source)
{
    return source->is_inline ? EPHEMERAL : PERSISTENT;
}

typedef enum {
    KNOWN = 1 << 0, /* there is a CSIDriver object */
    LASTING = 1 << 1,
    LISTED = 1 << 2, /* the object lists the mode */
    LIFECYCLE_FACTS_END = 1 << 3,
} LifecycleFacts;

typedef enum {
    ALLOWED,
    NO_OBJECT,
    NOT_LISTED,
} LifecycleFault;

static const Rule lifecycle_table[] = {
    {"CSP-5.1", LASTING,        KNOWN,           ALLOWED   },
    {"CSP-5.2", 0,              KNOWN | LASTING, NO_OBJECT },
    {"CSP-5.3", KNOWN | LISTED, 0,               ALLOWED   },
    {"CSP-5.4", KNOWN,          LISTED,          NOT_LISTED},
};

static const RuleBound lifecycle_bounds[] = {
    {.given = LISTED, .all = KNOWN},
};

const RuleTable csi_lifecycle_rules = RULE_TABLE("kubelet: lifecycle modes of CSI volumes",
                                                 LIFECYCLE_FACTS_END,
                                                 lifecycle_table,
                                                 RULE_BOUNDS(lifecycle_bounds));

/* As Go prints a list of strings by %q. Returns: (owned) */
static char *
quoted_modes(const StringList *modes)
{
    GString *text = g_string_new("[");

    for (unsigned i = 0; modes != NULL && i < modes->n_items; i++)
        g_string_append_printf(text, "%s\"%s\"", i == 0 ? "" : " ", modes->items[i]);
    if (modes == NULL) /* the API server's default */
        g_string_append(text, "\"" PERSISTENT "\"");
    return g_string_free(g_string_append_c(text, ']'), FALSE);
}

char *
csi_spec_lifecycle_fault(const char *mode, const char *name, const CsiDriverObject *driver)
{
    gboolean lasts = g_str_equal(mode, PERSISTENT);
    unsigned facts = lasts ? LASTING : 0;

    if (driver != NULL) {
        gboolean listed = driver->lifecycle_modes == NULL
                              ? lasts
                              : string_list_has(driver->lifecycle_modes, mode);
        facts |= KNOWN | (listed ? LISTED : 0);
    }
    switch ((LifecycleFault)rules_find(&csi_lifecycle_rules, facts, NULL)->then) {
    case ALLOWED:
        return NULL;
    case NO_OBJECT:
        return g_strdup_printf("volume mode \"%s\" not supported by driver %s (no CSIDriver "
                               "object)",
                               mode, name);
    case NOT_LISTED: {
        g_autofree char *modes = quoted_modes(driver->lifecycle_modes);
        return g_strdup_printf("volume mode \"%s\" not supported by driver %s (only supports %s)",
                               mode, name, modes);
    }
    }
    g_assert_not_reached();
}

/* ---- The group of files: CSP-8 ---- */

typedef enum {
    WANTED = 1 << 0, /* the pod has an fsGroup */
    READ_ONLY = 1 << 1,
    NEVER = 1 << 2,  /* policy None */
    ALWAYS = 1 << 3, /* policy File */
    TYPED = 1 << 4,  /* the volume has a file system type */
    SINGLE = 1 << 5, /* it is ReadWriteOnce or ReadWriteOncePod, or inline */
    FS_GROUP_FACTS_END = 1 << 6,
} FsGroupFacts;

typedef enum {
    LEAVE,
    CHANGE,
} FsGroupAction;

#define OTHER_POLICIES (READ_ONLY | NEVER | ALWAYS)

static const Rule fs_group_table[] = {
    {"CSP-8.1", 0,                       WANTED,                  LEAVE },
    {"CSP-8.2", WANTED | NEVER,          0,                       LEAVE },
    {"CSP-8.3", WANTED | READ_ONLY,      NEVER,                   LEAVE },
    {"CSP-8.4", WANTED | ALWAYS,         READ_ONLY,               CHANGE},
    {"CSP-8.5", WANTED,                  OTHER_POLICIES | TYPED,  LEAVE },
    {"CSP-8.6", WANTED | TYPED,          OTHER_POLICIES | SINGLE, LEAVE },
    {"CSP-8.7", WANTED | TYPED | SINGLE, OTHER_POLICIES,          CHANGE},
};

static const RuleBound fs_group_bounds[] = {
    {.given = NEVER, .none = ALWAYS},
};

const RuleTable csi_fs_group_rules = RULE_TABLE("kubelet: fsGroup of CSI volumes",
                                                FS_GROUP_FACTS_END,
                                                fs_group_table,
                                                RULE_BOUNDS(fs_group_bounds));

gboolean
csi_spec_changes_group(const Volume *volume,
                       const char *fs_type,
                       int64_t fs_group,
                       const char *policy,
                       gboolean read_only)
{
    const uint32_t single_modes = ACCESS_RWO | ACCESS_RWOP;
    unsigned facts = 0;

    facts |= fs_group >= 0 ? WANTED : 0;
    facts |= read_only ? READ_ONLY : 0;
    facts |= g_strcmp0(policy, "None") == 0 ? NEVER : 0;
    facts |= g_strcmp0(policy, "File") == 0 ? ALWAYS : 0;
    facts |= !csi_is_empty(fs_type) ? TYPED : 0;
    if (volume != NULL && ((volume_access_modes(volume) & single_modes) != 0 ||
                           (volume->source != NULL && volume->source->is_inline)))
        facts |= SINGLE;
    return rules_find(&csi_fs_group_rules, facts, NULL)->then == CHANGE;
}

/* ---- The walk through a volume's files: CSP-22 ---- */

typedef enum {
    ON_MISMATCH = 1 << 0, /* the pod's policy is OnRootMismatch */
    ROOT_FITS = 1 << 1,   /* the root has the wanted group, and the modes of an earlier walk */
    WALK_FACTS_END = 1 << 2,
} WalkFacts;

typedef enum {
    SKIP,
    WALK,
} WalkAction;

#define POLICY_GATE "ConfigurableFSGroupPolicy"

/* clang-format off */
static const Rule walk_table[] = {
    {"CSP-23.1", 0,                       ON_MISMATCH, WALK},
    {"CSP-23.2", ON_MISMATCH,             ROOT_FITS,   WALK},
    {"CSP-23.3", ON_MISMATCH | ROOT_FITS, 0,           SKIP, .gate = POLICY_GATE},
    {"CSP-23.4", ON_MISMATCH | ROOT_FITS, 0,           WALK, .no_gate = POLICY_GATE},
};
/* clang-format on */

const RuleTable csi_walk_rules =
    RULE_TABLE("kubelet: change of files' group", WALK_FACTS_END, walk_table);

const char *
csi_spec_walks(const PodSpec *pod, const CsiFiles *files, const Release *release, gboolean *walks)
{
    unsigned facts = 0;

    facts |= g_strcmp0(pod->fs_group_policy, "OnRootMismatch") == 0 ? ON_MISMATCH : 0;
    facts |= files->group == pod->fs_group ? ROOT_FITS : 0;
    const Rule *rule = rules_find(&csi_walk_rules, facts, release);
    *walks = rule->then == WALK;
    return rule->id;
}

const char *
csi_spec_walked_directory(const char *target_path)
{
    return target_path + strlen(KUBELET_DIR "/pods/");
}

/* ---- SELinux: CSP-25 ---- */

typedef enum {
    ENFORCED = 1 << 0,  /* the node has SELinux */
    SUPPORTED = 1 << 1, /* the driver mounts with -o context */
    LEVEL = 1 << 2,     /* the pod sets its own level */
    RECURSIVE = 1 << 3, /* ... and asks for relabelling */
    RWOP = 1 << 4,
    SELINUX_FACTS_END = 1 << 5,
} SelinuxFacts;

#define RWOP_GATE "SELinuxMountReadWriteOncePod"
#define MOUNT_GATE "SELinuxMount"
#define POLICY_OF_PODS_GATE "SELinuxChangePolicy"

/* clang-format off */
static const Rule selinux_table[] = {
    {"CSP-25.1", 0,                                    ENFORCED,         CSI_SELINUX_NONE                         },
    {"CSP-25.2", ENFORCED,                             SUPPORTED,        CSI_SELINUX_RELABEL                      },
    {"CSP-25.3", ENFORCED | SUPPORTED,                 LEVEL,            CSI_SELINUX_RELABEL                      },
    {"CSP-25.4", ENFORCED | SUPPORTED | LEVEL | RECURSIVE, 0,            CSI_SELINUX_RELABEL                      },
    {"CSP-25.5", ENFORCED | SUPPORTED | LEVEL | RWOP,  RECURSIVE,        CSI_SELINUX_MOUNT, .gate = RWOP_GATE     },
    {"CSP-25.6", ENFORCED | SUPPORTED | LEVEL | RWOP,  RECURSIVE,        CSI_SELINUX_RELABEL, .no_gate = RWOP_GATE},
    {"CSP-25.7", ENFORCED | SUPPORTED | LEVEL,         RECURSIVE | RWOP, CSI_SELINUX_MOUNT, .gate = MOUNT_GATE    },
    {"CSP-25.8", ENFORCED | SUPPORTED | LEVEL,         RECURSIVE | RWOP, CSI_SELINUX_RELABEL, .no_gate = MOUNT_GATE},
};
/* clang-format on */

const RuleTable csi_selinux_rules =
    RULE_TABLE("kubelet: SELinux labels of volumes", SELINUX_FACTS_END, selinux_table);

static unsigned
selinux_facts(const Object *node,
              const CsiDriverObject *driver,
              const Volume *volume,
              const PodSpec *pod,
              const Release *release)
{
    unsigned facts = 0;

    facts |= csi_spec_has_selinux(node) ? ENFORCED : 0;
    facts |= driver != NULL && driver->selinux_mount ? SUPPORTED : 0;
    facts |= pod->selinux.level != NULL ? LEVEL : 0;
    if (g_strcmp0(pod->selinux_policy, "Recursive") == 0 &&
        release_has_gate(release, POLICY_OF_PODS_GATE))
        facts |= RECURSIVE;
    facts |= volume->access_modes == ACCESS_RWOP ? RWOP : 0;
    return facts;
}

gboolean
csi_spec_has_selinux(const Object *node)
{
    return node != NULL && g_strcmp0(object_annotation(node, ANNOTATION_SELINUX), "true") == 0;
}

CsiSelinux
csi_spec_selinux(const Object *node,
                 const CsiDriverObject *driver,
                 const Volume *volume,
                 const PodSpec *pod,
                 const Release *release)
{
    unsigned facts = selinux_facts(node, driver, volume, pod, release);

    return (CsiSelinux)rules_find(&csi_selinux_rules, facts, release)->then;
}

/* The file's context of targeted policies: /etc/selinux/targeted/contexts/lxc_contexts. */
static const char *
file_label(Strings *strings, const PodSpec *pod)
{
    return strings_internf(strings, "%s:object_r:container_file_t:%s",
                           pod->selinux.user == NULL ? "system_u" : pod->selinux.user,
                           pod->selinux.level);
}

const char *
csi_spec_context_option(Strings *strings, const PodSpec *pod)
{
    return strings_internf(strings, "context=\"%s\"", file_label(strings, pod));
}

/* ---- Labels of two pods: CSP-28 ---- */

const char *
csi_spec_label(Strings *strings,
               const Object *node,
               const CsiDriverObject *driver,
               const Volume *volume,
               const PodSpec *pod,
               const Release *release)
{
    const unsigned labelled = ENFORCED | SUPPORTED | LEVEL;
    unsigned facts = selinux_facts(node, driver, volume, pod, release) & ~RWOP;

    return facts == labelled && release_has_gate(release, RWOP_GATE) ? file_label(strings, pod)
                                                                     : strings_intern(strings, "");
}

typedef enum {
    DIFFERENT = 1 << 0,
    OF_ONE_POD = 1 << 1, /* the volume is ReadWriteOncePod */
    CONFLICT_FACTS_END = 1 << 2,
} ConflictFacts;

/* clang-format off */
static const Rule conflict_table[] = {
    {"CSP-28.1", 0,                      DIFFERENT,  CSI_LABELS_AGREE},
    {"CSP-28.2", DIFFERENT | OF_ONE_POD, 0,          CSI_LABELS_CONFLICT},
    {"CSP-28.3", DIFFERENT,              OF_ONE_POD, CSI_LABELS_CONFLICT, .gate = MOUNT_GATE},
    {"CSP-28.4", DIFFERENT,              OF_ONE_POD, CSI_LABELS_DIFFER, .no_gate = MOUNT_GATE},
};
/* clang-format on */

const RuleTable csi_conflict_rules =
    RULE_TABLE("kubelet: SELinux labels of two pods", CONFLICT_FACTS_END, conflict_table);

CsiLabels
csi_spec_compare_labels(const Volume *volume,
                        const char *theirs,
                        const char *ours,
                        const Release *release,
                        const char **rule)
{
    unsigned facts = 0;

    facts |= !strings_same(theirs, ours) ? DIFFERENT : 0;
    facts |= volume->access_modes == ACCESS_RWOP ? OF_ONE_POD : 0;
    const Rule *found = rules_find(&csi_conflict_rules, facts, release);
    *rule = found->id;
    return (CsiLabels)found->then;
}

gboolean
csi_spec_mounts_with_label(const Volume *volume, const Release *release)
{
    return volume->access_modes == ACCESS_RWOP || release_has_gate(release, MOUNT_GATE);
}

/* ---- Inline volumes: CSP-10 ---- */

Object *
csi_spec_inline_volume(const Component *component,
                       const Object *pod,
                       const PodVolume *inline_volume)
{
    Object *object =
        object_new(objects_key(component->objects, KIND_VOLUME, NULL, inline_volume->name));
    SecretReference secrets[N_VOLUME_SECRETS] = {{0}};
    VolumeSource source = *inline_volume->source;
    const SecretReference *secret = volume_source_secret(&source, SECRET_NODE_PUBLISH);

    source.handle = volume_inline_handle(component->strings, pod->uid, inline_volume->name);
    source.attributes = string_map_ref(source.attributes);
    if (secret != NULL)
        secrets[SECRET_NODE_PUBLISH] = (SecretReference){pod->key->namespace, secret->name};
    source.secrets = volume_secrets_new(secrets);
    VOLUME(object)->source = volume_source_new(&source);
    return object;
}

/* ---- Paths: KVM-42, KVM-57 ---- */

const char *
csi_spec_staging_path(Strings *strings, const Volume *volume)
{
    const VolumeSource *source = volume->source;

    if (source == NULL || source->is_inline || csi_is_empty(source->driver) ||
        csi_is_empty(source->handle))
        return NULL;
    if (volume->volume_mode == VOLUME_BLOCK)
        return strings_internf(strings, CSI_DIR "/volumeDevices/staging/%s",
                               volume->meta.key->name);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, source->handle, -1);
    return strings_internf(strings, CSI_DIR "/%s/%s/globalmount", source->driver, sum);
}

const char *
csi_spec_target_path(Strings *strings, const Volume *volume, ObjectUid pod)
{
    const char *name = volume->meta.key->name;
    char uid[OBJECT_UID_BUFFER];

    object_uid_format(pod, uid);
    if (volume->volume_mode == VOLUME_BLOCK)
        return strings_internf(strings, CSI_DIR "/volumeDevices/publish/%s/%s", name, uid);
    return strings_internf(strings, KUBELET_DIR "/pods/%s/volumes/kubernetes.io~csi/%s/mount", uid,
                           name);
}

const char *
csi_spec_global_map_path(Strings *strings, const char *name)
{
    return strings_internf(strings, CSI_DIR "/volumeDevices/%s/dev", name);
}

const char *
csi_spec_pod_map_path(Strings *strings, const char *pod_uid)
{
    return strings_internf(strings, KUBELET_DIR "/pods/%s/volumeDevices/kubernetes.io~csi",
                           pod_uid);
}

/* ---- The volume's context: CSP-9, CSP-11 ---- */

#define TOKEN_LIFE_S 3600 /* authentication/v1, TokenRequestSpec.expirationSeconds */
#define AUDIENCE_OF_API "api"

static const char *
account_of(const Pod *pod)
{
    return pod->spec->service_account != NULL ? pod->spec->service_account : "default";
}

/* A made-up token tells its owner, its duration and its audience. Returns: interned */
static const char *
make_tokens(Strings *strings, const TokenRequests *requests, const Pod *pod, SimTime now)
{
    json_t *tokens = json_object();

    for (unsigned i = 0; i < requests->n_items; i++) {
        const TokenRequest *request = &requests->items[i];
        int64_t life_s = request->expiration_s < 0 ? TOKEN_LIFE_S : request->expiration_s;
        char expires[64];
        g_autofree char *token = g_strdup_printf(
            "%s:%s:%" G_GINT64_FORMAT ":[%s]", pod->meta.key->namespace, account_of(pod), life_s,
            *request->audience == '\0' ? AUDIENCE_OF_API : request->audience);
        json_object_set_new(tokens, request->audience,
                            json_pack("{s:s, s:s}", "token", token, "expirationTimestamp",
                                      api_time_format(now + life_s * SIM_SECOND, FALSE, expires)));
    }
    char *text = json_dumps(tokens, JSON_COMPACT | JSON_SORT_KEYS);
    const char *interned = strings_intern(strings, text);
    free(text);
    json_decref(tokens);
    return interned;
}

static StringMap *
with_pair(StringMap *taken, Strings *strings, const char *key, const char *value)
{
    StringMap *with =
        string_map_with(taken, strings_intern(strings, key), strings_intern(strings, value));

    string_map_unref(taken);
    return with;
}

StringMap *
csi_spec_context(Strings *strings,
                 const VolumeSource *source,
                 const CsiDriverObject *driver,
                 const Pod *pod,
                 SimTime now)
{
    StringMap *context = string_map_ref(source->attributes);
    char uid[OBJECT_UID_BUFFER];

    if (csi_spec_tells_pod(driver)) {
        const StringPair info[] = {
            {"csi.storage.k8s.io/pod.name",      pod->meta.key->name            },
            {"csi.storage.k8s.io/pod.namespace", pod->meta.key->namespace       },
            {"csi.storage.k8s.io/pod.uid",       object_uid_format(pod->meta.uid, uid)},
            {"csi.storage.k8s.io/serviceAccount.name",                                  account_of(pod)                         },
            {"csi.storage.k8s.io/ephemeral",                                  source->is_inline ? "true" : "false"          },
        };
        for (unsigned i = 0; i < G_N_ELEMENTS(info); i++)
            context = with_pair(context, strings, info[i].key, info[i].value);
    }
    if (driver != NULL && driver->token_requests != NULL)
        context = with_pair(context, strings, "csi.storage.k8s.io/serviceAccount.tokens",
                            make_tokens(strings, driver->token_requests, pod, now));
    return context;
}

/* ---- For operations ---- */

/* Names and paths; also for a volume that was mounted when the cluster was imported. */
void
csi_steps_prepare_device(Kubelet *self, NodeVolume *volume)
{
    const Volume *pv = VOLUME_CONST(volume->pv);

    if (!volume_plugin_is_csi(volume->plugin))
        return;
    if (volume->attachable && volume->attachment == NULL)
        volume->attachment = volume_attachment_key(self->base.objects, pv->source->driver,
                                                   pv->source->handle, self->base.node_name);
    if (volume->staging_path == NULL)
        volume->staging_path = csi_spec_staging_path(self->base.strings, pv);
}

void
csi_steps_prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount)
{
    csi_steps_prepare_device(self, volume);
    if (mount->target_path == NULL && volume_plugin_is_csi(volume->plugin))
        mount->target_path =
            csi_spec_target_path(self->base.strings, VOLUME_CONST(volume->pv), mount->worker->uid);
}
