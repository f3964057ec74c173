/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a check: requests, steps, and undoing them. The list is in sanity-checks.c. */
#include "sanity-private.h"

#include <string.h>

#define GIB (INT64_C(1) << 30)

void
csi_sanity_back_end_init(CsiSanityBackEnd *back_end)
{
    *back_end = (CsiSanityBackEnd){.name_prefix = "sanity",
                                   .capability.mode = CSI_SINGLE_NODE_WRITER,
                                   .volume_bytes = 10 * GIB,
                                   .expand_bytes = GIB,
                                   .n_repeats = 10};
}

void
sanity_fail(Sanity *self, const char *format, ...)
{
    va_list args;

    if (self->failed)
        return;
    self->failed = TRUE;
    va_start(args, format);
    g_string_append_vprintf(self->why, format, args);
    va_end(args);
}

void
sanity_expect(Sanity *self, gboolean holds, const char *what)
{
    if (!holds)
        sanity_fail(self, "not so: %s", what);
}

const char *
sanity_new_name(Sanity *self)
{
    return strings_internf(self->back_end->strings, "%s-%u", self->back_end->name_prefix,
                           self->n_names++);
}

static const char *
sanity_intern(Sanity *self, const char *text)
{
    return strings_intern(self->back_end->strings, text);
}

static const char *
sanity_path_of(Sanity *self, const char *name)
{
    return strings_internf(self->back_end->strings, "%s/%s", self->back_end->directory, name);
}

/* Asks for a volume that the node can reach. */
static void
want_topology(Sanity *self, CsiRequest *request)
{
    if ((self->plugin & CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS) == 0 || self->topology == NULL)
        return;
    request->requisite = request->preferred = (const StringMap *const *)&self->topology;
    request->n_requisite = request->n_preferred = 1;
}

static void
give_source(Sanity *self, CsiRequest *request, unsigned gives)
{
    if ((gives & (GIVES_FROM_UNKNOWN_SNAPSHOT | GIVES_FROM_UNKNOWN_VOLUME)) == 0)
        return;
    request->source_kind =
        (gives & GIVES_FROM_UNKNOWN_SNAPSHOT) != 0 ? CSI_SOURCE_SNAPSHOT : CSI_SOURCE_VOLUME;
    request->source_id = sanity_intern(self, "sanity-unknown-source");
}

CsiRequest
sanity_request(Sanity *self, CsiMethod method, unsigned gives)
{
    const CsiSanityBackEnd *back_end = self->back_end;
    CsiRequest request = {.method = method, .has_secrets = back_end->has_secrets};

    if (csi_method_service(method) == CSI_NODE)
        request.served_by = back_end->node_name;
    if ((gives & GIVES_NAME) != 0)
        request.name = sanity_new_name(self);
    if ((gives & GIVES_UNKNOWN_VOLUME) != 0)
        request.volume_id = sanity_intern(self, "sanity-unknown-volume");
    if ((gives & GIVES_UNKNOWN_SNAPSHOT) != 0)
        request.snapshot_id = sanity_intern(self, "sanity-unknown-snapshot");
    if ((gives & GIVES_UNKNOWN_GROUP) != 0)
        request.group_snapshot_id = strings_intern(self->back_end->strings, "sanity-unknown-group");
    if ((gives & GIVES_UNKNOWN_NODE) != 0)
        request.node_id = sanity_intern(self, "sanity-unknown-node");
    if ((gives & GIVES_NODE) != 0)
        request.node_id = self->node_id;
    if ((gives & GIVES_CAPABILITY) != 0) {
        request.capabilities = &back_end->capability;
        request.n_capabilities = 1;
    }
    if ((gives & GIVES_SIZE) != 0)
        request.required_bytes = back_end->volume_bytes;
    if ((gives & GIVES_STAGING) != 0)
        request.staging_path = sanity_path_of(self, "staging");
    if ((gives & GIVES_TARGET) != 0)
        request.target_path = sanity_path_of(self, "target");
    if ((gives & GIVES_MUTABLE) != 0)
        request.mutable_parameters = back_end->mutable_parameters;
    if ((gives & GIVES_BAD_TOKEN) != 0)
        request.starting_token = sanity_intern(self, "invalid-token");
    give_source(self, &request, gives);
    if (method == CSI_CREATE_VOLUME) {
        request.parameters = back_end->parameters;
        want_topology(self, &request);
    }
    return request;
}

/* Notes how to undo a successful call. */
static void
note_undo(Sanity *self, const CsiRequest *done, const CsiResponse *response)
{
    CsiRequest undo = {.served_by = done->served_by,
                       .has_secrets = done->has_secrets,
                       .volume_id = done->volume_id,
                       .node_id = done->node_id,
                       .staging_path = done->staging_path,
                       .target_path = done->target_path};

    if (done->method == CSI_CREATE_VOLUME) {
        undo.method = CSI_DELETE_VOLUME;
        undo.volume_id = sanity_intern(self, response->volume_id);
    } else if (done->method == CSI_CREATE_SNAPSHOT) {
        undo.method = CSI_DELETE_SNAPSHOT;
        undo.volume_id = NULL;
        undo.snapshot_id = sanity_intern(self, response->snapshot_id);
    } else if (done->method == CSI_CONTROLLER_PUBLISH_VOLUME)
        undo.method = CSI_CONTROLLER_UNPUBLISH_VOLUME;
    else if (done->method == CSI_NODE_STAGE_VOLUME)
        undo.method = CSI_NODE_UNSTAGE_VOLUME;
    else if (done->method == CSI_NODE_PUBLISH_VOLUME)
        undo.method = CSI_NODE_UNPUBLISH_VOLUME;
    else
        return;
    g_array_append_val(self->undo, undo);
}

/* CSI-7 */
static void
check_form_of_error(Sanity *self, const CsiRequest *request, const CsiResponse *response)
{
    if (response->code != CSI_OK && (response->message == NULL || response->message[0] == '\0'))
        sanity_fail(self, "%s: %s has no message", csi_method_name(request->method),
                    csi_code_name(response->code));
}

static void
prepare_directories(Sanity *self, const CsiRequest *request)
{
    const CsiSanityBackEnd *back_end = self->back_end;

    if (back_end->make_directory == NULL)
        return;
    if (request->method == CSI_NODE_PUBLISH_VOLUME && request->target_path != NULL &&
        !back_end->make_directory(back_end->data, back_end->directory))
        sanity_fail(self, "cannot make %s", back_end->directory);
    if (request->method == CSI_NODE_STAGE_VOLUME && request->staging_path != NULL &&
        !back_end->make_directory(back_end->data, request->staging_path))
        sanity_fail(self, "cannot make %s", request->staging_path);
}

void
sanity_call(Sanity *self, const CsiRequest *request, CsiCode code)
{
    if (!self->failed)
        prepare_directories(self, request);
    if (self->failed)
        return;
    self->last = self->back_end->call(self->back_end->data, request);
    if (self->last->code == CSI_OK)
        note_undo(self, request, self->last);
    check_form_of_error(self, request, self->last);
    if (self->last->code != code)
        sanity_fail(self, "%s: %s (%s), expected %s", csi_method_name(request->method),
                    csi_code_name(self->last->code),
                    self->last->message != NULL ? self->last->message : "", csi_code_name(code));
}

/* Steps */

gboolean
sanity_attaches(const Sanity *self)
{
    return (self->controller & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;
}

gboolean
sanity_stages(const Sanity *self)
{
    return (self->node & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;
}

const char *
sanity_create(Sanity *self)
{
    CsiRequest request =
        sanity_request(self, CSI_CREATE_VOLUME, GIVES_NAME | GIVES_CAPABILITY | GIVES_SIZE);

    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return NULL;
    sanity_expect(self, self->last->volume_id != NULL && self->last->volume_id[0] != '\0',
                  "CreateVolume returns an id");
    return sanity_intern(self, self->last->volume_id);
}

const char *
sanity_snapshot(Sanity *self, const char *volume)
{
    CsiRequest request = sanity_request(self, CSI_CREATE_SNAPSHOT, GIVES_NAME);

    request.volume_id = volume;
    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return NULL;
    sanity_expect(self, self->last->snapshot_id != NULL && self->last->snapshot_id[0] != '\0',
                  "CreateSnapshot returns an id");
    return sanity_intern(self, self->last->snapshot_id);
}

static void
step(Sanity *self, CsiMethod method, unsigned gives, const char *volume)
{
    CsiRequest request = sanity_request(self, method, gives);

    request.volume_id = volume;
    sanity_call(self, &request, CSI_OK);
}

void
sanity_attach(Sanity *self, const char *volume)
{
    step(self, CSI_CONTROLLER_PUBLISH_VOLUME, GIVES_NODE | GIVES_CAPABILITY, volume);
}

void
sanity_stage(Sanity *self, const char *volume)
{
    step(self, CSI_NODE_STAGE_VOLUME, GIVES_STAGING | GIVES_CAPABILITY, volume);
}

void
sanity_publish(Sanity *self, const char *volume)
{
    unsigned staging = sanity_stages(self) ? GIVES_STAGING : 0;

    step(self, CSI_NODE_PUBLISH_VOLUME, GIVES_TARGET | GIVES_CAPABILITY | staging, volume);
}

void
sanity_delete(Sanity *self, const char *volume)
{
    step(self, CSI_DELETE_VOLUME, 0, volume);
}

void
sanity_delete_snapshot(Sanity *self, const char *snapshot)
{
    CsiRequest request = sanity_request(self, CSI_DELETE_SNAPSHOT, 0);

    request.snapshot_id = snapshot;
    sanity_call(self, &request, CSI_OK);
}

void
sanity_detach(Sanity *self, const char *volume)
{
    step(self, CSI_CONTROLLER_UNPUBLISH_VOLUME, GIVES_NODE, volume);
}

void
sanity_unstage(Sanity *self, const char *volume)
{
    step(self, CSI_NODE_UNSTAGE_VOLUME, GIVES_STAGING, volume);
}

void
sanity_unpublish(Sanity *self, const char *volume)
{
    step(self, CSI_NODE_UNPUBLISH_VOLUME, GIVES_TARGET, volume);
}

void
sanity_attach_and_publish(Sanity *self, const char *volume)
{
    if (sanity_attaches(self))
        sanity_attach(self, volume);
    if (sanity_stages(self))
        sanity_stage(self, volume);
    sanity_publish(self, volume);
}

const char *
sanity_create_and_publish(Sanity *self)
{
    const char *volume = sanity_create(self);

    sanity_attach_and_publish(self, volume);
    return volume;
}

/* A check */

/* Most capabilities decide whether a check makes sense, so they are asked first. */
static void
look_around(Sanity *self)
{
    CsiRequest request = {.method = CSI_GET_PLUGIN_CAPABILITIES};

    sanity_call(self, &request, CSI_OK);
    if (!self->failed)
        self->plugin = self->last->plugin_capabilities;
    if ((self->plugin & CSI_PLUGIN_CONTROLLER_SERVICE) != 0) {
        request.method = CSI_CONTROLLER_GET_CAPABILITIES;
        sanity_call(self, &request, CSI_OK);
        if (!self->failed)
            self->controller = self->last->controller_capabilities;
    }
    request = sanity_request(self, CSI_NODE_GET_CAPABILITIES, 0);
    sanity_call(self, &request, CSI_OK);
    if (!self->failed)
        self->node = self->last->node_capabilities;
    request.method = CSI_NODE_GET_INFO;
    sanity_call(self, &request, CSI_OK);
    if (self->failed)
        return;
    self->node_id = sanity_intern(self, self->last->node_id);
    self->max_volumes_per_node = self->last->max_volumes_per_node;
    if (self->last->n_accessible_topology > 0)
        self->topology = string_map_ref(self->last->accessible_topology[0]);
}

/* SAN-25: last first; NOT_FOUND is fine. */
static void
clean_up(Sanity *self)
{
    const CsiSanityBackEnd *back_end = self->back_end;

    for (unsigned i = self->undo->len; i > 0; i--) {
        const CsiRequest *request = &g_array_index(self->undo, CsiRequest, i - 1);
        const CsiResponse *response = back_end->call(back_end->data, request);
        if (response->code != CSI_OK && response->code != CSI_NOT_FOUND)
            sanity_fail(self, "cleaning up: %s: %s (%s)", csi_method_name(request->method),
                        csi_code_name(response->code), response->message);
    }
    if (back_end->remove_directory == NULL)
        return;
    back_end->remove_directory(back_end->data, sanity_path_of(self, "target"));
    back_end->remove_directory(back_end->data, sanity_path_of(self, "staging"));
    back_end->remove_directory(back_end->data, back_end->directory);
}

static gboolean
is_missing(Sanity *self, const SanityCheck *check)
{
    uint64_t has = CONTROLLER(self->controller) | NODE(self->node);

    if ((self->plugin & 1 << 3) != 0)
        has |= GROUP_SERVICE;
    if (self->back_end->tries_node_limit && self->max_volumes_per_node > 0)
        has |= NODE_LIMIT;
    if ((check->needs & ~has) != 0)
        g_string_append(self->why, "the driver does not have it, or it is not asked for");
    else if ((check->needs & CONTROLLER(CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY)) != 0 &&
             self->back_end->mutable_parameters == NULL)
        g_string_append(self->why, "no mutable parameters are given");
    else
        return FALSE;
    return TRUE;
}

unsigned
csi_sanity_n_checks(void)
{
    return sanity_n_checks;
}

const char *
csi_sanity_check_name(unsigned i)
{
    g_assert(i < sanity_n_checks);
    return sanity_checks[i].name;
}

static CsiSanityResult
do_check(Sanity *self, const SanityCheck *check)
{
    look_around(self);
    if (!self->failed && is_missing(self, check))
        return CSI_SANITY_SKIPPED;
    if (check->run == NULL) {
        CsiRequest request = sanity_request(self, check->method, check->gives);
        sanity_call(self, &request, check->code);
    } else if (!self->failed)
        check->run(self);
    clean_up(self);
    return self->failed ? CSI_SANITY_FAILED : CSI_SANITY_PASSED;
}

CsiSanityResult
csi_sanity_check(unsigned i, const CsiSanityBackEnd *back_end, GString *why)
{
    g_assert(i < sanity_n_checks);
    Sanity self = {
        .back_end = back_end, .undo = g_array_new(FALSE, FALSE, sizeof(CsiRequest)), .why = why};

    CsiSanityResult result = do_check(&self, &sanity_checks[i]);
    string_map_unref(self.topology);
    g_array_unref(self.undo);
    return result;
}
