/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of csi-sanity 5.3: 91 checks by their groups, in its order. */
#include "sanity-private.h"

#include <string.h>

#define NAME_BYTES_MAX 63    /* CSI-6: of a driver */
#define LONG_NAME_BYTES 128  /* CSI-6: of a volume or snapshot */
#define SNAPSHOTS_TO_PAGE 5u /* on two pages, 2 on the first */

/* Identity */

/* CSI-8, CSI-11 */
static void
plugin_capabilities_are_valid(Sanity *self)
{
    const unsigned known = CSI_PLUGIN_CONTROLLER_SERVICE |
                           CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS | 1 << 3 | 1 << 4 |
                           CSI_PLUGIN_EXPANSION_ONLINE | CSI_PLUGIN_EXPANSION_OFFLINE;

    sanity_expect(self, (self->plugin & ~known) == 0, "plugin capabilities are known ones");
}

static void
probe_is_fine(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_PROBE, 0);
    const CsiResponse *response = self->back_end->call(self->back_end->data, &request);

    if (response->code != CSI_OK && response->code != CSI_FAILED_PRECONDITION)
        sanity_fail(self, "Probe: %s", csi_code_name(response->code));
}

/* CSI-6: letters and digits at both ends, inside also "-" and ".". */
static void
name_is_valid(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_GET_PLUGIN_INFO, 0);

    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return;
    const char *name = self->last->plugin_name;
    size_t length = name == NULL ? 0 : strlen(name);
    sanity_expect(self, length > 0 && length <= NAME_BYTES_MAX, "the name has 1 to 63 bytes");
    for (size_t i = 0; !self->failed && i < length; i++) {
        gboolean at_end = i == 0 || i == length - 1;
        sanity_expect(self,
                      g_ascii_isalnum(name[i]) || (!at_end && (name[i] == '-' || name[i] == '.')),
                      "the name's characters are allowed");
    }
}

/* CSI-9, CSI-11 */
static void
controller_capabilities_are_known(Sanity *self)
{
    sanity_expect(self, (self->controller & ~((2u << 15) - 2)) == 0,
                  "controller capabilities are known ones");
    sanity_expect(self,
                  (self->controller & CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES) == 0 ||
                      sanity_attaches(self),
                  "LIST_VOLUMES_PUBLISHED_NODES comes with PUBLISH_UNPUBLISH_VOLUME");
}

/* Lists */

static unsigned
count_entries(Sanity *self, CsiMethod method)
{
    CsiRequest request = sanity_request(self, method, 0);

    sanity_call(self, &request, CSI_OK);
    return self->failed ? 0 : self->last->n_entries;
}

static void
volumes_are_listed(Sanity *self)
{
    unsigned before = count_entries(self, CSI_LIST_VOLUMES);
    const char *volume = sanity_create(self);

    sanity_expect(self, self->failed || count_entries(self, CSI_LIST_VOLUMES) == before + 1,
                  "a created volume adds one to the list");
    sanity_delete(self, volume);
    sanity_expect(self, self->failed || count_entries(self, CSI_LIST_VOLUMES) == before,
                  "a deleted volume leaves the list");
}

/* CreateVolume */

static void
create_without_size(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY);

    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, self->failed || self->last->volume_id != NULL, "there is an id");
}

static void
create_with_size(Sanity *self)
{
    sanity_create(self);
    if (!self->failed && self->last->capacity_bytes != 0)
        sanity_expect(self, self->last->capacity_bytes >= self->back_end->volume_bytes,
                      "the volume is as large as wanted");
}

static void
create_twice(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE);

    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return;
    const char *id = strings_intern(self->back_end->strings, self->last->volume_id);
    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, self->failed || g_strcmp0(self->last->volume_id, id) == 0,
                  "the same name and size is the same volume");
}

static void
create_twice_with_other_size(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE);

    request.limit_bytes = request.required_bytes;
    sanity_call(self, &request, CSI_OK);
    request.required_bytes = request.limit_bytes = 2 * self->back_end->volume_bytes;
    sanity_call(self, &request, CSI_ALREADY_EXISTS);
}

/* A name of 128 bytes that no other check uses. */
static const char *
long_name(Sanity *self)
{
    g_autoptr(GString) name = g_string_new(sanity_new_name(self));

    while (name->len < LONG_NAME_BYTES)
        g_string_append_c(name, 'x');
    return strings_intern(self->back_end->strings, name->str);
}

static void
create_with_long_name(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_VOLUME, GIVES_CAPABILITY | GIVES_SIZE);

    request.name = long_name(self);
    sanity_call(self, &request, CSI_OK);
}

static void
create_from(Sanity *self, CsiSourceKind kind, const char *source)
{
    CsiRequest request =
        sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE);

    request.source_kind = kind;
    request.source_id = source;
    sanity_call(self, &request, CSI_OK);
    sanity_expect(self,
                  self->failed || (self->last->source_kind == kind &&
                                   g_strcmp0(self->last->source_id, source) == 0),
                  "the answer names the source");
}

static void
create_from_snapshot(Sanity *self)
{
    const char *volume = sanity_create(self);

    create_from(self, CSI_SOURCE_SNAPSHOT, sanity_snapshot(self, volume));
}

static void
create_from_volume(Sanity *self)
{
    create_from(self, CSI_SOURCE_VOLUME, sanity_create(self));
}

static const char *
create_with_mutable_parameters(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_VOLUME,
                                        GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE | GIVES_MUTABLE);

    sanity_call(self, &request, CSI_OK);
    return self->failed ? NULL : strings_intern(self->back_end->strings, self->last->volume_id);
}

static void
create_with_mutables(Sanity *self)
{
    create_with_mutable_parameters(self);
}

/* Calls with a mutable parameter that no driver has. */
static void
call_with_bad_mutables(Sanity *self, CsiRequest *request)
{
    const StringPair pair = {
        strings_intern(self->back_end->strings, "sanity-no-such-parameter"),
        strings_intern(self->back_end->strings, "1"),
    };
    g_autoptr(StringMap) map = string_map_new(&pair, 1);

    request->mutable_parameters = map;
    sanity_call(self, request, CSI_INVALID_ARGUMENT);
}

static void
create_with_bad_mutables(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE);

    call_with_bad_mutables(self, &request);
}

static void
sanity_checks_delete_volume(Sanity *self)
{
    sanity_delete(self, sanity_create(self));
}

/* ValidateVolumeCapabilities */

static void
validate_without_capabilities(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_VALIDATE_VOLUME_CAPABILITIES, 0);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_INVALID_ARGUMENT);
}

static void
validate_confirms(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_VALIDATE_VOLUME_CAPABILITIES, GIVES_CAPABILITY);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, self->failed || self->last->confirmed, "the capability is confirmed");
}

/* ControllerPublishVolume */

static void
attach_above_limit(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_NODE | GIVES_CAPABILITY);

    for (int i = 0; i < self->max_volumes_per_node; i++)
        sanity_attach(self, sanity_create(self));
    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_RESOURCE_EXHAUSTED); /* CSI-49 */
}

static void
attach_to_unknown_node(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_UNKNOWN_NODE | GIVES_CAPABILITY);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_NOT_FOUND);
}

static void
attach_with_other_readonly(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_NODE | GIVES_CAPABILITY);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_OK);
    request.readonly = TRUE;
    sanity_call(self, &request, CSI_ALREADY_EXISTS);
}

static void
sanity_checks_live(Sanity *self, unsigned n_attachments)
{
    const char *volume = sanity_create(self);

    for (unsigned i = 0; i < n_attachments; i++)
        sanity_attach(self, volume);
    sanity_detach(self, volume);
    sanity_delete(self, volume);
}

static void
life_of_a_volume(Sanity *self)
{
    sanity_checks_live(self, 1);
}

static void
life_of_a_volume_repeated(Sanity *self)
{
    sanity_checks_live(self, self->back_end->n_repeats);
}

/* Snapshots */

static unsigned
count_snapshots(Sanity *self, const char *snapshot, const char *volume)
{
    CsiRequest request = sanity_request(self, CSI_LIST_SNAPSHOTS, 0);

    request.snapshot_id = snapshot;
    request.volume_id = volume;
    sanity_call(self, &request, CSI_OK);
    return self->failed ? 0 : self->last->n_entries;
}

static void
snapshots_by_id(Sanity *self)
{
    const char *volume = sanity_create(self);
    const char *snapshot = sanity_snapshot(self, volume);

    sanity_snapshot(self, volume);
    unsigned n = count_snapshots(self, snapshot, NULL);
    sanity_expect(self,
                  self->failed ||
                      (n == 1 && g_strcmp0(self->last->entries[0].snapshot_id, snapshot) == 0),
                  "only the snapshot asked for is listed");
}

static void
snapshots_by_unknown_id(Sanity *self)
{
    const char *unknown = strings_intern(self->back_end->strings, "sanity-unknown-snapshot");

    sanity_expect(self, count_snapshots(self, unknown, NULL) == 0, "the list is empty");
}

static void
snapshots_by_source(Sanity *self)
{
    const char *volume = sanity_create(self), *other = sanity_create(self);

    sanity_snapshot(self, volume);
    sanity_snapshot(self, other);
    unsigned n = count_snapshots(self, NULL, volume);
    sanity_expect(
        self, self->failed || (n == 1 && g_strcmp0(self->last->entries[0].volume_id, volume) == 0),
        "only the volume's snapshot is listed");
}

static void
snapshots_by_unknown_source(Sanity *self)
{
    const char *unknown = strings_intern(self->back_end->strings, "sanity-unknown-volume");

    sanity_expect(self, count_snapshots(self, NULL, unknown) == 0, "the list is empty");
}

static void
snapshots_are_listed(Sanity *self)
{
    unsigned before = count_entries(self, CSI_LIST_SNAPSHOTS);
    const char *snapshot = sanity_snapshot(self, sanity_create(self));

    sanity_expect(self, self->failed || count_entries(self, CSI_LIST_SNAPSHOTS) == before + 1,
                  "a created snapshot adds one to the list");
    sanity_delete_snapshot(self, snapshot);
    sanity_expect(self, self->failed || count_entries(self, CSI_LIST_SNAPSHOTS) == before,
                  "a deleted snapshot leaves the list");
}

static void
snapshots_in_pages(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_LIST_SNAPSHOTS, 0);
    const char *volume = sanity_create(self);

    for (unsigned i = 0; i < SNAPSHOTS_TO_PAGE; i++)
        sanity_snapshot(self, volume);
    unsigned total = count_entries(self, CSI_LIST_SNAPSHOTS);
    request.max_entries = 2;
    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return;
    sanity_expect(self, self->last->n_entries == 2, "a page has as many entries as asked for");
    sanity_expect(self, self->last->next_token != NULL && self->last->next_token[0] != '\0',
                  "the first page has a token");
    request.starting_token = strings_intern(self->back_end->strings, self->last->next_token);
    request.max_entries = 0;
    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, self->failed || self->last->n_entries == total - 2,
                  "the second page has the rest");
}

static void
delete_snapshot(Sanity *self)
{
    sanity_delete_snapshot(self, sanity_snapshot(self, sanity_create(self)));
}

static void
snapshot_twice(Sanity *self, gboolean of_other_volume)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_SNAPSHOT, GIVES_NAME);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_OK);
    if (of_other_volume)
        request.volume_id = sanity_create(self);
    sanity_call(self, &request, of_other_volume ? CSI_ALREADY_EXISTS : CSI_OK);
}

static void
snapshot_again(Sanity *self)
{
    snapshot_twice(self, FALSE);
}

static void
snapshot_of_other_volume(Sanity *self)
{
    snapshot_twice(self, TRUE);
}

static void
snapshot_with_long_name(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_SNAPSHOT, 0);

    request.name = long_name(self);
    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_OK);
}

/* Expansion, modification */

static void
expand_without_range(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_CONTROLLER_EXPAND_VOLUME, 0);

    request.volume_id = sanity_create(self);
    sanity_call(self, &request, CSI_INVALID_ARGUMENT);
}

static void
sanity_checks_expand(Sanity *self, const char *volume)
{
    CsiRequest request = sanity_request(self, CSI_CONTROLLER_EXPAND_VOLUME, GIVES_CAPABILITY);

    request.volume_id = volume;
    request.required_bytes = self->back_end->volume_bytes + self->back_end->expand_bytes;
    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, self->failed || self->last->capacity_bytes == request.required_bytes,
                  "the volume has exactly the size asked for");
}

static void
expand_volume(Sanity *self)
{
    sanity_checks_expand(self, sanity_create(self));
}

static void
modify(Sanity *self, const char *volume, gboolean with_bad_keys)
{
    CsiRequest request = sanity_request(self, CSI_CONTROLLER_MODIFY_VOLUME, GIVES_MUTABLE);

    request.volume_id = volume;
    if (with_bad_keys)
        call_with_bad_mutables(self, &request);
    else
        sanity_call(self, &request, CSI_OK);
}

static void
modify_with_bad_keys(Sanity *self)
{
    modify(self, sanity_create(self), TRUE);
}

static void
modify_volume_with_parameters_and_bad_keys(Sanity *self)
{
    modify(self, create_with_mutable_parameters(self), TRUE);
}

static void
modify_plain_volume(Sanity *self)
{
    modify(self, sanity_create(self), FALSE);
}

static void
modify_volume_with_parameters(Sanity *self)
{
    modify(self, create_with_mutable_parameters(self), FALSE);
}

static void
group_capabilities_are_known(Sanity *self)
{
    CsiRequest request = {.method = CSI_GROUP_CONTROLLER_GET_CAPABILITIES};

    sanity_call(self, &request, CSI_OK);
    sanity_expect(self, (self->last->group_capabilities & ~CSI_GROUP_SNAPSHOT) == 0,
                  "group capabilities are known ones");
}

/* Nodes */

/* CSI-10 */
static void
node_capabilities_are_known(Sanity *self)
{
    sanity_expect(self, (self->node & ~((2u << 6) - 2)) == 0, "node capabilities are known ones");
}

static void
node_info_is_whole(Sanity *self)
{
    sanity_expect(self, self->node_id != NULL && self->node_id[0] != '\0', "there is a node id");
    sanity_expect(self, self->max_volumes_per_node >= 0, "the limit is not negative");
    if ((self->plugin & CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS) != 0)
        sanity_expect(self, self->topology != NULL, "the node's topology is told");
}

static void
expect_target(Sanity *self, gboolean is_there, const char *what)
{
    const CsiSanityBackEnd *back_end = self->back_end;
    g_autofree char *target = g_strdup_printf("%s/target", back_end->directory);

    if (!self->failed && back_end->path_exists != NULL)
        sanity_expect(self, back_end->path_exists(back_end->data, target) == is_there, what);
}

static void
target_goes(Sanity *self)
{
    const char *volume = sanity_create_and_publish(self);

    expect_target(self, TRUE, "the target is there after publish");
    sanity_unpublish(self, volume);
    expect_target(self, FALSE, "the target is gone after unpublish");
}

static void
stats_of_wrong_path(Sanity *self)
{
    CsiRequest request = sanity_request(self, CSI_NODE_GET_VOLUME_STATS, 0);

    request.volume_id = sanity_create_and_publish(self);
    request.target_path =
        strings_internf(self->back_end->strings, "%s/elsewhere", self->back_end->directory);
    sanity_call(self, &request, CSI_NOT_FOUND);
}

/* The file system grows to the size that the controller gave the volume, if the controller expands
 * volumes. */
static void
grow_after_publish(Sanity *self)
{
    unsigned staging = sanity_stages(self) ? GIVES_STAGING : 0;
    CsiRequest request = sanity_request(self, CSI_NODE_EXPAND_VOLUME,
                                        GIVES_TARGET | GIVES_CAPABILITY | GIVES_SIZE | staging);

    /* CSI-71: some drivers expand only unpublished volumes. */
    gboolean is_offline = (self->plugin & CSI_PLUGIN_EXPANSION_OFFLINE) != 0 &&
                          (self->plugin & CSI_PLUGIN_EXPANSION_ONLINE) == 0;
    gboolean expands = (self->controller & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) != 0;

    request.volume_id = sanity_create(self);
    if (expands && is_offline)
        sanity_checks_expand(self, request.volume_id);
    sanity_attach_and_publish(self, request.volume_id);
    if (expands && !is_offline)
        sanity_checks_expand(self, request.volume_id);
    request.required_bytes += self->back_end->expand_bytes;
    sanity_call(self, &request, CSI_OK);
}

static void
flow(Sanity *self, unsigned n_times)
{
    const char *volume = sanity_create(self);
    CsiRequest stats = sanity_request(self, CSI_NODE_GET_VOLUME_STATS, GIVES_TARGET);

    if (sanity_attaches(self))
        sanity_attach(self, volume);
    for (unsigned i = 0; sanity_stages(self) && i < n_times; i++)
        sanity_stage(self, volume);
    for (unsigned i = 0; i < n_times; i++)
        sanity_publish(self, volume);
    if ((self->node & CSI_NODE_GET_VOLUME_STATS_CAPABILITY) != 0) {
        stats.volume_id = volume;
        sanity_call(self, &stats, CSI_OK);
        sanity_expect(self, self->failed || self->last->total_bytes > 0, "usage is told");
    }
    sanity_unpublish(self, volume);
    if (sanity_stages(self))
        sanity_unstage(self, volume);
    if (sanity_attaches(self))
        sanity_detach(self, volume);
    sanity_delete(self, volume);
}

static void
node_flow(Sanity *self)
{
    flow(self, 1);
}

static void
node_flow_repeated(Sanity *self)
{
    flow(self, self->back_end->n_repeats);
}

#define CREATES CONTROLLER(CSI_CONTROLLER_CREATE_DELETE_VOLUME)
#define ATTACHES CONTROLLER(CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME)
#define LISTS CONTROLLER(CSI_CONTROLLER_LIST_VOLUMES)
#define SNAPSHOTS CONTROLLER(CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT)
#define LISTS_SNAPSHOTS CONTROLLER(CSI_CONTROLLER_LIST_SNAPSHOTS)
#define CLONES CONTROLLER(CSI_CONTROLLER_CLONE_VOLUME)
#define EXPANDS CONTROLLER(CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY)
#define MODIFIES CONTROLLER(CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY)
#define READONLY CONTROLLER(CSI_CONTROLLER_PUBLISH_READONLY)
#define STAGES NODE(CSI_NODE_STAGE_UNSTAGE_VOLUME)
#define TELLS_STATS NODE(CSI_NODE_GET_VOLUME_STATS_CAPABILITY)
#define GROWS NODE(CSI_NODE_EXPAND_VOLUME_CAPABILITY)

#define ASKS(method, gives, code) method, (gives), code, NULL
#define RUNS(function) CSI_N_METHODS, 0, CSI_OK, function

/* clang-format off */
const SanityCheck sanity_checks[] = {
    {"SAN-1 capabilities are known and valid", 0, RUNS(plugin_capabilities_are_valid)},
    {"SAN-1 Probe", 0, RUNS(probe_is_fine)},
    {"SAN-1 name", 0, RUNS(name_is_valid)},
    {"SAN-2 capabilities are known", 0, RUNS(controller_capabilities_are_known)},
    {"SAN-3 capacity", CONTROLLER(CSI_CONTROLLER_GET_CAPACITY), ASKS(CSI_GET_CAPACITY, 0, CSI_OK)},
    {"SAN-4 plain", LISTS, ASKS(CSI_LIST_VOLUMES, 0, CSI_OK)},
    {"SAN-4 invalid token", LISTS, ASKS(CSI_LIST_VOLUMES, GIVES_BAD_TOKEN, CSI_ABORTED)},
    {"SAN-4 one more, one less", LISTS | CREATES, RUNS(volumes_are_listed)},
    {"SAN-5 no name", CREATES, ASKS(CSI_CREATE_VOLUME, GIVES_CAPABILITY | GIVES_SIZE, CSI_INVALID_ARGUMENT)},
    {"SAN-5 no capabilities", CREATES, ASKS(CSI_CREATE_VOLUME, GIVES_NAME | GIVES_SIZE, CSI_INVALID_ARGUMENT)},
    {"SAN-5 without size", CREATES, RUNS(create_without_size)},
    {"SAN-5 with size", CREATES, RUNS(create_with_size)},
    {"SAN-5 same name and size", CREATES, RUNS(create_twice)},
    {"SAN-5 same name, other size", CREATES, RUNS(create_twice_with_other_size)},
    {"SAN-5 name of 128 bytes", CREATES, RUNS(create_with_long_name)},
    {"SAN-5 from a snapshot", CREATES | SNAPSHOTS, RUNS(create_from_snapshot)},
    {"SAN-5 from an unknown snapshot", CREATES | SNAPSHOTS,
     ASKS(CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE | GIVES_FROM_UNKNOWN_SNAPSHOT, CSI_NOT_FOUND)},
    {"SAN-5 from a volume", CREATES | CLONES, RUNS(create_from_volume)},
    {"SAN-5 from an unknown volume", CREATES | CLONES,
     ASKS(CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE | GIVES_FROM_UNKNOWN_VOLUME, CSI_NOT_FOUND)},
    {"SAN-5 with mutable parameters", CREATES | MODIFIES, RUNS(create_with_mutables)},
    {"SAN-5 bad mutable parameters", CREATES | MODIFIES, RUNS(create_with_bad_mutables)},
    {"SAN-6 no id", CREATES, ASKS(CSI_DELETE_VOLUME, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-6 unknown id", CREATES, ASKS(CSI_DELETE_VOLUME, GIVES_UNKNOWN_VOLUME, CSI_OK)},
    {"SAN-6 normal", CREATES, RUNS(sanity_checks_delete_volume)},
    {"SAN-7 no id", CREATES, ASKS(CSI_VALIDATE_VOLUME_CAPABILITIES, GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-7 no capabilities", CREATES, RUNS(validate_without_capabilities)},
    {"SAN-7 confirmed", CREATES, RUNS(validate_confirms)},
    {"SAN-7 unknown volume", CREATES,
     ASKS(CSI_VALIDATE_VOLUME_CAPABILITIES, GIVES_UNKNOWN_VOLUME | GIVES_CAPABILITY, CSI_NOT_FOUND)},
    {"SAN-8 no volume id", ATTACHES, ASKS(CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_NODE | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-8 no node id", ATTACHES,
     ASKS(CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-8 no capability", ATTACHES,
     ASKS(CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_UNKNOWN_NODE, CSI_INVALID_ARGUMENT)},
    {"SAN-8 above the limit of the node", CREATES | ATTACHES | NODE_LIMIT, RUNS(attach_above_limit)},
    {"SAN-8 unknown volume", ATTACHES,
     ASKS(CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_NODE | GIVES_CAPABILITY, CSI_NOT_FOUND)},
    {"SAN-8 unknown node", CREATES | ATTACHES, RUNS(attach_to_unknown_node)},
    {"SAN-8 other readonly", CREATES | ATTACHES | READONLY, RUNS(attach_with_other_readonly)},
    {"SAN-9 life of a volume", CREATES | ATTACHES, RUNS(life_of_a_volume)},
    {"SAN-9 life of a volume, publish repeated", CREATES | ATTACHES, RUNS(life_of_a_volume_repeated)},
    {"SAN-10 no volume id", ATTACHES, ASKS(CSI_CONTROLLER_UNPUBLISH_VOLUME, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-11 plain", LISTS_SNAPSHOTS, ASKS(CSI_LIST_SNAPSHOTS, 0, CSI_OK)},
    {"SAN-11 by id", CREATES | SNAPSHOTS | LISTS_SNAPSHOTS, RUNS(snapshots_by_id)},
    {"SAN-11 unknown id", LISTS_SNAPSHOTS, RUNS(snapshots_by_unknown_id)},
    {"SAN-11 by source", CREATES | SNAPSHOTS | LISTS_SNAPSHOTS, RUNS(snapshots_by_source)},
    {"SAN-11 unknown source", LISTS_SNAPSHOTS, RUNS(snapshots_by_unknown_source)},
    {"SAN-11 one more, one less", CREATES | SNAPSHOTS | LISTS_SNAPSHOTS, RUNS(snapshots_are_listed)},
    {"SAN-11 pages", CREATES | SNAPSHOTS | LISTS_SNAPSHOTS, RUNS(snapshots_in_pages)},
    {"SAN-12 no id", SNAPSHOTS, ASKS(CSI_DELETE_SNAPSHOT, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-12 unknown id", SNAPSHOTS, ASKS(CSI_DELETE_SNAPSHOT, GIVES_UNKNOWN_SNAPSHOT, CSI_OK)},
    {"SAN-12 normal", CREATES | SNAPSHOTS, RUNS(delete_snapshot)},
    {"SAN-13 no name", SNAPSHOTS, ASKS(CSI_CREATE_SNAPSHOT, GIVES_UNKNOWN_VOLUME, CSI_INVALID_ARGUMENT)},
    {"SAN-13 no source", SNAPSHOTS, ASKS(CSI_CREATE_SNAPSHOT, GIVES_NAME, CSI_INVALID_ARGUMENT)},
    {"SAN-13 same name and source", CREATES | SNAPSHOTS, RUNS(snapshot_again)},
    {"SAN-13 same name, other source", CREATES | SNAPSHOTS, RUNS(snapshot_of_other_volume)},
    {"SAN-13 name of 128 bytes", CREATES | SNAPSHOTS, RUNS(snapshot_with_long_name)},
    {"SAN-14 no id", EXPANDS, ASKS(CSI_CONTROLLER_EXPAND_VOLUME, GIVES_SIZE, CSI_INVALID_ARGUMENT)},
    {"SAN-14 no range", CREATES | EXPANDS, RUNS(expand_without_range)},
    {"SAN-14 exactly the target", CREATES | EXPANDS, RUNS(expand_volume)},
    {"SAN-15 no id", MODIFIES, ASKS(CSI_CONTROLLER_MODIFY_VOLUME, GIVES_MUTABLE, CSI_INVALID_ARGUMENT)},
    {"SAN-15 unknown volume", MODIFIES,
     ASKS(CSI_CONTROLLER_MODIFY_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_MUTABLE, CSI_NOT_FOUND)},
    {"SAN-15 unknown key", CREATES | MODIFIES, RUNS(modify_with_bad_keys)},
    {"SAN-15 unknown key, made with parameters", CREATES | MODIFIES, RUNS(modify_volume_with_parameters_and_bad_keys)},
    {"SAN-15 success", CREATES | MODIFIES, RUNS(modify_plain_volume)},
    {"SAN-15 success, made with parameters", CREATES | MODIFIES, RUNS(modify_volume_with_parameters)},
    {"SAN-16 capabilities", GROUP_SERVICE, RUNS(group_capabilities_are_known)},
    {"SAN-16 create without name", GROUP_SERVICE, ASKS(CSI_CREATE_VOLUME_GROUP_SNAPSHOT, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-16 get without id", GROUP_SERVICE, ASKS(CSI_GET_VOLUME_GROUP_SNAPSHOT, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-16 delete without id", GROUP_SERVICE, ASKS(CSI_DELETE_VOLUME_GROUP_SNAPSHOT, 0, CSI_INVALID_ARGUMENT)},
    {"SAN-16 get unknown id", GROUP_SERVICE, ASKS(CSI_GET_VOLUME_GROUP_SNAPSHOT, GIVES_UNKNOWN_GROUP, CSI_NOT_FOUND)},
    {"SAN-16 delete unknown id", GROUP_SERVICE, ASKS(CSI_DELETE_VOLUME_GROUP_SNAPSHOT, GIVES_UNKNOWN_GROUP, CSI_OK)},
    {"SAN-17 NodeGetCapabilities", 0, RUNS(node_capabilities_are_known)},
    {"SAN-17 NodeGetInfo", 0, RUNS(node_info_is_whole)},
    {"SAN-18 no volume id", 0, ASKS(CSI_NODE_PUBLISH_VOLUME, GIVES_TARGET | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-18 no target path", 0,
     ASKS(CSI_NODE_PUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-18 no capability", 0, ASKS(CSI_NODE_PUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_TARGET, CSI_INVALID_ARGUMENT)},
    {"SAN-19 no volume id", 0, ASKS(CSI_NODE_UNPUBLISH_VOLUME, GIVES_TARGET, CSI_INVALID_ARGUMENT)},
    {"SAN-19 no target path", 0, ASKS(CSI_NODE_UNPUBLISH_VOLUME, GIVES_UNKNOWN_VOLUME, CSI_INVALID_ARGUMENT)},
    {"SAN-19 the target goes", CREATES, RUNS(target_goes)},
    {"SAN-20 no volume id", STAGES, ASKS(CSI_NODE_STAGE_VOLUME, GIVES_STAGING | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-20 no staging path", STAGES,
     ASKS(CSI_NODE_STAGE_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_CAPABILITY, CSI_INVALID_ARGUMENT)},
    {"SAN-20 no capability", STAGES,
     ASKS(CSI_NODE_STAGE_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_STAGING, CSI_INVALID_ARGUMENT)},
    {"SAN-21 no volume id", STAGES, ASKS(CSI_NODE_UNSTAGE_VOLUME, GIVES_STAGING, CSI_INVALID_ARGUMENT)},
    {"SAN-21 no staging path", STAGES, ASKS(CSI_NODE_UNSTAGE_VOLUME, GIVES_UNKNOWN_VOLUME, CSI_INVALID_ARGUMENT)},
    {"SAN-22 no volume id", TELLS_STATS, ASKS(CSI_NODE_GET_VOLUME_STATS, GIVES_TARGET, CSI_INVALID_ARGUMENT)},
    {"SAN-22 no path", TELLS_STATS, ASKS(CSI_NODE_GET_VOLUME_STATS, GIVES_UNKNOWN_VOLUME, CSI_INVALID_ARGUMENT)},
    {"SAN-22 unknown volume", TELLS_STATS,
     ASKS(CSI_NODE_GET_VOLUME_STATS, GIVES_UNKNOWN_VOLUME | GIVES_TARGET, CSI_NOT_FOUND)},
    {"SAN-22 wrong path", CREATES | TELLS_STATS, RUNS(stats_of_wrong_path)},
    {"SAN-23 no volume id", GROWS, ASKS(CSI_NODE_EXPAND_VOLUME, GIVES_TARGET | GIVES_SIZE, CSI_INVALID_ARGUMENT)},
    {"SAN-23 no path", GROWS, ASKS(CSI_NODE_EXPAND_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_SIZE, CSI_INVALID_ARGUMENT)},
    {"SAN-23 unknown volume", GROWS,
     ASKS(CSI_NODE_EXPAND_VOLUME, GIVES_UNKNOWN_VOLUME | GIVES_TARGET | GIVES_SIZE, CSI_NOT_FOUND)},
    {"SAN-23 works after publish", CREATES | GROWS, RUNS(grow_after_publish)},
    {"SAN-24 flow", CREATES, RUNS(node_flow)},
    {"SAN-24 flow, stage and publish repeated", CREATES, RUNS(node_flow_repeated)},
};
/* clang-format on */

const unsigned sanity_n_checks = G_N_ELEMENTS(sanity_checks);

G_STATIC_ASSERT(G_N_ELEMENTS(sanity_checks) == 91);
