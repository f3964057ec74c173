/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* A test program lists its cases where they stand: TEST() and TEST_ROWS() put each into a section
 * of the program, and main() of libtest-main.a runs them in the order of the file. So no case can
 * be written and then forgotten in a list. A program whose cases come from elsewhere (a folder, the
 * rule tables of all components) has a main() of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka.h needs the four above and does not include them. */
#include <cmocka.h>

/* One case, or one for each row of a table. */
typedef struct {
    const char *name;       /* NULL: a row begins with its name, a const char * */
    CMUnitTestFunction run; /* NULL: set_up and tear_down are those of the whole program */
    CMFixtureFunction set_up;
    CMFixtureFunction tear_down;
    const void *rows; /* each is the *state of its case */
    size_t n_rows;
    size_t row_size;
    unsigned line;
} TestCases;

/* The section has pointers: the compiler may align structs to more than their size. */
#define TEST_LIST(id, ...)                                                                         \
    static const TestCases id##_cases = {.line = __LINE__, __VA_ARGS__};                           \
    static const TestCases *const id##_listed __attribute__((section("test_cases"), used)) =       \
        &id##_cases

#define TEST_DEFINE(title, up, down, test)                                                         \
    static void test(void **state);                                                                \
    TEST_LIST(test, .name = title, .run = test, .set_up = up, .tear_down = down);                  \
    static void test(__attribute__((unused)) void **state)

/* A case: TEST(binds_a_volume) { ... } */
#define TEST(test) TEST_DEFINE(#test, NULL, NULL, test)
/* A case with a title of its own. */
#define TEST_CALLED(title, test) TEST_DEFINE(title, NULL, NULL, test)
/* A case between @up and @down, which hand things over in *state. */
#define TEST_WITH(up, down, test) TEST_DEFINE(#test, up, down, test)
/* Cases: @test for each row of an array. */
#define TEST_ROWS(table, test)                                                                     \
    TEST_LIST(test##_of_##table, .run = test, .rows = table,                                       \
              .n_rows = sizeof(table) / sizeof *(table), .row_size = sizeof *(table))
/* Before the first case, and after the last. */
#define TEST_PROGRAM(up, down) TEST_LIST(program, .set_up = up, .tear_down = down)
