/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/engine.h"

#include "models/api/fields.h"
#include "tests/lib/spoil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* conformance [OPTION...] FILE...: runs the cases of each file. A line for each case that fails,
 * then the reasons for which cases were left out; the last line counts. --help tells the options.
 *
 * Only a case that says "portable": false is left out, unless --also takes its reason. Everything
 * that the runner does not know, a suite, an act, a step, is a failure of the case. The cases run
 * in a child process, so a case that crashes or hangs fails and the others still run. */

#define SUITE(name) &name##_suite,
static const Suite *const suites[] = {
#include "tests/conformance/suites.h"
};
#undef SUITE

/* Far more than any case needs: only a case that never ends reaches it. */
#define CASE_SECONDS 60

/* In memory that the child shares with its parent. */
typedef struct {
    size_t current; /* the case under way */
    unsigned cases, portable, passed, failed;
} ConformanceCounts;

typedef struct {
    char **also, **except, **files;
    gboolean lists_suites, prints_table;
    int fuzz_rounds;
    ConformanceCounts *counts, total;
    GHashTable *left_out; /* reason -> number of cases */
    GString *table;
} ConformanceRunner;

static const Suite *
find_suite(const json_t *json)
{
    const char *name = json_path_string(json, "suite");

    for (unsigned i = 0; i < G_N_ELEMENTS(suites); i++)
        if (g_strcmp0(suites[i]->name, name) == 0)
            return suites[i];
    return NULL;
}

static const char *
word_of(const json_t *json, const char *name)
{
    const char *text = json_path_string(json, name);

    return text == NULL ? "(none)" : text;
}

/* ---- Cases that are left out ---- */

/* Whether @reason has all words of @wanted, in their order: "feature gate off by default" takes
 * "feature gate VolumeAttributesClass (off by default)". */
static gboolean
has_words(const char *reason, const char *wanted)
{
    static const char *const separators = " ()/,:";
    g_auto(GStrv) words = g_strsplit_set(wanted, separators, -1);
    g_auto(GStrv) said = g_strsplit_set(reason, separators, -1);
    unsigned k = 0;

    for (unsigned i = 0; said[i] != NULL; i++) {
        while (words[k] != NULL && words[k][0] == '\0')
            k++;
        if (words[k] != NULL && g_ascii_strcasecmp(words[k], said[i]) == 0)
            k++;
    }
    while (words[k] != NULL && words[k][0] == '\0')
        k++;
    return words[k] == NULL;
}

static gboolean
takes_reason(const ConformanceRunner *self, const json_t *reason)
{
    const char *text = json_string_value(reason);

    for (char **also = self->also; also != NULL && *also != NULL; also++)
        if (has_words(text == NULL ? "" : text, *also))
            return TRUE;
    return FALSE;
}

static gboolean
is_portable(const json_t *json)
{
    return !json_is_false(json_object_get(json, "portable"));
}

/* A case may have several reasons: all of them have to be taken. --except is stronger. */
static gboolean
conformance_is_left_out(const ConformanceRunner *self, const json_t *json)
{
    const json_t *reason = json_object_get(json, "portable_reason"), *item;
    size_t i;

    if (self->except != NULL &&
        g_strv_contains((const char *const *)self->except, word_of(json, "id")))
        return TRUE;
    if (is_portable(json))
        return FALSE;
    if (!json_is_array(reason))
        return !takes_reason(self, reason);
    json_array_foreach(reason, i, item)
        if (!takes_reason(self, item))
            return TRUE;
    return FALSE;
}

/* (owned) */
static char *
reason_text(const json_t *json)
{
    const json_t *reason = json_object_get(json, "portable_reason"), *item;
    g_autoptr(GString) text = g_string_new(json_string_value(reason));
    size_t i;

    json_array_foreach(reason, i, item)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : "; ",
                               json_is_string(item) ? json_string_value(item) : "?");
    if (text->len == 0)
        g_string_assign(text, "no reason given");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
count_left_out(ConformanceRunner *self, const json_t *json)
{
    char *reason = reason_text(json);
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(self->left_out, reason));

    g_hash_table_replace(self->left_out, reason, GUINT_TO_POINTER(n + 1));
}

static void
print_left_out(const ConformanceRunner *self)
{
    g_autoptr(GList) reasons = g_hash_table_get_keys(self->left_out);

    reasons = g_list_sort(reasons, (GCompareFunc)strcmp);
    for (const GList *link = reasons; link != NULL; link = link->next)
        printf("left out: %4u %s\n",
               GPOINTER_TO_UINT(g_hash_table_lookup(self->left_out, link->data)),
               (const char *)link->data);
}

/* ---- Running ---- */

static void
run_one(const json_t *json, ConformanceCounts *counts)
{
    const Suite *suite = find_suite(json);
    g_autoptr(GString) faults = g_string_new(NULL);

    if (suite == NULL)
        g_string_printf(faults, "no suite \"%s\"", word_of(json, "suite"));
    else if (case_run(suite->acts, json, faults)) {
        counts->passed++;
        return;
    }
    counts->failed++;
    printf("%s: %s: %s\n", word_of(json, "id"), word_of(json, "title"), faults->str);
}

/* Its result does not count. */
static void
try_one(const json_t *json, ConformanceCounts *counts)
{
    const Suite *suite = find_suite(json);
    g_autoptr(GString) faults = g_string_new(NULL);

    if (suite != NULL)
        case_run(suite->acts, json, faults);
    counts->passed++;
}

/* ---- Cases that are spoilt on purpose ---- */

/* The same for the same case and round. Returns: (owned) */
static json_t *
spoil_case(const json_t *json, unsigned round)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(g_str_hash(word_of(json, "id")) + round);

    return spoil_json(json, random);
}

/* A spoilt case may pass or fail, but neither crash nor hang. */
static json_t *
spoil_cases(const ConformanceRunner *self, const json_t *cases)
{
    json_t *spoilt = json_array();
    const json_t *json;
    size_t i;

    json_array_foreach(cases, i, json)
        for (int round = 0; json_is_object(json) && round < self->fuzz_rounds; round++)
            json_array_append_new(spoilt, spoil_case(json, (unsigned)round));
    return spoilt;
}

static void
run_from(const ConformanceRunner *self, const json_t *cases, size_t start)
{
    for (size_t i = start; i < json_array_size(cases); i++) {
        const json_t *json = json_array_get(cases, i);
        self->counts->current = i;
        if (conformance_is_left_out(self, json))
            continue;
        alarm(CASE_SECONDS);
        if (self->fuzz_rounds == 0)
            run_one(json, self->counts);
        else
            try_one(json, self->counts);
        alarm(0);
        fflush(stdout);
    }
}

/* Cases until the end or until one of them crashes: that one has failed, and the next child goes on
 * behind it. */
static void
run_cases(ConformanceRunner *self, const json_t *cases)
{
    size_t start = 0;
    int status;

    while (start < json_array_size(cases)) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run_from(self, cases, start);
            self->counts->current = json_array_size(cases);
            exit(EXIT_SUCCESS);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            g_error("no child process: %s", g_strerror(errno));
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
            return;
        start = self->counts->current + 1;
        const json_t *json = json_array_get(cases, self->counts->current); /* NULL: at the end */
        self->counts->failed++;
        printf("%s: %s: %s\n", word_of(json, "id"), word_of(json, "title"),
               !WIFSIGNALED(status)          ? "the runner ended, see its messages"
               : WTERMSIG(status) == SIGALRM ? "does not end"
                                             : strsignal(WTERMSIG(status)));
    }
}

static void
count_file(ConformanceRunner *self, const char *path, const json_t *cases)
{
    g_autofree char *name = g_path_get_basename(path);
    ConformanceCounts *counts = self->counts;
    const json_t *json;
    size_t i;

    *counts = (ConformanceCounts){.cases = (unsigned)json_array_size(cases)};
    json_array_foreach(cases, i, json) {
        counts->portable += is_portable(json);
        if (conformance_is_left_out(self, json))
            count_left_out(self, json);
    }
    run_cases(self, cases);
    if (self->prints_table) {
        if (g_str_has_suffix(name, ".json"))
            name[strlen(name) - strlen(".json")] = '\0';
        g_string_append_printf(self->table, "| %s | %u | %u | %u | %u |\n", name, counts->cases,
                               counts->portable, counts->passed, counts->failed);
    }
    self->total.cases += counts->cases;
    self->total.portable += counts->portable;
    self->total.passed += counts->passed;
    self->total.failed += counts->failed;
}

static gboolean
run_file(ConformanceRunner *self, const char *path)
{
    json_error_t error;
    json_t *cases = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    if (cases == NULL)
        fprintf(stderr, "%s:%d:%d: %s\n", path, error.line, error.column, error.text);
    else if (!json_is_array(cases))
        fprintf(stderr, "%s: the file has to be a list of cases\n", path);
    else if (self->fuzz_rounds == 0)
        count_file(self, path, cases);
    else {
        json_t *spoilt = spoil_cases(self, cases);
        count_file(self, path, spoilt);
        json_decref(spoilt);
    }
    gboolean readable = json_is_array(cases);
    json_decref(cases);
    return readable;
}

static int
run_files(ConformanceRunner *self)
{
    gboolean readable = TRUE;
    ConformanceCounts *total = &self->total;

    for (char **file = self->files; *file != NULL; file++)
        readable = run_file(self, *file) && readable;
    if (self->prints_table)
        printf("\n| suite | cases | portable | passed | failed |\n|---|---|---|---|---|\n%s| all | "
               "%u | %u | %u | %u |\n\n",
               self->table->str, total->cases, total->portable, total->passed, total->failed);
    print_left_out(self);
    printf("%u passed, %u failed, %u skipped\n", total->passed, total->failed,
           total->cases - total->passed - total->failed);
    if (!readable)
        return 2;
    return total->failed == 0 ? 0 : 1;
}

static gboolean
conformance_parse(ConformanceRunner *self, int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"also",         0, 0, G_OPTION_ARG_STRING_ARRAY, &self->also,
         "Run the cases, too, that are not portable for REASON; all its words have to stand in "
         "the case's reason, in their order. May be repeated", "REASON"},
        {"except",             0, 0, G_OPTION_ARG_STRING_ARRAY, &self->except,
         "Leave the case of this id out. May be repeated", "ID"},
        {"table",   0, 0, G_OPTION_ARG_NONE, &self->prints_table,
         "Print a row of figures for each file", NULL},
        {"fuzz",      0, 0, G_OPTION_ARG_INT, &self->fuzz_rounds,
         "Spoil each case in N ways; the results do not count, only crashes", "N"},
        {"suites",       0, 0, G_OPTION_ARG_NONE, &self->lists_suites,
         "Print the names of the suites that the program knows", NULL},
        {G_OPTION_REMAINING,             0, 0, G_OPTION_ARG_FILENAME_ARRAY, &self->files, NULL, NULL},
        {0},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("FILE...");
    g_autoptr(GError) error = NULL;

    g_option_context_set_summary(context, "Runs recorded cases of the real components' own tests.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "conformance: %s\n", error->message);
        return FALSE;
    }
    if (self->files == NULL && !self->lists_suites)
        fprintf(stderr, "conformance: no file is named; --help tells the options\n");
    return self->files != NULL || self->lists_suites;
}

int
main(int argc, char **argv)
{
    ConformanceRunner self = {.table = g_string_new(NULL)};
    int status = 2;

    /* A critical message is a fault of the case that causes it. */
    g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
    self.counts =
        mmap(NULL, sizeof *self.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (self.counts == MAP_FAILED)
        g_error("no shared memory: %s", g_strerror(errno));
    self.left_out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (conformance_parse(&self, argc, argv)) {
        for (unsigned i = 0; self.lists_suites && i < G_N_ELEMENTS(suites); i++)
            puts(suites[i]->name);
        status = self.files == NULL ? 0 : run_files(&self);
    }
    g_hash_table_unref(self.left_out);
    g_string_free(self.table, TRUE);
    g_strfreev(self.also);
    g_strfreev(self.except);
    g_strfreev(self.files);
    munmap(self.counts, sizeof *self.counts);
    return status;
}
