/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run-private.h"

/* The end of a copy's lifetime: its objects are deleted, the last one first. */

typedef struct {
    Run *run;
    GPtrArray *keys; /* of ObjectKey, still to be deleted */
    uint64_t client_hash;
    void (*over)(void *data);
    void *data;
} Ending;

static void
ending_free(void *data)
{
    Ending *self = data;

    g_ptr_array_unref(self->keys);
    g_free(self);
}

static void delete_next(Ending *self);

static void
lifetimes_answered(void *data, const ApiResponse *response)
{
    (void)response; /* 404 is fine */
    delete_next(data);
}

static void
delete_next(Ending *self)
{
    if (self->keys->len == 0) {
        self->over(self->data);
        ending_free(self);
        return;
    }
    ApiRequest request = {
        .verb = API_DELETE,
        .key = g_ptr_array_remove_index(self->keys, self->keys->len - 1),
        .grace_s = -1,
        .client = "kubectl",
        .client_hash = self->client_hash,
    };
    api_server_request(cluster_api(self->run->cluster), &request, lifetimes_answered, ending_free,
                       self);
}

void
lifetime_end(Run *run, GPtrArray *keys, uint64_t client_hash, void (*over)(void *data), void *data)
{
    Ending *self = g_new0(Ending, 1);

    *self = (Ending){run, keys, client_hash, over, data};
    delete_next(self);
}
