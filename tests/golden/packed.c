/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "packed.h"

#include <gio/gio.h>
#include <lzma.h>
#include <string.h>

#include "sim/sim-time.h"

/* Returns: (owned) */
static char *
gunzip(const char *packed, gsize length, GError **error)
{
    g_autoptr(GInputStream) raw = g_memory_input_stream_new_from_data(packed, (gssize)length, NULL);
    g_autoptr(GZlibDecompressor) unpack = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) plain = g_converter_input_stream_new(raw, G_CONVERTER(unpack));
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();

    if (g_output_stream_splice(memory, plain, G_OUTPUT_STREAM_SPLICE_NONE, NULL, error) < 0 ||
        !g_output_stream_write_all(memory, "", 1, NULL, NULL, error) ||
        !g_output_stream_close(memory, NULL, error))
        return NULL;
    return g_memory_output_stream_steal_data(G_MEMORY_OUTPUT_STREAM(memory));
}

/* Returns: (owned) */
static char *
unxz(const char *packed, gsize length, GError **error)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    g_autoptr(GString) text = g_string_new(NULL);
    uint8_t part[65536];
    lzma_ret result = lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED);

    stream.next_in = (const uint8_t *)packed;
    stream.avail_in = length;
    while (result == LZMA_OK) {
        stream.next_out = part;
        stream.avail_out = sizeof part;
        result = lzma_code(&stream, LZMA_FINISH);
        g_string_append_len(text, (const char *)part, (gssize)(sizeof part - stream.avail_out));
    }
    lzma_end(&stream);
    if (result == LZMA_STREAM_END)
        return g_string_free(g_steal_pointer(&text), FALSE);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "damaged: liblzma reports %u", result);
    return NULL;
}

static const struct {
    const char *suffix;
    char *(*unpack)(const char *packed, gsize length, GError **error);
} packings[] = {
    {".gz", gunzip},
    {".xz", unxz  },
};

gboolean
packed_exists(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autofree char *packed = g_strconcat(path, packings[i].suffix, NULL);
        if (g_file_test(packed, G_FILE_TEST_EXISTS))
            return TRUE;
    }
    return FALSE;
}

char *
packed_text(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *contents = NULL;
    gsize length;

    for (unsigned i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autofree char *packed = g_strconcat(path, packings[i].suffix, NULL);
        if (!g_file_test(packed, G_FILE_TEST_EXISTS))
            continue;
        if (!g_file_get_contents(packed, &contents, &length, error))
            return NULL;
        char *text = packings[i].unpack(contents, length, error);
        if (text == NULL)
            g_prefix_error(error, "%s: ", packed);
        return text;
    }
    return g_file_get_contents(path, &contents, NULL, error) ? g_steal_pointer(&contents) : NULL;
}

gboolean
packed_lines(const char *folder,
             const char *name,
             const char *containing,
             void (*see)(void *data, json_t *line),
             void *data,
             GError **error)
{
    g_autofree char *text = packed_text(folder, name, error);
    unsigned number = 0;

    if (text == NULL)
        return FALSE;
    for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
        json_error_t fault;
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        if (*line == '\0' || (containing != NULL && strstr(line, containing) == NULL))
            continue;
        json_auto_t *value = json_loads(line, 0, &fault);
        if (value == NULL) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s/%s:%u: %s", folder, name, number,
                        fault.text);
            return FALSE;
        }
        see(data, value);
    }
    return TRUE;
}
