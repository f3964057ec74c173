/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cycle-world.h"
#include "models/api/api-test.h"
#include "tests/lib/test.h"

#include <string.h>

/* Clusters and pods that do not fit, and the words of FailedScheduling, to the letter (SCH-90..95).
 */

#define GIB (INT64_C(1) << 30)
#define ZONE "topology.kubernetes.io/zone"

const ModelClass *const model_classes[] = {NULL};

typedef struct {
    const char *title;
    /* "2a 1bu": two nodes of zone a and one of zone b that is cordoned. Flags: u cordoned, t
     * tainted k=v, e unreachable, c too few CPUs, m too little memory, p no room for pods, l CSI
     * driver with limit 0, L limit 1 */
    const char *nodes;
    /* Of claims "c", "d"...: "late static:a". missing; late (bound by the first pod), local (late,
     * from what volumes there are), selected:NODE; immediate; classless; named (a volume, not bound
     * yet); bound:ZONE, unbound:NAME (its volume is gone), labelled:ZONE (the volume's labels);
     * lost; deleted; rwop (in use on the first node), used (same, ReadWriteOnce); tracked (late,
     * driver without capacity) */
    const char *claims;
    const char *wants; /* s zone z, n another node, N n3 by its name, f pod affinity, a
                          anti-affinity to pods of zone a, d one pod a zone */
    const char *message;
} MessageCase;

#define HELPLESS(n)                                                                                \
    " preemption: 0/" n " nodes are available: " n " Preemption is not helpful for scheduling."
#define NO_VICTIMS(n)                                                                              \
    " preemption: 0/" n " nodes are available: " n " No preemption victims found for incoming "    \
    "pod."
#define MIXED(n, tried, rest)                                                                      \
    " preemption: 0/" n " nodes are available: " tried                                             \
    " No preemption victims found for incoming pod, " rest                                         \
    " Preemption is not helpful for scheduling."
#define NO_NODE_OF(n) "0/" n " nodes are available: "

/* Aligned columns would be wider than any screen. */
/* clang-format off */
static const MessageCase cases[] = {
    {"SCH-95 immediate claim", "5a", "immediate", "",
     NO_NODE_OF("5") "pod has unbound immediate PersistentVolumeClaims." HELPLESS("5")},
    {"VB-W6 class missing", "1a", "classless", "",
     NO_NODE_OF("1") "pod has unbound immediate PersistentVolumeClaims." HELPLESS("1")},
    {"VB-S2 volume named, not bound", "2a", "named", "",
     NO_NODE_OF("2") "pod has unbound immediate PersistentVolumeClaims." HELPLESS("2")},
    {"VB-15 claim missing", "2a", "missing", "",
     NO_NODE_OF("2") "persistentvolumeclaim \"c\" not found." HELPLESS("2")},
    {"VB-13 the second missing, the first immediate", "2a", "immediate missing", "",
     NO_NODE_OF("2") "persistentvolumeclaim \"d\" not found." HELPLESS("2")},
    {"VB-T4 claim lost", "1a", "lost", "",
     NO_NODE_OF("1") "persistentvolumeclaim \"c\" bound to non-existent persistentvolume "
                     "\"gone\"." HELPLESS("1")},
    {"VB-T5 claim deleted", "1a", "deleted", "",
     NO_NODE_OF("1") "persistentvolumeclaim \"c\" is being deleted." HELPLESS("1")},
    {"VB-T7 volume elsewhere", "3a", "bound:b", "",
     NO_NODE_OF("3") "3 node(s) had volume node affinity conflict." HELPLESS("3")},
    {"VB-T7 volumes in two zones", "1a 2b", "bound:a bound:b", "",
     NO_NODE_OF("3") "3 node(s) had volume node affinity conflict." HELPLESS("3")},
    {"VB-T8 no volumes", "2a", "local", "",
     NO_NODE_OF("2") "2 node(s) didn't find available persistent volumes to bind." HELPLESS("2")},
    {"VB-W4 another node selected", "2a", "selected:n9", "",
     NO_NODE_OF("2") "2 node(s) didn't find available persistent volumes to bind." HELPLESS("2")},
    {"VB-T9 no capacity", "2a", "tracked", "",
     NO_NODE_OF("2") "2 node(s) did not have enough free storage." HELPLESS("2")},
    {"VF-22 volume gone", "2a", "unbound:gone", "",
     NO_NODE_OF("2") "persistentvolume \"gone\" not found." HELPLESS("2")},
    {"VB-21 two reasons of a node", "1a", "bound:b local", "",
     NO_NODE_OF("1") "1 node(s) didn't find available persistent volumes to bind, 1 node(s) had "
                     "volume node affinity conflict." HELPLESS("1")},
    {"VF-20 zone label", "2b", "labelled:a", "",
     NO_NODE_OF("2") "2 node(s) had no available volume zone." HELPLESS("2")},
    {"VF-1 attach limit", "2al", "late", "",
     NO_NODE_OF("2") "2 node(s) exceed max volume count." NO_VICTIMS("2")},
    {"VF-1 two volumes, one allowed", "1aL", "late late", "",
     NO_NODE_OF("1") "1 node(s) exceed max volume count." NO_VICTIMS("1")},
    {"VF-V7 one pod only", "5a", "rwop", "",
     NO_NODE_OF("5") "5 node has pod using PersistentVolumeClaim with the same name and "
                     "ReadWriteOncePod access mode." NO_VICTIMS("5")},
    {"VF-40 cordoned", "2au", "", "",
     NO_NODE_OF("2") "2 node(s) were unschedulable." HELPLESS("2")},
    {"VF-46 cordoned and tainted", "1aut", "", "",
     NO_NODE_OF("1") "1 node(s) were unschedulable." HELPLESS("1")},
    {"VF-42 taint", "1at", "", "",
     NO_NODE_OF("1") "1 node(s) had untolerated taint {k: v}." HELPLESS("1")},
    {"VF-42 taint without value", "1ae", "", "",
     NO_NODE_OF("1") "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }." HELPLESS(
         "1")},
    {"VF-W11 the first taint only", "1ate 1ae", "", "",
     NO_NODE_OF("2") "1 node(s) had untolerated taint {k: v}, 1 node(s) had untolerated taint "
                     "{node.kubernetes.io/unreachable: }." HELPLESS("2")},
    {"VF-43 selector", "3a", "", "s",
     NO_NODE_OF("3") "3 node(s) didn't match Pod's node affinity/selector." HELPLESS("3")},
    {"VF-41 another node", "1a", "", "n",
     NO_NODE_OF("1") "1 node(s) didn't match the requested node name." HELPLESS("1")},
    {"VF-45 all that lacks", "1acm", "", "",
     NO_NODE_OF("1") "1 Insufficient cpu, 1 Insufficient memory." NO_VICTIMS("1")},
    {"VF-45 too many pods", "1ap", "", "", NO_NODE_OF("1") "1 Too many pods." NO_VICTIMS("1")},
    {"VF-70 no company", "2a", "", "f",
     NO_NODE_OF("2") "2 node(s) didn't match pod affinity rules." HELPLESS("2")},
    {"VF-70 unwanted company", "1a", "used", "a",
     NO_NODE_OF("1") "1 node(s) didn't match pod anti-affinity rules." NO_VICTIMS("1")},
    {"VF-63 skew", "1a 1bu", "used", "d",
     NO_NODE_OF("2") "1 node(s) didn't match pod topology spread constraints, 1 node(s) were "
                     "unschedulable." MIXED("2", "1", "1")},
    {"VF-60 no label", "1-", "", "d",
     NO_NODE_OF("1") "1 node(s) didn't match pod topology spread constraints (missing required "
                     "label)." HELPLESS("1")},
    {"SCH-V4 counts sort as text", "1au 10ac 2b", "bound:a", "",
     NO_NODE_OF("13") "1 node(s) were unschedulable, 10 Insufficient cpu, 2 node(s) had volume "
                      "node affinity conflict." MIXED("13", "10", "3")},
    {"SCH-94", "1au 2ac 2b", "bound:a", "",
     NO_NODE_OF("5") "1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) had volume node "
                     "affinity conflict." MIXED("5", "2", "3")},
    {"SCH-51 one plugin of a node", "1atcl", "late", "",
     NO_NODE_OF("1") "1 node(s) had untolerated taint {k: v}." HELPLESS("1")},
    {"SCH-51 resources before volumes", "1acl", "local", "",
     NO_NODE_OF("1") "1 Insufficient cpu." NO_VICTIMS("1")},
    {"SCH-52 the pod before the nodes", "1au", "immediate", "",
     NO_NODE_OF("1") "pod has unbound immediate PersistentVolumeClaims." HELPLESS("1")},
    {"as recorded: another zone, and out of reach", "1z 2a", "bound:a", "s",
     NO_NODE_OF("3") "1 node(s) had volume node affinity conflict, 2 node(s) didn't match Pod's "
                     "node affinity/selector." HELPLESS("3")},
    {"SCH-53 one node is named", "2a 1ac", "", "N",
     NO_NODE_OF("3") "1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]." MIXED(
         "3", "1", "2")},
    {"SCH-53 also where it is cordoned", "1a 1au", "", "N",
     NO_NODE_OF("2") "2 node(s) didn't satisfy plugin(s) [NodeAffinity]." HELPLESS("2")},
    {"SCH-50.3 no nodes", "", "", "", "no nodes available to schedule pods"},
};
/* clang-format on */

/* ---- The cluster ---- */

static const char *
messages_intern(CycleWorld *self, const char *text)
{
    return storage_world_intern(&self->base, text);
}

static void
messages_set_label(CycleWorld *self, void *object, const char *key, const char *value)
{
    object_set_label(object, messages_intern(self, key), messages_intern(self, value));
}

static void
set_taints(CycleWorld *self, Node *node, gboolean plain, gboolean unreachable)
{
    const Taint both[] = {
        {.key = messages_intern(self, "k"),
         .value = messages_intern(self,                        "v"),
         .effect = TAINT_NO_SCHEDULE,
         .added_at = TIME_UNSET},
        {.key = messages_intern(self,      "node.kubernetes.io/unreachable"),
         .effect = TAINT_NO_EXECUTE,
         .added_at = TIME_UNSET},
    };
    unsigned first = plain ? 0 : 1, end = unreachable ? 2 : 1;

    if (first < end)
        node->taints = taints_new(both + first, end - first);
}

static void
add_csi_node(CycleWorld *self, const char *name, int32_t limit)
{
    CsiNode *csi_node =
        CSI_NODE(object_new(objects_key(self->base.objects, KIND_CSI_NODE, NULL, name)));
    CsiNodeDriver driver = {.name = messages_intern(self, "csi.test"),
                            .node_id = messages_intern(self, name),
                            .allocatable_count = limit};

    csi_node->drivers = csi_node_drivers_new(&driver, 1);
    storage_world_create(&self->base, csi_node);
}

static void
messages_add_node(CycleWorld *self, char zone, const char *flags)
{
    g_autofree char *name =
        g_strdup_printf("n%u", objects_n_keys(self->base.objects, KIND_NODE) + 1);
    Node *node = NODE(object_new(objects_key(self->base.objects, KIND_NODE, NULL, name)));
    const char zone_name[] = {zone, '\0'};

    node->allocatable = (NodeResources){
        .cpu_milli = strchr(flags, 'c') != NULL ? 50 : 4000,
        .memory_bytes = strchr(flags, 'm') != NULL ? 1000 : 8 * GIB,
        .pods = strchr(flags, 'p') != NULL ? 0 : 110,
    };
    node->unschedulable = strchr(flags, 'u') != NULL;
    set_taints(self, node, strchr(flags, 't') != NULL, strchr(flags, 'e') != NULL);
    messages_set_label(self, node, "kubernetes.io/hostname", name);
    if (zone != '-')
        messages_set_label(self, node, ZONE, zone_name);
    storage_world_import(&self->base, node); /* without the taint of a new one (NL-26) */
    if (strpbrk(flags, "lL") != NULL)
        add_csi_node(self, name, strchr(flags, 'l') != NULL ? 0 : 1);
}

static void
add_nodes(CycleWorld *self, const char *nodes)
{
    g_auto(GStrv) words = g_strsplit(nodes, " ", -1);

    for (unsigned i = 0; words[i] != NULL; i++) {
        char *rest;
        for (gint64 n = g_ascii_strtoll(words[i], &rest, 10); n > 0; n--)
            messages_add_node(self, rest[0], rest + 1);
    }
}

static void
bind_to(CycleWorld *self, Claim *claim, const char *volume)
{
    claim->volume_name = messages_intern(self, volume);
    object_set_annotation(&claim->meta, messages_intern(self, ANNOTATION_BIND_COMPLETED),
                          messages_intern(self, "yes"));
}

/* @zone: reached from there alone */
static Volume *
new_volume(CycleWorld *self, const char *name, const char *zone)
{
    Volume *volume = storage_world_volume(&self->base, name, 5, "");
    StringPair pair = {messages_intern(self, ZONE),
                       zone == NULL ? NULL : messages_intern(self, zone)};

    if (zone != NULL) {
        g_autoptr(StringMap) segment = string_map_new(&pair, 1);
        const StringMap *segments[] = {segment};
        volume->node_affinity = node_selector_from_segments(segments, 1);
    }
    return volume;
}

/* A claim of the kind told by @word, as MessageCase has it. */
static void
messages_add_claim(CycleWorld *self, const char *name, const char *word)
{
    g_auto(GStrv) parts = g_strsplit(word, ":", 2);
    const char *kind = parts[0], *of = parts[1];
    g_autofree char *volume_name = g_strdup_printf("v-%s", name);
    const char *class = "";

    if (strcmp(kind, "missing") == 0)
        return;
    if (strcmp(kind, "late") == 0 || strcmp(kind, "local") == 0 || strcmp(kind, "tracked") == 0 ||
        strcmp(kind, "immediate") == 0)
        class = kind;
    else if (strcmp(kind, "selected") == 0 || strcmp(kind, "named") == 0)
        class = "late";
    else if (strcmp(kind, "classless") == 0)
        class = "unknown";
    Claim *claim = storage_world_claim(&self->base, name, 5, class);
    if (strcmp(kind, "selected") == 0)
        object_set_annotation(&claim->meta, messages_intern(self, ANNOTATION_SELECTED_NODE),
                              messages_intern(self, of));
    if (strcmp(kind, "named") == 0)
        claim->volume_name = messages_intern(self, "somewhere");
    if (strcmp(kind, "lost") == 0 || strcmp(kind, "unbound") == 0)
        bind_to(self, claim, "gone");
    if (strcmp(kind, "lost") == 0)
        claim->phase = CLAIM_LOST;
    if (strcmp(kind, "rwop") == 0)
        claim->access_modes = ACCESS_RWOP;
    if (strcmp(kind, "deleted") == 0)
        claim->meta.deleted_at = 0;
    if (strcmp(kind, "bound") == 0 || strcmp(kind, "labelled") == 0 || strcmp(kind, "rwop") == 0 ||
        strcmp(kind, "used") == 0 || strcmp(kind, "deleted") == 0) {
        Volume *volume = new_volume(self, volume_name, strcmp(kind, "bound") == 0 ? of : NULL);
        if (strcmp(kind, "labelled") == 0)
            messages_set_label(self, volume, ZONE, of);
        storage_world_import(&self->base, volume);
        bind_to(self, claim, volume_name);
    }
    storage_world_import(&self->base, claim);
}

static void
add_classes(CycleWorld *self)
{
    storage_world_class(&self->base, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_class(&self->base, "local", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_class(&self->base, "tracked", "csi.tracks", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_class(&self->base, "immediate", "csi.test", BINDING_IMMEDIATE);
    CsiDriverObject *driver = CSI_DRIVER_OBJECT(
        object_new(objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, "csi.tracks")));
    driver->storage_capacity = TRUE;
    storage_world_create(&self->base, driver);
}

/* ---- The pod ---- */

static LabelSelector *
select_label(CycleWorld *self, const char *key, const char *value)
{
    const char *interned = messages_intern(self, value);
    SelectRequirement requirement = {.key = messages_intern(self, key),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&interned, 1)};

    return label_selector_new(&requirement, 1);
}

static void
set_wishes(CycleWorld *self, Pod *pod, const char *wants)
{
    StringPair zone = {messages_intern(self, ZONE), messages_intern(self, "z")};

    if (strchr(wants, 's') != NULL)
        pod->spec->node_selector = string_map_new(&zone, 1);
    if (strchr(wants, 'n') != NULL)
        pod->node_name = messages_intern(self, "n9");
    if (strchr(wants, 'N') != NULL) {
        NodeSelectorTerm term = {.field_name = messages_intern(self, "n3")};
        pod->spec->required_nodes = node_selector_new(&term, 1);
    }
    if (strpbrk(wants, "fa") != NULL) {
        pod->spec->n_pod_terms = 1;
        pod->spec->pod_terms = g_new0(PodAffinityTerm, 1);
        pod->spec->pod_terms[0] = (PodAffinityTerm){
            .selector = select_label(self, "app", strchr(wants, 'a') != NULL ? "other" : "none"),
            .topology_key = zone.key,
            .anti = strchr(wants, 'a') != NULL,
        };
    }
    if (strchr(wants, 'd') != NULL) {
        pod->spec->n_spread = 1;
        pod->spec->spread = g_new0(SpreadConstraint, 1);
        pod->spec->spread[0] = (SpreadConstraint){
            .selector = select_label(self, "app", "other"),
            .topology_key = zone.key,
            .max_skew = 1,
            .do_not_schedule = TRUE,
        };
    }
}

/* A pod with all claims of the row. */
static Pod *
messages_new_pod(CycleWorld *self, const char *name, unsigned n_claims)
{
    static const char *const names[] = {"c", "d", "e", "f"};
    Pod *pod = storage_world_pod(&self->base, name, NULL, NULL);
    PodVolume volumes[G_N_ELEMENTS(names)] = {0};

    for (unsigned i = 0; i < n_claims; i++)
        volumes[i].name = volumes[i].claim_name = messages_intern(self, names[i]);
    if (n_claims > 0)
        pod->volumes = pod_volumes_new(volumes, n_claims);
    pod->spec->cpu_milli = 100;
    pod->spec->memory_bytes = 1 << 20;
    pod->spec->n_containers = 1;
    return pod;
}

static void
messages_run_case(const MessageCase *row, unsigned *n_failed)
{
    g_auto(GStrv) claims = g_strsplit(row->claims, " ", -1);
    unsigned n_claims = g_strv_length(claims);
    CycleWorld world;

    cycle_world_init(&world);
    add_nodes(&world, row->nodes);
    add_classes(&world);
    for (unsigned i = 0; i < n_claims; i++) {
        const char name[] = {(char)('c' + (int)i), '\0'};
        messages_add_claim(&world, name, claims[i]);
    }
    cycle_world_start(&world);
    Pod *other = messages_new_pod(&world, "other", n_claims),
        *pod = messages_new_pod(&world, "p", n_claims);
    messages_set_label(&world, other, "app", "other");
    if (strstr(row->claims, "rwop") != NULL || strstr(row->claims, "used") != NULL)
        scheduler_cache_add_pod(world.cache, other, messages_intern(&world, "n1"), NULL);
    if (strchr(row->wants, 'd') != NULL)
        messages_set_label(&world, pod, "app", "other");
    set_wishes(&world, pod, row->wants);
    CycleResult result = cycle_run(world.cycle, pod, 1, 0);
    if (g_strcmp0(result.message, row->message) != 0) {
        print_error("%s:\n  %s\n  %s\n", row->title, row->message,
                    result.message == NULL ? result.node_name : result.message);
        ++*n_failed;
    }
    g_free(result.message);
    object_unref(&pod->meta);
    object_unref(&other->meta);
    cycle_world_clear(&world);
}

TEST(messages_are_exact)
{
    unsigned n_failed = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        messages_run_case(&cases[i], &n_failed);
    assert_int_equal(n_failed, 0);
}
