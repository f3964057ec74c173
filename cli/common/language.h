/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Returns: (borrowed): the message in another language */
typedef const char *(*Translation)(const char *english);

/**
 * language_choose:
 * @name: of --lang: "en" or "zh"; %NULL: the environment decides
 * @translation: (out): %NULL: messages stay English
 * Returns: %FALSE: there is no such language, and that was printed
 */
gboolean language_choose(const char *name, Translation *translation);
/* The same for a text on its own, for servers whose readers have their own languages. @name: NULL:
 * English. Returns: %NULL: the text stays English; also if the catalogue is missing */
Translation language_for(const char *name);
