/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A served run as a folder of files: the run goes to its end, and the page's requests are answered
 * and recorded on the way, through the API without a socket. Lists of instants stay short: if there
 * are too many, every second one goes. Versions of texts are kept up to a number of bytes, then
 * only the last one. Stories are told once, of the whole run. */
#include "export.h"

#include <string.h>

#include "api-private.h"
#include "models/api/fields.h"
#include "run/kubectl/kubectl.h"
#include "run/results/attribution.h"
#include "run/results/snapshot.h"

/* Frames hold the components, drivers and figures at one instant. If there are more than this,
 * every second frame is dropped, and later frames are twice as far apart. */
#define FRAMES_MAX 600
#define FIGURES_MAX 100
#define FRAME_EVERY (50 * SIM_MS)
#define FIGURES_EVERY (500 * SIM_MS)
/* Texts of objects: up to this many bytes each version is kept, then the last one alone. */
#define TEXTS_MAX (24 * 1024 * 1024)
/* Objects with a story and a sequence of messages. */
#define STORIES_MAX 600

/* A list of {"at": ns, ...} that stays short. */
typedef struct {
    json_t *list; /* (owned) */
    gsize max;
    SimTime every, next;
} Frames;

typedef struct {
    ServeEngine *engine;
    json_t *changes, *story; /* (owned) */
    json_t *texts, *zh;      /* (owned): of objects; the same in Chinese, where that differs */
    Frames frames, figures;
    GHashTable *changed; /* set of keys of texts (owned): changed since their description */
    gsize text_length;
    uint64_t next;
    unsigned story_next;
} ExportRecorder;

/* ---- Questions to the API, without a socket ---- */

typedef struct {
    Exchange base; /* freed by exchange_unref() */
    GBytes *body;  /* (owned): the answer; NULL: none yet, or a refusal */
} ExportQuestion;

static void
take_answer(Exchange *exchange, unsigned code, const char *content_type, GBytes *body)
{
    (void)content_type;
    if (code == 200)
        ((ExportQuestion *)exchange)->body = g_bytes_ref(body);
}

static void
take_stream(Exchange *exchange, const char *content_type)
{
    (void)exchange;
    (void)content_type;
}

static void
take_wake(Exchange *exchange)
{
    (void)exchange;
}

static const ExchangeClass question_class = {take_answer, take_stream, take_wake};

typedef struct {
    const char *object, *namespace; /* "pod/web-0"; NULL: the question is about none */
    const char *format, *lang;      /* NULL: none is named */
} Query;

static void
add_parameter(GHashTable *query, const char *name, const char *value)
{
    if (value != NULL && *value != '\0')
        g_hash_table_insert(query, g_strdup(name), g_strdup(value));
}

/* Returns: (owned): the answer's text; NULL: it was refused */
static char *
export_ask(const ExportRecorder *self, const char *path, const char *accept, const Query *asked)
{
    ExportQuestion *question = g_new0(ExportQuestion, 1);
    GHashTable *query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    char *text = NULL;

    add_parameter(query, "object", asked->object);
    add_parameter(query, "namespace", asked->namespace);
    add_parameter(query, "format", asked->format);
    add_parameter(query, "lang", asked->lang);
    question->base = (Exchange){
        .class = &question_class,
        .request = {.method = g_strdup("GET"),
                    .path = g_strdup(path),
                    .query = query,
                    .accept = g_strdup(accept),
                    .content_type = g_strdup(""),
                    .user_agent = g_strdup("kvolsim"),
                    .if_none_match = g_strdup(""),
                    .body = g_strdup("")},
        .headers = g_ptr_array_new_with_free_func(g_free),
        .refs = 1
    };
    serve_api_handle(self->engine->api, &question->base);
    if (question->body != NULL) {
        gsize length;
        const char *bytes = g_bytes_get_data(question->body, &length);
        text = g_strndup(bytes, length);
    }
    g_clear_pointer(&question->body, g_bytes_unref);
    exchange_unref(&question->base);
    return text;
}

static json_t *
ask_json(const ExportRecorder *self, const char *path, const Query *asked)
{
    g_autofree char *text = export_ask(self, path, "application/json", asked);

    return text != NULL ? json_loads(text, 0, NULL) : json_null();
}

/* ---- Frames ---- */

static void
frames_init(Frames *self, gsize max, SimTime every)
{
    *self = (Frames){json_array(), max, every, 0};
}

static gboolean
frames_are_due(const Frames *self, SimTime now)
{
    return now >= self->next;
}

/* @frame: (taken) */
static void
frames_add(Frames *self, SimTime now, json_t *frame)
{
    json_object_set_new(frame, "at", json_integer(now));
    json_array_append_new(self->list, frame);
    if (json_array_size(self->list) > self->max) {
        json_t *kept = json_array();
        for (gsize i = 0; i < json_array_size(self->list); i += 2)
            json_array_append(kept, json_array_get(self->list, i));
        json_decref(self->list);
        self->list = kept;
        self->every *= 2;
    }
    self->next = now + self->every;
}

/* ---- Texts ---- */

static const struct {
    const char *word, *root, *resource;
} resources[] = {
    {"pod",         "/api/v1",                 "pods"                  },
    {"pvc",         "/api/v1",                 "persistentvolumeclaims"},
    {"pv",          "/api/v1",                 "persistentvolumes"     },
    {"node",        "/api/v1",                 "nodes"                 },
    {"va",          "/apis/storage.k8s.io/v1", "volumeattachments"     },
    {"statefulset", "/apis/apps/v1",           "statefulsets"          },
    {"deployment",  "/apis/apps/v1",           "deployments"           },
};

/* Returns: (owned): the path of a row of the stage; NULL: it has none */
static char *
export_path_of(const char *word, const char *namespace, const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(resources); i++)
        if (strcmp(resources[i].word, word) == 0)
            return *namespace == '\0'
                       ? g_strdup_printf("%s/%s/%s", resources[i].root, resources[i].resource, name)
                       : g_strdup_printf("%s/namespaces/%s/%s/%s", resources[i].root, namespace,
                                         resources[i].resource, name);
    return NULL;
}

/* Returns: (borrowed): the texts of an object */
static json_t *
texts_of(json_t *texts, const char *key)
{
    json_t *of = json_object_get(texts, key);

    if (of == NULL)
        json_object_set_new(texts, key, of = json_object());
    return of;
}

/* Adds a version of a text of an object, unless it is the one before. @text: (taken) (nullable) */
static void
add_text(
    ExportRecorder *self, json_t *texts, const char *key, const char *kind, SimTime at, char *text)
{
    g_autofree char *owned = text;

    if (text == NULL)
        return;
    json_t *of = texts_of(texts, key), *list;
    list = json_object_get(of, kind);
    if (list == NULL)
        json_object_set_new(of, kind, list = json_array());
    gsize n = json_array_size(list);
    const char *last = n == 0 ? NULL : json_path_string(json_array_get(list, n - 1), "text");
    if (g_strcmp0(last, text) == 0)
        return;
    self->text_length += strlen(text);
    if (self->text_length > TEXTS_MAX)
        json_array_clear(list);
    json_array_append_new(list, json_pack("{s:I, s:s}", "at", (json_int_t)at, "text", text));
}

/* "pod/default/web-0" in its parts. */
static char **
split_key(const char *key)
{
    return g_strsplit(key, "/", 3);
}

static void
describe_changed(ExportRecorder *self, SimTime now)
{
    const Run *run = self->engine->run;
    json_auto_t *list = snapshot_take(run);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    GHashTableIter iter;
    void *key;

    g_hash_table_iter_init(&iter, self->changed);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        g_auto(GStrv) parts = split_key(key);
        g_autofree char *object = g_strdup_printf("%s/%s", parts[0], parts[2]);
        char *words[] = {(char *)"describe", object, (char *)"-n",
                         *parts[1] != '\0' ? parts[1] : (char *)"default", NULL};
        GString *out = g_string_new(NULL);
        g_autoptr(GString) errors = g_string_new(NULL);
        const KubectlRequest request = {
            .cluster = cluster, .now = snapshot_now(run), .out = out, .errors = errors};
        gboolean is_good = kubectl_run(&request, words) == 0;
        char *text = g_string_free(out, !is_good);
        add_text(self, self->texts, key, "describe", now, text);
        Query why = {object, parts[1], "text", NULL};
        add_text(self, self->texts, key, "why", now,
                 export_ask(self, "/kvolsim/v1/why", "text/plain", &why));
        why.lang = "zh";
        add_text(self, self->zh, key, "why", now,
                 export_ask(self, "/kvolsim/v1/why", "text/plain", &why));
    }
    g_hash_table_remove_all(self->changed);
}

/* ---- The run ---- */

static void
see_object(ExportRecorder *self, SimTime now, json_t *row)
{
    const char *word = json_path_string(row, "kind");
    const char *namespace = json_path_string(row, "namespace");
    const char *name = json_path_string(row, "name");
    g_autofree char *key = g_strdup_printf("%s/%s/%s", word, namespace, name);
    g_autofree char *path = export_path_of(word, namespace, name);

    json_object_set_new(row, "at", json_integer(now));
    json_array_append(self->changes, row);
    if (path == NULL || json_object_get(row, "isGone") != NULL)
        return;
    add_text(self, self->texts, key, "yaml", now,
             export_ask(self, path, "application/yaml", &(Query){0}));
    g_hash_table_add(self->changed, g_steal_pointer(&key));
}

static void
export_see(ExportRecorder *self)
{
    const ServeStage *stage = self->engine->api->stage;
    SimTime now = sim_now(run_sim(self->engine->run));
    gboolean is_whole;
    json_auto_t *rows = serve_stage_objects(stage, self->next, &self->next, &is_whole);
    json_auto_t *story = serve_stage_story(stage, self->story_next, G_MAXUINT, &self->story_next);
    json_t *row;
    gsize i;

    json_array_foreach(rows, i, row)
        see_object(self, now, row);
    json_array_extend(self->story, story);
    if (frames_are_due(&self->frames, now))
        frames_add(&self->frames, now,
                   json_pack("{s:o, s:o}", "processes", serve_stage_processes(stage), "drivers",
                             serve_stage_drivers(stage)));
    if (!frames_are_due(&self->figures, now))
        return;
    describe_changed(self, now);
    frames_add(&self->figures, now,
               json_pack("{s:o}", "figures", ask_json(self, "/kvolsim/v1/figures", &(Query){0})));
}

/* Lets the run go to its end, as kvolsim run would. */
static void
export_record(ExportRecorder *self)
{
    Run *run = self->engine->run;
    gboolean waits_for_idle = run_scenario(run)->until_idle;

    export_see(self);
    for (;;) {
        SimTime next = sim_next_event_at(run_sim(run)), end = run_ends_at(run);
        if (next > end || next >= RUN_NO_END)
            break;
        if (waits_for_idle)
            run_fire(run, next);
        else
            run_advance(run, next);
        export_see(self);
    }
    if (!waits_for_idle)
        run_advance(run, run_scenario(run)->until);
    self->frames.next = self->figures.next = 0;
    export_see(self);
}

/* Returns: (owned): where the time of an object's stages went */
static json_t *
attribution_of(const ExportRecorder *self,
               const Stages *stages,
               const char *object,
               const char *namespace)
{
    g_autoptr(Attribution) attribution = attribution_new();
    const ObjectKey *key = serve_stage_find(self->engine->api->stage, object, namespace);

    if (key != NULL)
        attribution_add_object(attribution, self->engine->run, stages, key);
    json_t *json = attribution_json(attribution);
    return json != NULL ? json : json_object();
}

/* Stories are told once: of the whole run. */
static void
tell_stories(ExportRecorder *self)
{
    g_autoptr(Stages) stages = stages_new(self->engine->run);
    const char *key;
    json_t *of;
    gsize n = 0;

    json_object_foreach(self->texts, key, of) {
        g_auto(GStrv) parts = split_key(key);
        g_autofree char *object = g_strdup_printf("%s/%s", parts[0], parts[2]);
        if (strcmp(parts[0], "node") == 0 || n++ >= STORIES_MAX)
            continue;
        Query query = {object, parts[1], NULL, NULL};
        g_autofree char *story = export_ask(self, "/kvolsim/v1/explain", "text/plain", &query);
        query.lang = "zh";
        g_autofree char *zh = export_ask(self, "/kvolsim/v1/explain", "text/plain", &query);
        if (story != NULL)
            json_object_set_new(of, "explain", json_string(story));
        if (zh != NULL)
            json_object_set_new(texts_of(self->zh, key), "explain", json_string(zh));
        query = (Query){object, parts[1], "json", NULL};
        json_object_set_new(of, "sequence", ask_json(self, "/kvolsim/v1/sequence", &query));
        json_object_set_new(of, "attribution", attribution_of(self, stages, object, parts[1]));
    }
}

/* ---- Files ---- */

/* Returns: (owned): the JSON, compressed, as text */
static char *
pack(const json_t *json, GError **error)
{
    char *text = json_dumps(json, JSON_COMPACT);
    g_autoptr(GZlibCompressor) compressor = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 9);
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    g_autoptr(GOutputStream) stream =
        g_converter_output_stream_new(memory, G_CONVERTER(compressor));
    gboolean is_good = g_output_stream_write_all(stream, text, strlen(text), NULL, NULL, error) &&
                       g_output_stream_close(stream, NULL, error);

    free(text);
    if (!is_good)
        return NULL;
    return g_base64_encode(g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(memory)),
                           g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(memory)));
}

static gboolean
export_write_file(
    const char *folder, const char *name, const char *text, gssize length, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);

    return g_file_set_contents(path, text, length, error);
}

/* @json: (taken) */
static gboolean
write_part(const char *folder, const char *name, json_t *json, GError **error)
{
    g_autofree char *packed = pack(json, error);
    g_autofree char *file = g_strconcat(name, ".js", NULL);

    json_decref(json);
    if (packed == NULL)
        return FALSE;
    g_autofree char *text = g_strdup_printf("recording.parts.%s = \"%s\";\n", name, packed);
    return export_write_file(folder, file, text, -1, error);
}

static gboolean
write_page(const char *folder, GError **error)
{
    static const struct {
        const char *resource, *name;
    } files[] = {
        {"export.html", "index.html"},
        {"page.css",    "page.css"  },
        {"icon.svg",    "icon.svg"  },
        {"classic.js",  "page.js"   },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_strconcat("/kvolsim/page/", files[i].resource, NULL);
        g_autoptr(GBytes) bytes = g_resources_lookup_data(path, 0, error);
        gsize length;
        if (bytes == NULL)
            return FALSE;
        const char *text = g_bytes_get_data(bytes, &length);
        if (!export_write_file(folder, files[i].name, text, (gssize)length, error))
            return FALSE;
    }
    g_autoptr(GBytes) words = g_resources_lookup_data("/kvolsim/page/words-zh.json", 0, error);
    if (words == NULL)
        return FALSE;
    g_autofree char *script =
        g_strdup_printf("var recording = {parts: {}, words: %.*s};\n", (int)g_bytes_get_size(words),
                        (const char *)g_bytes_get_data(words, NULL));
    return export_write_file(folder, "words.js", script, -1, error);
}

gboolean
serve_export(ServeEngine *engine, const char *folder, GError **error)
{
    ExportRecorder self = {.engine = engine,
                           .changes = json_array(),
                           .story = json_array(),
                           .texts = json_object(),
                           .zh = json_object(),
                           .changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};

    frames_init(&self.frames, FRAMES_MAX, FRAME_EVERY);
    frames_init(&self.figures, FIGURES_MAX, FIGURES_EVERY);
    export_record(&self);
    tell_stories(&self);
    g_hash_table_unref(self.changed);
    json_t *run =
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "name", engine->scenario->name, "end",
                  (json_int_t)sim_now(run_sim(engine->run)), "changes", self.changes, "story",
                  self.story, "frames", self.frames.list, "figures", self.figures.list, "marks",
                  ask_json(&self, "/kvolsim/v1/marks", &(Query){0}));
    gboolean is_good = write_part(folder, "run", run, error);
    is_good = write_part(folder, "texts", self.texts, is_good ? error : NULL) && is_good;
    is_good = write_part(folder, "zh", self.zh, is_good ? error : NULL) && is_good;
    return is_good && write_page(folder, error);
}
