/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engines.h"

/* Lessons in the page: their stories and questions, answers to these, and checks of their tasks.
 * A lesson that is opened takes the place of the present. */

/* Returns: whether the path is one of lessons, and answered */
gboolean lessons_answer(ServeEngines *engines, Exchange *exchange);
