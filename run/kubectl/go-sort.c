/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pattern-defeating quicksort (Orson Peters, 2021) with the thresholds, pivots and random numbers
 * of Go's package sort in 1.23, which builds kubectl 1.32 (Go 1.24 draws other random numbers). The
 * order of comparisons decides where equal elements end up. */
#include <stdint.h>

#include "go-sort.h"

#define INSERTION_LENGTH_MAX 12
#define NINTHER_LENGTH_MIN 50
#define SHIFTING_LENGTH_MIN 50
#define PARTIAL_STEPS_MAX 5
#define PIVOT_SWAPS_MAX 12

typedef struct {
    void **items;
    GoSortLess less;
    const void *data;
} Sort;

typedef enum {
    HINT_UNKNOWN,
    HINT_INCREASING,
    HINT_DECREASING,
} SortHint;

static gboolean
less(const Sort *self, int i, int j)
{
    return self->less(self->items[i], self->items[j], self->data);
}

static void
swap(Sort *self, int i, int j)
{
    void *item = self->items[i];

    self->items[i] = self->items[j];
    self->items[j] = item;
}

/* Swaps items[i] towards @first while it is less than its neighbour. */
static void
sink_left(Sort *self, int first, int i)
{
    for (; i > first && less(self, i, i - 1); i--)
        swap(self, i, i - 1);
}

static void
insertion_sort(Sort *self, int a, int b)
{
    for (int i = a + 1; i < b; i++)
        sink_left(self, a, i);
}

static void
sift_down(Sort *self, int root, int end, int first)
{
    for (;;) {
        int child = 2 * root + 1;

        if (child >= end)
            return;
        if (child + 1 < end && less(self, first + child, first + child + 1))
            child++;
        if (!less(self, first + root, first + child))
            return;
        swap(self, first + root, first + child);
        root = child;
    }
}

static void
heap_sort(Sort *self, int a, int b)
{
    int length = b - a;

    for (int i = (length - 1) / 2; i >= 0; i--)
        sift_down(self, i, length, a);
    for (int i = length - 1; i >= 0; i--) {
        swap(self, a, a + i);
        sift_down(self, 0, i, a);
    }
}

static unsigned
bits_of(unsigned number)
{
    return number == 0 ? 0 : 32 - (unsigned)__builtin_clz(number);
}

/* Swaps three middle elements with others, by a xorshift generator seeded with the length. */
static void
break_patterns(Sort *self, int a, int b)
{
    int length = b - a, middle = a + length / 4 * 2 - 1;
    uint64_t random = (uint64_t)length, mask = (UINT64_C(1) << bits_of((unsigned)length)) - 1;

    if (length < 8)
        return;
    for (int i = 0; i < 3; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;

        int other = (int)(random & mask);
        if (other >= length)
            other -= length;
        swap(self, middle + i, a + other);
    }
}

static void
order(const Sort *self, int *i, int *j, int *n_swaps)
{
    if (less(self, *j, *i)) {
        int k = *i;

        *i = *j;
        *j = k;
        (*n_swaps)++;
    }
}

static int
median(const Sort *self, int i, int j, int k, int *n_swaps)
{
    order(self, &i, &j, n_swaps);
    order(self, &j, &k, n_swaps);
    order(self, &i, &j, n_swaps);
    return j;
}

static int
choose_pivot(const Sort *self, int a, int b, SortHint *hint)
{
    int length = b - a, n_swaps = 0;
    int i = a + length / 4, j = a + length / 4 * 2, k = a + length / 4 * 3;

    if (length >= NINTHER_LENGTH_MIN) {
        i = median(self, i - 1, i, i + 1, &n_swaps);
        j = median(self, j - 1, j, j + 1, &n_swaps);
        k = median(self, k - 1, k, k + 1, &n_swaps);
    }
    if (length >= 8)
        j = median(self, i, j, k, &n_swaps);
    *hint = n_swaps == 0                 ? HINT_INCREASING
            : n_swaps == PIVOT_SWAPS_MAX ? HINT_DECREASING
                                         : HINT_UNKNOWN;
    return j;
}

/* Tries to finish a nearly sorted range. Returns: whether it is sorted now */
static gboolean
partial_insertion_sort(Sort *self, int a, int b)
{
    int i = a + 1;

    for (int step = 0; step < PARTIAL_STEPS_MAX; step++) {
        while (i < b && !less(self, i, i - 1))
            i++;
        if (i == b)
            return TRUE;
        if (b - a < SHIFTING_LENGTH_MIN)
            return FALSE;
        swap(self, i, i - 1);
        if (i - a >= 2)
            sink_left(self, 0, i - 1); /* not a: Go sinks to the very first element */
        if (b - i >= 2)
            for (int j = i + 1; j < b && less(self, j, j - 1); j++)
                swap(self, j, j - 1);
    }
    return FALSE;
}

/* Moves elements equal to the pivot left. Returns: the first element after them */
static int
partition_equal(Sort *self, int a, int b, int pivot)
{
    int i = a + 1, j = b - 1;

    swap(self, a, pivot);
    for (;;) {
        while (i <= j && !less(self, a, i))
            i++;
        while (i <= j && less(self, a, j))
            j--;
        if (i > j)
            return i;
        swap(self, i++, j--);
    }
}

/* Returns: the pivot's new place. @was_partitioned: (out): no element had to move */
static int
partition(Sort *self, int a, int b, int pivot, gboolean *was_partitioned)
{
    int i = a + 1, j = b - 1;

    *was_partitioned = TRUE;
    swap(self, a, pivot);
    for (;;) {
        while (i <= j && less(self, i, a))
            i++;
        while (i <= j && !less(self, j, a))
            j--;
        if (i > j)
            break;
        swap(self, i++, j--);
        *was_partitioned = FALSE;
    }
    swap(self, j, a);
    return j;
}

static void
reverse(Sort *self, int a, int b)
{
    for (int i = a, j = b - 1; i < j; i++, j--)
        swap(self, i, j);
}

/* @limit: bad pivots until heap sort takes over */
static void
sort_range(Sort *self, int a, int b, int limit)
{
    gboolean was_balanced = TRUE, was_partitioned = TRUE;

    while (b - a > INSERTION_LENGTH_MAX) {
        int length = b - a;
        SortHint hint;

        if (limit == 0) {
            heap_sort(self, a, b);
            return;
        }
        if (!was_balanced) {
            break_patterns(self, a, b);
            limit--;
        }

        int pivot = choose_pivot(self, a, b, &hint);
        if (hint == HINT_DECREASING) {
            reverse(self, a, b);
            pivot = b - 1 - (pivot - a);
            hint = HINT_INCREASING;
        }
        if (was_balanced && was_partitioned && hint == HINT_INCREASING &&
            partial_insertion_sort(self, a, b))
            return;
        if (a > 0 && !less(self, a - 1, pivot)) {
            a = partition_equal(self, a, b, pivot);
            continue;
        }

        int middle = partition(self, a, b, pivot, &was_partitioned);
        int left = middle - a, right = b - middle;
        was_balanced = MIN(left, right) >= length / 8;
        if (left < right) {
            sort_range(self, a, middle, limit);
            a = middle + 1;
        } else {
            sort_range(self, middle + 1, b, limit);
            b = middle;
        }
    }
    insertion_sort(self, a, b);
}

void
go_sort(GPtrArray *items, GoSortLess is_less, const void *data)
{
    Sort sort = {.items = items->pdata, .less = is_less, .data = data};

    sort_range(&sort, 0, (int)items->len, (int)bits_of(items->len));
}
