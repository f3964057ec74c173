/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "fuzz.h"
#include "tests/serve/socketless.h"

static const char *
known_method(const char *word)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++)
        if (g_strcmp0(word, methods[i]) == 0)
            return methods[i];
    return "OPTIONS";
}

/* Returns: (owned): parameters of "a=b&c", decoded; the first value of each counts */
static GHashTable *
query_of(const char *text)
{
    GHashTable *query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", "&", 20);

    for (char **part = parts; *part != NULL; part++) {
        g_auto(GStrv) sides = g_strsplit(*part, "=", 2);
        char *name = g_uri_unescape_string(sides[0] != NULL ? sides[0] : "", NULL);
        char *value = g_uri_unescape_string(sides[0] != NULL && sides[1] ? sides[1] : "", NULL);

        if (name != NULL && value != NULL && !g_hash_table_contains(query, name))
            g_hash_table_insert(query, name, value);
        else {
            g_free(name);
            g_free(value);
        }
    }
    return query;
}

static void
send_one(Socketless *cluster, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", 4);
    g_auto(GStrv) words = g_strsplit(lines[0] != NULL ? lines[0] : "", " ", 2);
    g_auto(GStrv) sides = g_strsplit(words[0] != NULL && words[1] ? words[1] : "", "?", 2);
    char *path = g_uri_unescape_string(sides[0] != NULL ? sides[0] : "", NULL);
    unsigned n = g_strv_length(lines);
    const char *body = n > 3 ? lines[3] : "";

    if (path == NULL || !g_utf8_validate(path, -1, NULL)) { /* a server refuses it */
        g_free(path);
        return;
    }
    socketless_send(cluster,
                    (ExchangeRequest){.method = known_method(words[0]),
                                      .path = path,
                                      .query = query_of(sides[0] != NULL ? sides[1] : NULL),
                                      .content_type = n > 1 ? lines[1] : "",
                                      .accept = n > 2 ? lines[2] : "",
                                      .user_agent = "fuzz/1",
                                      .if_none_match = "",
                                      .body = g_strdup(body),
                                      .length = strlen(body)});
}

void
take_http(const char *text, gsize length)
{
    Socketless *cluster = socketless_new("base.yaml");
    g_auto(GStrv) requests = g_strsplit(text, "\n===\n", 12);
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)length);

    for (char **request = requests; *request != NULL; request++) {
        send_one(cluster, *request);
        socketless_take_streams(cluster, random, 4);
        socketless_stop_clock(cluster);
    }
    socketless_free(cluster);
}
