/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The syntax of names, labels and annotations, in the words of Kubernetes' apimachinery
 * (util/validation), the text of uids, and the nearest known word to one that is misspelled.
 * Nearness is the Levenshtein distance without regard to case, where two neighbours that have
 * changed places are one mistake; a third of the letters may be wrong. */
#include <string.h>

#include "fields.h"
#include "object.h"

#define SUBDOMAIN_LENGTH_MAX 253
#define LABEL_LENGTH_MAX 63

static gboolean
is_lower_alnum(char c)
{
    return g_ascii_islower(c) || g_ascii_isdigit(c);
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static gboolean
is_dns_label(const char *text, size_t length)
{
    if (length == 0 || !is_lower_alnum(text[0]) || !is_lower_alnum(text[length - 1]))
        return FALSE;
    for (size_t i = 0; i < length; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return FALSE;
    return TRUE;
}

static gboolean
is_dns_subdomain(const char *text, size_t length)
{
    const char *end = text + length;

    for (;;) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        if (!is_dns_label(text, (size_t)((dot == NULL ? end : dot) - text)))
            return FALSE;
        if (dot == NULL)
            return TRUE;
        text = dot + 1;
    }
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static gboolean
is_name_part(const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || !g_ascii_isalnum(text[0]) || !g_ascii_isalnum(text[length - 1]))
        return FALSE;
    for (size_t i = 0; i < length; i++)
        if (!g_ascii_isalnum(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return FALSE;
    return TRUE;
}

const char *
name_fault_subdomain(const char *text)
{
    if (strlen(text) > SUBDOMAIN_LENGTH_MAX)
        return "must be no more than 253 characters";
    if (!is_dns_subdomain(text, strlen(text)))
        return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
               "'-' or '.', and must "
               "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
               "validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    return NULL;
}

const char *
name_fault_path(const char *text)
{
    if (strcmp(text, ".") == 0)
        return "may not be '.'";
    if (strcmp(text, "..") == 0)
        return "may not be '..'";
    if (strchr(text, '/') != NULL)
        return "may not contain '/'";
    return strchr(text, '%') != NULL ? "may not contain '%'" : NULL;
}

const char *
name_fault_dns_label(const char *text)
{
    if (strlen(text) > LABEL_LENGTH_MAX)
        return "must be no more than 63 characters";
    if (!is_dns_label(text, strlen(text)))
        return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
               "'-', and must start and "
               "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
               "validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    return NULL;
}

const char *
name_fault_qualified(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *name = slash == NULL ? text : slash + 1;

    if (slash == text)
        return "prefix part must be non-empty";
    if (slash != NULL && strchr(name, '/') != NULL)
        return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and "
               "must start and end with an "
               "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
               "for validation is "
               "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix "
               "and '/' (e.g. "
               "'example.com/MyName')";
    if (slash != NULL && slash - text > SUBDOMAIN_LENGTH_MAX)
        return "prefix part must be no more than 253 characters";
    if (slash != NULL && !is_dns_subdomain(text, (size_t)(slash - text)))
        return "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
               "characters, '-' or '.', "
               "and must start and end with an alphanumeric character (e.g. 'example.com', regex "
               "used for validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    if (name[0] == '\0')
        return "name part must be non-empty";
    if (strlen(name) > LABEL_LENGTH_MAX)
        return "name part must be no more than 63 characters";
    if (!is_name_part(name))
        return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
               "and end with an "
               "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
               "for validation is "
               "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    return NULL;
}

const char *
name_fault_label_value(const char *text)
{
    if (strlen(text) > LABEL_LENGTH_MAX)
        return "must be no more than 63 characters";
    if (text[0] != '\0' && !is_name_part(text))
        return "a valid label must be an empty string or consist of alphanumeric characters, '-', "
               "'_' or '.', and must "
               "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
               "'12345', regex used for "
               "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    return NULL;
}

/* Known keys are shorter; a longer text resembles none. */
#define NEAREST_LENGTH_MAX 64

static gboolean
are_alike(char a, char b)
{
    return g_ascii_tolower(a) == g_ascii_tolower(b);
}

/* The Levenshtein distance, without regard to case; two neighbours that have changed places are one
 * mistake. */
static unsigned
edit_distance(const char *a, const char *b)
{
    unsigned rows[3][NEAREST_LENGTH_MAX + 1]; /* of this letter of @a, and of the two before */
    size_t n_b = strlen(b);
    unsigned i = 0;

    for (unsigned j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (; a[i] != '\0'; i++) {
        const unsigned *above = rows[i % 3], *before = rows[(i + 2) % 3];
        unsigned *row = rows[(i + 1) % 3];
        row[0] = i + 1;
        for (unsigned j = 0; j < n_b; j++) {
            unsigned change = are_alike(a[i], b[j]) ? 0 : 1;
            row[j + 1] = MIN(above[j] + change, MIN(above[j + 1], row[j]) + 1);
            if (i > 0 && j > 0 && are_alike(a[i], b[j - 1]) && are_alike(a[i - 1], b[j]))
                row[j + 1] = MIN(row[j + 1], before[j - 1] + 1);
        }
    }
    return rows[i % 3][n_b];
}

const char *
name_nearest(const char *text, const char *const *known, unsigned n_known)
{
    size_t length = strlen(text);
    unsigned best = (unsigned)length / 3 + 1; /* this much may be wrong */
    const char *nearest = NULL;

    if (length > NEAREST_LENGTH_MAX)
        return NULL;
    for (unsigned i = 0; i < n_known; i++) {
        if (strlen(known[i]) > NEAREST_LENGTH_MAX)
            continue;
        unsigned distance = edit_distance(text, known[i]);
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = known[i];
        }
    }
    return nearest;
}

char *
name_hint(const char *text, const char *const *known, unsigned n_known)
{
    const char *nearest = name_nearest(text, known, n_known);

    return nearest == NULL ? NULL : g_strdup_printf("did you mean \"%s\"?", nearest);
}

char *
name_hint_or_list(const char *text, const char *const *known, unsigned n_known)
{
    char *hint = name_hint(text, known, n_known);

    if (hint != NULL || n_known == 0)
        return hint;
    g_autoptr(GString) list = g_string_new("known: ");
    for (unsigned i = 0; i < n_known; i++)
        g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", known[i]);
    return g_string_free(g_steal_pointer(&list), FALSE);
}

/* ---- Uids ---- */

/* The characters of a UUID, out of 36, at which its groups end. */
static gboolean
uid_has_dash_at(unsigned position)
{
    return position == 8 || position == 13 || position == 18 || position == 23;
}

/* Writes the lowest @n_digits of @number. Returns: the place behind them */
static char *
write_hex(char *place, uint64_t number, unsigned n_digits)
{
    for (unsigned i = n_digits; i-- > 0; number >>= 4)
        place[i] = "0123456789abcdef"[number & 0xf];
    return place + n_digits;
}

const char *
object_uid_format(ObjectUid uid, char *buffer)
{
    char *place = write_hex(buffer, uid.high >> 32, 8);

    *place++ = '-';
    place = write_hex(place, uid.high >> 16, 4);
    *place++ = '-';
    place = write_hex(place, uid.high, 4);
    *place++ = '-';
    place = write_hex(place, uid.low >> 48, 4);
    *place++ = '-';
    place = write_hex(place, uid.low, 12);
    *place = '\0';
    return buffer;
}

gboolean
object_uid_parse(const char *text, ObjectUid *uid)
{
    uint64_t halves[2] = {0, 0};
    unsigned digit = 0;

    if (strlen(text) != OBJECT_UID_BUFFER - 1)
        return FALSE;
    for (unsigned i = 0; i < OBJECT_UID_BUFFER - 1; i++) {
        if (uid_has_dash_at(i)) {
            if (text[i] != '-')
                return FALSE;
            continue;
        }
        int value = g_ascii_xdigit_value(text[i]);
        if (value < 0)
            return FALSE;
        halves[digit / 16] = halves[digit / 16] << 4 | (uint64_t)value;
        digit++;
    }
    *uid = (ObjectUid){halves[0], halves[1]};
    return TRUE;
}
