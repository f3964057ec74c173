/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

/* Colours for people at a terminal: of a verdict, a fault's place, a head of a table. None in files
 * and pipes. */

/* --color, of every command. As programs that the user starts know them, too: $NO_COLOR
 * (no-color.org) forbids colours, $CLICOLOR_FORCE (bixense.com/clicolors) wants them everywhere.
 * @when: always, auto or never, which set these; NULL: auto. Returns: FALSE: it is another word */
gboolean paint_choose(const char *when);

/* Each writes @text, which may have many lines; no terminal obeys what strangers wrote into it, see
 * printable(). The first without colours. */
void plain_print(FILE *to, const char *text);
void paint_print(FILE *to, const char *text);
