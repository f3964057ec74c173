/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Tests from functions and from tables: each row is a test of its own name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>

#include <string.h>

typedef struct CMUnitTest TestList[256];

static inline void
test_list_add(TestList list, const char *name, CMUnitTestFunction test, const void *row)
{
    unsigned i = 0;

    while (list[i].name != NULL)
        i++;
    g_assert(i < G_N_ELEMENTS((TestList){0}) - 1);
    list[i] = (struct CMUnitTest){name, test, NULL, NULL, (void *)row};
}

/* @rows begin with a const char *, their name. */
static inline void
test_list_add_rows(
    TestList list, const void *rows, size_t n_rows, size_t row_size, CMUnitTestFunction test)
{
    for (size_t i = 0; i < n_rows; i++) {
        const char *row = (const char *)rows + i * row_size;
        const char *name;
        memcpy(&name, row, sizeof name);
        test_list_add(list, name, test, row);
    }
}

#define TEST(list, test) test_list_add(list, #test, test, NULL)
#define TEST_ROWS(list, rows, test)                                                                \
    test_list_add_rows(list, rows, G_N_ELEMENTS(rows), sizeof *(rows), test)

static inline int
test_list_run(const char *group, TestList list)
{
    size_t n = 0;

    while (list[n].name != NULL)
        n++;
    return _cmocka_run_group_tests(group, list, n, NULL, NULL);
}
