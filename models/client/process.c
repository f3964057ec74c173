/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process.h"
#include "process-private.h"

Process *
process_new(const ProcessOptions *options)
{
    Process *self = g_new0(Process, 1);

    self->options = *options;
    self->hash = sim_hash_string(options->name);
    return self;
}

void
process_free(Process *self)
{
    if (self == NULL)
        return;
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        informer_free(self->informers[kind]);
    g_free(self);
}

const char *
process_name(const Process *self)
{
    return self->options.name;
}

Informer *
process_informer(Process *self, ObjectKind kind, const char *filter)
{
    if (self->informers[kind] == NULL)
        self->informers[kind] = informer_new(self, kind, filter);
    g_assert(informer_filter(self->informers[kind]) == filter);
    return self->informers[kind];
}
