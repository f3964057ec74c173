/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "turn.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

#define FNV_OFFSET 2166136261u /* FNV-1, 32 bit */
#define FNV_PRIME 16777619u

static uint32_t
fnv1(const char *text, size_t length)
{
    uint32_t hash = FNV_OFFSET;

    for (size_t i = 0; i < length; i++)
        hash = (hash * FNV_PRIME) ^ (unsigned char)text[i];
    return hash;
}

/* The number of a replica, parsed like strconv.ParseUint(text, 10, 32). */
static gboolean
parse_index(const char *text, uint32_t *index)
{
    uint64_t value = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (!g_ascii_isdigit(*at))
            return FALSE;
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX)
            return FALSE;
    }
    *index = (uint32_t)value;
    return *text != '\0';
}

unsigned
volume_turn(const char *claim_name, unsigned n)
{
    const char *hashed = claim_name, *end = strrchr(claim_name, '-');
    uint32_t index = 0;

    if (end == NULL || !parse_index(end + 1, &index)) {
        end = claim_name + strlen(claim_name);
    } else { /* "<claim>-<StatefulSet>-<replica>": the set's name only, so that its claims go
                together */
        const char *dash = g_strrstr_len(claim_name, end - claim_name, "-");
        if (dash != NULL)
            hashed = dash + 1;
    }
    return (fnv1(hashed, (size_t)(end - hashed)) + index) % n;
}
