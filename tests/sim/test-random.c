/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "tests/lib/test.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* ---- Golden bits: if these change, every published result changes ---- */

typedef struct {
    const char *name;
    uint64_t seed;
    uint32_t replication;
    const char *stream;
    uint64_t entity, n;
    uint64_t bits;
} GoldenBits;

/* clang-format off */
static const GoldenBits golden_bits[] = {
    {"golden: zeros",               0,          0,          "",                               0,          0,          UINT64_C(0x47026ef69382d427)},
    {"golden: first draw",          1,          0,          "csi/CreateVolume",               0,          0,          UINT64_C(0xcc39b38eadee1f5f)},
    {"golden: second draw",         1,          0,          "csi/CreateVolume",               0,          1,          UINT64_C(0x17886fe45dbec395)},
    {"golden: another entity",      1,          0,          "csi/CreateVolume",               1,          0,          UINT64_C(0xbfc0d730dab2619c)},
    {"golden: another stream",      1,          0,          "csi/DeleteVolume",               0,          0,          UINT64_C(0xde1ca0a21b69c335)},
    {"golden: another seed",        2,          0,          "csi/CreateVolume",               0,          0,          UINT64_C(0x8a133d334748840d)},
    {"golden: another replication", 1,          1,          "csi/CreateVolume",               0,          0,          UINT64_C(0x697402942e513952)},
    {"golden: large numbers",       UINT64_MAX, UINT32_MAX, "a name longer than eight bytes", UINT64_MAX, UINT64_MAX, UINT64_C(0x058d1cebf791b246)},
};
/* clang-format on */

static void
bits_are_golden(void **state)
{
    const GoldenBits *row = *state;
    SimStream stream = sim_stream_from(row->seed, row->replication, row->stream);

    assert_int_equal(sim_random_bits(stream, row->entity, row->n), row->bits);
}
TEST_ROWS(golden_bits, bits_are_golden);

TEST(hashes_are_golden)
{
    assert_int_equal(sim_hash_string(""), UINT64_C(0xe220a8397b1dcdaf));
    assert_int_equal(sim_hash_string("default/data-web-0"), UINT64_C(0x7c04e8c5de497009));
    assert_int_equal(sim_hash_combine(1, 2), UINT64_C(0xa651d5ccf6cfe788));
    assert_int_equal(sim_hash_combine(2, 1), UINT64_C(0x90b9e951e4891a6c));
}

TEST(a_stream_is_of_its_run)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){.seed = 7, .replication = 3});

    assert_int_equal(sim_stream(sim, "x").key, sim_stream_from(7, 3, "x").key);
    assert_int_not_equal(sim_stream(sim, "x").key, sim_stream(sim, "y").key);
}

/* ---- Uniform and independent along entities and counts ---- */

typedef struct {
    const char *name;
    uint64_t entity_step, n_step; /* as the draw's number grows by one */
    gboolean new_stream;
} RandomWalk;

static const RandomWalk walks[] = {
    {"uniform over counts",              0,                            1, FALSE},
    {"uniform over small entities",      1,                            0, FALSE},
    {"uniform over hashed entities",     UINT64_C(0x5851f42d4c957f2d), 0, FALSE},
    {"uniform over entities and counts", 1,                            1, FALSE},
    {"uniform over entities 2^32 apart", UINT64_C(1) << 32,            0, FALSE},
    {"uniform over streams",             0,                            0, TRUE },
};

#define N_DRAWS 200000u
#define N_CELLS 16u

static uint64_t
walk_draw(const RandomWalk *walk, uint64_t i)
{
    char name[32];

    g_snprintf(name, sizeof name, "stream-%" G_GUINT64_FORMAT, walk->new_stream ? i : 0);
    return sim_random_bits(sim_stream_from(1, 0, name), i * walk->entity_step, i * walk->n_step);
}

/* Of 36 tests one beyond 1e-4 would be worth a look; the seeds are fixed. */
static void
assert_chi_squared(const unsigned *counts, unsigned n_cells, double n)
{
    double sum = 0, expected = n / n_cells;

    for (unsigned i = 0; i < n_cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    double p = gsl_cdf_chisq_Q(sum, n_cells - 1);
    assert_true(p > 1e-4 && p < 1 - 1e-4);
}

/* Pairs of neighbours fill a square evenly: by their high bits, by their low bits. */
static void
walks_evenly(void **state)
{
    const RandomWalk *walk = *state;
    unsigned high[N_CELLS * N_CELLS] = {0}, low[N_CELLS * N_CELLS] = {0},
                            mixed[N_CELLS * N_CELLS] = {0};
    unsigned bit_counts[64] = {0};

    for (uint64_t i = 0; i < N_DRAWS; i++) {
        uint64_t a = walk_draw(walk, 2 * i), b = walk_draw(walk, 2 * i + 1);
        high[(a >> 60) * N_CELLS + (b >> 60)]++;
        low[(a % N_CELLS) * N_CELLS + b % N_CELLS]++;
        mixed[(a >> 60) * N_CELLS + (b >> 20) % N_CELLS]++;
        for (unsigned bit = 0; bit < 64; bit++)
            bit_counts[bit] += (a >> bit & 1) != (b >> bit & 1);
    }
    assert_chi_squared(high, N_CELLS * N_CELLS, N_DRAWS);
    assert_chi_squared(low, N_CELLS * N_CELLS, N_DRAWS);
    assert_chi_squared(mixed, N_CELLS * N_CELLS, N_DRAWS);
    for (unsigned bit = 0; bit < 64; bit++) /* 4.5 standard deviations */
        assert_true(fabs(bit_counts[bit] - N_DRAWS / 2.0) < 4.5 * sqrt(N_DRAWS / 4.0));
}
TEST_ROWS(walks, walks_evenly);

/* A flipped bit of a name, an entity or a count flips half of the bits. */
TEST(every_bit_matters)
{
    SimStream stream = sim_stream_from(1, 0, "avalanche");

    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned n_entity = 0, n_count = 0, n_hash = 0;
        for (uint64_t i = 0; i < 1000; i++) {
            uint64_t flip = UINT64_C(1) << bit;
            n_entity += (unsigned)__builtin_popcountll(sim_random_bits(stream, i, 1) ^
                                                       sim_random_bits(stream, i ^ flip, 1));
            n_count += (unsigned)__builtin_popcountll(sim_random_bits(stream, 1, i) ^
                                                      sim_random_bits(stream, 1, i ^ flip));
            n_hash += (unsigned)__builtin_popcountll(sim_hash_combine(i, 5) ^
                                                     sim_hash_combine(i ^ flip, 5));
        }
        assert_in_range(n_entity, 31400, 32600);
        assert_in_range(n_count, 31400, 32600);
        assert_in_range(n_hash, 31400, 32600);
    }
}

TEST(uniform_is_open)
{
    SimStream stream = sim_stream_from(1, 0, "uniform");
    double sum = 0, squares = 0;

    for (unsigned i = 0; i < 1000000; i++) {
        double u = sim_random_uniform(stream, 0, i);
        assert_true(u > 0 && u < 1 && 1 - (1 - u) == u);
        sum += u;
        squares += u * u;
    }
    assert_true(fabs(sum / 1e6 - 1.0 / 2) < 4 * sqrt(1.0 / 12 / 1e6));
    assert_true(fabs(squares / 1e6 - 1.0 / 3) < 4 * sqrt(4.0 / 45 / 1e6));
}

TEST(below_is_below)
{
    SimStream stream = sim_stream_from(1, 0, "below");
    unsigned counts[7] = {0};

    for (unsigned i = 0; i < 70000; i++)
        counts[sim_random_below(stream, 0, i, 7)]++;
    assert_chi_squared(counts, 7, 70000);
    assert_int_equal(sim_random_below(stream, 0, 0, 1), 0);
    assert_true(sim_random_below(stream, 0, 0, UINT64_MAX) < UINT64_MAX);
}

/* ---- Walks over maps ---- */

typedef struct {
    uint64_t outer, inner;
} RandomItem;

static uint64_t
random_place_of(const void *item, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const RandomItem *)item)->inner, walk);
}

static uint64_t
place_within(const void *item, SimStream stream, uint64_t walk)
{
    return sim_map_place(stream, walk, ((const RandomItem *)item)->outer,
                         ((const RandomItem *)item)->inner);
}

/* All 24 orders of four items are equally likely. */
TEST(a_walk_takes_any_order)
{
    SimStream stream = sim_stream_from(1, 0, "walk");
    RandomItem items[4] = {
        {0, 0},
        {0, 1},
        {0, 2},
        {0, 3}
    };
    unsigned counts[24] = {0};

    for (uint64_t walk = 0; walk < 24000; walk++) {
        void *order[] = {&items[0], &items[1], &items[2], &items[3]};
        unsigned code = 0;
        sim_shuffle(order, 4, random_place_of, stream, walk);
        for (unsigned i = 0; i < 4; i++) { /* Lehmer's code */
            unsigned n_less = 0;
            for (unsigned k = i + 1; k < 4; k++)
                n_less += (RandomItem *)order[k] < (RandomItem *)order[i];
            code = code * (4 - i) + n_less;
        }
        counts[code]++;
    }
    assert_chi_squared(counts, 24, 24000);
}

/* A walk that leaves items out takes the others in the same order, whatever the order they had. */
TEST(a_part_of_a_walk_keeps_its_order)
{
    SimStream stream = sim_stream_from(1, 0, "walk");
    RandomItem items[8];

    for (unsigned i = 0; i < 8; i++)
        items[i] = (RandomItem){0, i};
    for (uint64_t walk = 0; walk < 100; walk++) {
        void *all[8], *odd[] = {&items[7], &items[5], &items[3], &items[1]};
        unsigned at = 0;
        for (unsigned i = 0; i < 8; i++)
            all[i] = &items[i];
        sim_shuffle(all, 8, random_place_of, stream, walk);
        sim_shuffle(odd, 4, random_place_of, stream, walk);
        for (unsigned i = 0; i < 8; i++)
            if (((RandomItem *)all[i])->inner % 2 == 1)
                assert_ptr_equal(all[i], odd[at++]);
        assert_int_equal(at, 4);
    }
}

/* Items of a map within a map follow each other; both maps take any order. */
TEST(a_map_within_a_map_stays_together)
{
    SimStream stream = sim_stream_from(1, 0, "walk");
    RandomItem items[4] = {
        {0, 7},
        {0, 8},
        {1, 7},
        {1, 8}
    };
    unsigned counts[8] = {0};

    for (uint64_t walk = 0; walk < 8000; walk++) {
        void *order[] = {&items[0], &items[1], &items[2], &items[3]};
        sim_shuffle(order, 4, place_within, stream, walk);
        RandomItem *const *sorted = (RandomItem *const *)order;
        assert_int_equal(sorted[0]->outer, sorted[1]->outer);
        assert_int_equal(sorted[2]->outer, sorted[3]->outer);
        counts[sorted[0]->outer * 4 + (sorted[0]->inner - 7) * 2 + (sorted[2]->inner - 7)]++;
    }
    assert_chi_squared(counts, 8, 8000);
}
