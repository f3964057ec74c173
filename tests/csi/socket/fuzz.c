/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz ROUNDS [SEED [SECONDS]]: a driver without its socket gets requests of all methods, made at
 * random and partly spoilt. Each is answered once, an OK with a message that can be read, and what
 * was read can be written and read again: the same. Random bytes as answers are read, too. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/csi/messages-private.h"
#include "serve/csi/plugin.h"

typedef struct {
    GRand *random;
    CsiPlugin *plugin;
    GPtrArray *words; /* names, ids and paths that were seen */
    unsigned n_sent, n_answered, n_ok, n_faults, n_cancelled;
} CsiFuzzer;

typedef struct {
    CsiFuzzer *fuzzer;
    CsiMethod method;
} FuzzSent;

static unsigned
fuzz_draw(CsiFuzzer *self, unsigned n)
{
    return (unsigned)g_rand_int_range(self->random, 0, (gint32)n);
}

static void
die(const char *what)
{
    printf("not ok 1 - %s\n", what);
    exit(1);
}

/* ---- Making messages ---- */

#define WORDS_MAX 200

static void
learn(CsiFuzzer *self, const char *word)
{
    if (word == NULL || word[0] == '\0')
        return;
    if (self->words->len < WORDS_MAX)
        g_ptr_array_add(self->words, g_strdup(word));
    else {
        char **old = (char **)&self->words->pdata[fuzz_draw(self, WORDS_MAX)];
        g_free(*old);
        *old = g_strdup(word);
    }
}

static char *
some_text(CsiFuzzer *self)
{
    static const char *const odd[] = {"",         "../../etc/passwd", "/",    "/..", "a/b",
                                      "\xff\xfe", "\xc3\xa4",         "%s%n", "..",  "-1",
                                      "{\"a\":1}"};

    switch (fuzz_draw(self, 8)) {
    case 0:
        return g_strdup(odd[fuzz_draw(self, G_N_ELEMENTS(odd))]);
    case 1:
        return g_strdup_printf("new-%u", fuzz_draw(self, 100));
    case 2:
        return g_strnfill(fuzz_draw(self, fuzz_draw(self, 20) == 0 ? 80000 : 200), 'x');
    default:
        return g_strdup(self->words->pdata[fuzz_draw(self, self->words->len)]);
    }
}

static int64_t
some_number(CsiFuzzer *self)
{
    static const int64_t odd[] = {0,         1,         -1,      INT64_MAX,
                                  INT64_MIN, INT32_MAX, 1 << 30, INT64_C(1) << 40};

    return fuzz_draw(self, 2) == 0 ? odd[fuzz_draw(self, G_N_ELEMENTS(odd))]
                                   : (int64_t)fuzz_draw(self, 16);
}

static void fuzz_fill(CsiFuzzer *self, ProtobufCMessage *message, unsigned depth);

/* A value at @at, from the heap as protobuf-c frees it. */
static void
fill_value(CsiFuzzer *self, const ProtobufCFieldDescriptor *field, void *at, unsigned depth)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;

    switch ((int)field->type) {
    case PROTOBUF_C_TYPE_STRING: {
        g_autofree char *text = some_text(self);
        *(char **)at = strdup(text);
        return;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = malloc(type->sizeof_message);
        protobuf_c_message_init(type, *(ProtobufCMessage **)at);
        fuzz_fill(self, *(ProtobufCMessage **)at, depth + 1);
        return;
    case PROTOBUF_C_TYPE_INT64:
        *(int64_t *)at = some_number(self);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = fuzz_draw(self, 2) == 0;
        return;
    default: /* int32 and enums */
        *(int32_t *)at = (int32_t)some_number(self);
        return;
    }
}

/* Most fields get something. */
static void
fuzz_fill(CsiFuzzer *self, ProtobufCMessage *message, unsigned depth)
{
    for (unsigned i = 0; i < message->descriptor->n_fields && depth < 8; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char *at = (char *)message + field->offset;
        size_t *n = (size_t *)(void *)((char *)message + field->quantifier_offset);
        gboolean is_oneof = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;

        if (fuzz_draw(self, 6) == 0)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t size = field->type == PROTOBUF_C_TYPE_ENUM ? sizeof(int32_t) : sizeof(void *);
            *n = fuzz_draw(self, 40) == 0 ? fuzz_draw(self, 300) : fuzz_draw(self, 3);
            char *items = *n == 0 ? NULL : calloc(*n, size);
            for (size_t k = 0; k < *n; k++)
                fill_value(self, field, items + k * size, depth);
            *(char **)(void *)at = items;
        } else if (!is_oneof || (*(int *)(void *)n == 0 && fuzz_draw(self, 2) == 0)) {
            fill_value(self, field, at, depth);
            if (is_oneof)
                *(int *)(void *)n = (int)field->id;
        }
    }
}

/* Returns: (owned) */
static GByteArray *
some_message(CsiFuzzer *self, const ProtobufCMessageDescriptor *type)
{
    GByteArray *bytes = g_byte_array_new();
    ProtobufCMessage *message = malloc(type->sizeof_message);

    protobuf_c_message_init(type, message);
    fuzz_fill(self, message, 0);
    g_byte_array_set_size(bytes, (guint)protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, bytes->data);
    protobuf_c_message_free_unpacked(message, NULL);
    if (fuzz_draw(self, 3) > 0 || bytes->len == 0)
        return bytes;
    for (unsigned i = fuzz_draw(self, 6) + 1; i > 0; i--) /* spoilt */
        bytes->data[fuzz_draw(self, bytes->len)] = (guint8)fuzz_draw(self, 256);
    if (fuzz_draw(self, 4) == 0)
        g_byte_array_set_size(bytes, fuzz_draw(self, bytes->len));
    return bytes;
}

/* ---- Checks ---- */

/* A request that was read is written and read again: it has the same fields. */
static void
check_both_ways(Strings *strings, CsiMethod method, const GByteArray *bytes)
{
    CsiMessage first, written, second, rewritten;

    csi_message_read_request(&first, strings, method, bytes->data, bytes->len);
    if (first.fault == NULL) {
        csi_message_write_request(&written, &first.request);
        g_autofree uint8_t *packed =
            g_malloc(protobuf_c_message_get_packed_size(written.message) + 1);
        size_t n = protobuf_c_message_pack(written.message, packed);
        csi_message_read_request(&second, strings, method, packed, n);
        if (second.fault != NULL)
            die(second.fault);
        csi_message_write_request(&rewritten, &second.request);
        json_auto_t *a = csi_message_json(written.message);
        json_auto_t *b = csi_message_json(rewritten.message);
        if (!json_equal(a, b))
            die("a message that was read twice is another one");
        csi_message_clear(&rewritten);
        csi_message_clear(&second);
        csi_message_clear(&written);
    }
    csi_message_clear(&first);
}

static void
learn_from(CsiFuzzer *self, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_string(value) && fuzz_draw(self, 4) == 0)
        learn(self, json_string_value(value));
    json_object_foreach((json_t *)value, key, member)
        learn_from(self, member);
    json_array_foreach(value, i, member)
        learn_from(self, member);
}

static void
fuzz_answered(void *data, CsiCode code, const char *text, const ProtobufCMessage *message)
{
    g_autofree FuzzSent *sent = data;
    CsiFuzzer *self = sent->fuzzer;

    self->n_answered++;
    if (code != CSI_OK) {
        if (text[0] == '\0' || !g_utf8_validate(text, -1, NULL))
            die("an error without words");
        return;
    }
    self->n_ok++;
    if (message->descriptor != csi_message_types(sent->method)->response)
        die("an answer of another method");
    json_auto_t *json = csi_message_json(message);
    learn_from(self, json);
}

static void
send_one(CsiFuzzer *self, Strings *strings)
{
    CsiMethod method = (CsiMethod)fuzz_draw(self, CSI_N_METHODS);
    g_autoptr(GByteArray) bytes = some_message(self, csi_message_types(method)->request);
    g_autoptr(GByteArray) answer = some_message(self, csi_message_types(method)->response);
    CsiMessage told;
    FuzzSent *sent = g_new(FuzzSent, 1);

    check_both_ways(strings, method, bytes);
    csi_message_read_response(&told, strings, method, answer->data, answer->len, 0);
    self->n_faults += told.fault != NULL;
    csi_message_clear(&told);
    *sent = (FuzzSent){self, method};
    self->n_sent++;
    CsiPluginCall *call =
        csi_plugin_call(self->plugin, method, bytes->data, bytes->len,
                        fuzz_draw(self, 5) == 0 ? fuzz_draw(self, 1000000) : 0, sent);
    if (fuzz_draw(self, 20) == 0) {
        csi_plugin_abandon(self->plugin, call);
        self->n_cancelled++;
        g_free(sent);
    }
    if (fuzz_draw(self, 3) == 0)
        csi_plugin_turn(self->plugin);
}

/* ---- The program ---- */

/* Returns: (owned) */
static Scenario *
fuzz_load(const char *folder)
{
    const ScenarioOptions options = {.data_dir = folder};
    g_autofree char *file = g_build_filename(folder, "tests/csi/socket/everything.yaml", NULL);
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL)
        die("the scenario cannot be loaded");
    return scenario;
}

static void
fuzz(CsiFuzzer *self, unsigned rounds, int64_t until_us)
{
    Strings *strings = strings_new();

    for (unsigned i = 0; i < rounds || g_get_monotonic_time() < until_us; i++) {
        send_one(self, strings);
        if (i % 10000 == 9999) {
            strings_free(strings);
            strings = strings_new();
        }
    }
    strings_free(strings);
    while (self->n_answered + self->n_cancelled < self->n_sent) {
        csi_plugin_turn(self->plugin);
        g_usleep(1000);
    }
}

int
main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-fuzz-XXXXXX", NULL);
    g_autofree char *state = g_build_filename(folder, "state", NULL);
    g_autofree char *targets = g_build_filename(folder, "targets", NULL);
    g_autofree char *target = g_build_filename(targets, "pod", NULL);
    g_autoptr(Scenario) scenario = fuzz_load(getenv("KVOLSIM_SRCDIR"));
    g_autoptr(GError) error = NULL;
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 3000;
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    int64_t seconds = argc > 3 ? atoi(argv[3]) : 0;
    CsiFuzzer self = {.random = g_rand_new_with_seed(seed),
                      .words = g_ptr_array_new_with_free_func(g_free)};
    const CsiPluginOptions options = {.scenario = scenario,
                                      .driver = &scenario->drivers[0],
                                      .node = "node-1",
                                      .has_scenario_nodes = TRUE,
                                      .has_controller = TRUE,
                                      .has_node = TRUE,
                                      .seed = seed,
                                      .speed = 1000,
                                      .state_folder = state,
                                      .mounts = {.root = targets},
                                      .answer = fuzz_answered};

    g_mkdir(targets, 0700);
    learn(&self, target);
    learn(&self, "node-1");
    learn(&self, "topology.kubernetes.io/zone");
    learn(&self, "zone-a");
    self.plugin = csi_plugin_new(&options, &error);
    if (self.plugin == NULL)
        die(error->message);
    fuzz(&self, rounds, g_get_monotonic_time() + seconds * G_USEC_PER_SEC);
    printf("ok 1 - %u requests, %u answered, %u of them OK, %u given up\n1..1\n", self.n_sent,
           self.n_answered, self.n_ok, self.n_cancelled);
    csi_plugin_free(self.plugin);
    g_ptr_array_unref(self.words);
    g_rand_free(self.random);
    const char *const remove[] = {"rm", "-rf", folder, NULL};
    g_spawn_sync(NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                 NULL);
    return 0;
}
