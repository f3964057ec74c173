/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-scenario.h"

#include "random-private.h"

unsigned
below(Maker *self, unsigned limit)
{
    return (unsigned)sim_random_below(self->stream, 0, self->n++, limit);
}

unsigned
between(Maker *self, unsigned low, unsigned high)
{
    return low + below(self, high - low + 1);
}

gboolean
one_in(Maker *self, unsigned n)
{
    return below(self, n) == 0;
}

gboolean
has(const Maker *self, uint32_t feature)
{
    return (self->features & feature) != 0;
}

/* Half of the worlds have few features, so that most of what happens is about volumes. */
static void
draw_features(Maker *self)
{
    unsigned rarity = one_in(self, 2) ? 8 : 3;

    for (unsigned i = 0; i < N_FEATURES; i++)
        if (one_in(self, rarity))
            self->features |= 1U << i;
    if (self->is_easy)
        self->features &= HARMLESS;
    if (has(self, HAS_GROUPS))
        self->features |= HAS_SNAPSHOTS;
    self->delete_at_s = has(self, HAS_LOST_NODES | HAS_LONG_ERRORS) ? DELETE_LATE_S : DELETE_AT_S;
}

static void
add_work(Maker *self)
{
    g_string_append(self->spec, "  workload:\n");
    while (self->n_shared < 2 && one_in(self, 2))
        add_shared_claim(self);
    self->n_copies = self->is_small ? between(self, 1, 2) : below(self, N_PODS_MAX + 1);
    for (unsigned i = 0; i < self->n_copies; i++)
        add_pods(self, i);
    for (unsigned i = self->n_copies == 0 ? 1 : below(self, self->is_small ? 2 : 4); i > 0; i--)
        add_stateful_set(self);
    add_extras(self);
    add_changes(self);
    add_faults(self);
    add_end(self);
}

static void
free_again(Maker *self)
{
    for (unsigned i = 0; i < N_PODS_MAX; i++)
        g_free(self->pods_again[i]);
    for (unsigned i = 0; i < N_SETS_MAX; i++)
        g_free(self->sets_again[i]);
}

char *
random_scenario_new(guint64 seed)
{
    g_autoptr(GString) objects = g_string_new(NULL);
    g_autoptr(GString) faults = g_string_new(NULL);
    Maker self = {.stream = sim_stream_from(seed, 0, "soak/scenario"),
                  .spec = g_string_new(NULL),
                  .faults = faults,
                  .objects = objects};

    self.is_easy = one_in(&self, 3);
    self.is_small = one_in(&self, 3);
    self.has_limit = !self.is_easy && one_in(&self, 2);
    draw_features(&self);
    g_string_append_printf(
        self.spec,
        "# soak:%s%s deletes-at=%u\napiVersion: kvolsim.io/v1\nkind: "
        "Scenario\nmetadata: {name: soak-%" G_GUINT64_FORMAT "}\nspec:\n  seed: %" G_GUINT64_FORMAT
        "\n  until: idle\n  idleFor: 15m\n",
        self.is_easy ? " easy" : "", self.is_small ? " small" : "", self.delete_at_s, seed, seed);
    if (one_in(&self, 4))
        g_string_append(self.spec, "  kubernetes: {version: \"1.32\", unlimitedQPS: true, "
                                   "featureGates: {VolumeAttributesClass: true}}\n");
    add_nodes(&self);
    add_components(&self);
    g_string_append(self.spec, "  drivers:\n");
    add_driver(&self, DISK, TRUE);
    add_driver(&self, SAN, TRUE);
    add_driver(&self, FILES, FALSE);
    if (has(&self, HAS_INLINE))
        add_inline_driver(&self);
    if (has(&self, HAS_DISKS))
        add_disk_driver(&self);
    add_classes(&self);
    add_attributes_classes(&self);
    add_static_volumes(&self);
    add_work(&self);
    if (faults->len > 0)
        g_string_append_printf(self.spec, "  faults:\n%s", faults->str);
    g_string_append(self.spec, objects->str);
    free_again(&self);
    return g_string_free(self.spec, FALSE);
}
