/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Reads JSON of any size object by object: the text is fed in parts, and each item of a list
 * (`{"items": [...]}`, as kubectl prints it, or `[...]`) is parsed alone, so the whole is never in
 * memory. Several values may follow each other. */
typedef struct JsonItems JsonItems;

typedef struct {
    /* An item of a list, or a value outside of lists; owned by the callee. @line: in which it
     * begins. Returns: %FALSE with an error: stops reading */
    gboolean (*item)(void *data, json_t *value, unsigned line, GError **error);
    /* A list has ended. @list: its other members, with empty items; borrowed */
    gboolean (*end)(void *data, const json_t *list, unsigned line, GError **error);
    void *data;
} JsonItemsSeen;

/* @file: for messages; it and @seen outlive the reader. Returns: (owned) */
JsonItems *json_items_new(const char *file, const JsonItemsSeen *seen);
void json_items_free(JsonItems *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonItems, json_items_free)
/* Reads on. Returns: %FALSE: %SIM_ERROR_INVALID with "file:line: ..." for a fault of the text, or
 * the error of a callback */
gboolean json_items_feed(JsonItems *self, const char *text, gsize length, GError **error);
/* The text has ended. Returns: %FALSE with an error if something is unfinished */
gboolean json_items_end(JsonItems *self, GError **error);
