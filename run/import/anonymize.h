/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Replaces what tells whose cluster it is: names, namespaces, labels, parameters, messages.
 *
 * Names are replaced word by word: each word of "data-web-0" that is not Kubernetes' own has one
 * stand-in everywhere, and numbers stay. So references, selectors, names of claims of StatefulSets
 * and generated names still fit each other, without knowing where they stand. Stand-ins sort as the
 * words do, because the order of names decides what a controller does first. */
typedef struct Anonymizer Anonymizer;

Anonymizer *anonymizer_new(void);
void anonymizer_free(Anonymizer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Anonymizer, anonymizer_free)

/* The words of @text stay: of a driver that anybody may have. */
void anonymizer_keep(Anonymizer *self, const char *text);
/* Learns the words of @value. All values are seen before the first one is replaced. */
void anonymizer_see(Anonymizer *self, const json_t *value);
/* A VolumeAttachment's name is a checksum of names: the one of the stand-ins takes its place. For
 * each of the cluster's, after the last anonymizer_see(). @handle: of its volume */
void anonymizer_see_attachment(
    Anonymizer *self, const char *name, const char *handle, const char *driver, const char *node);
/* Replaces the words of all texts and keys in @value, but for enumerations, times, quantities and
 * keys of Kubernetes. Returns: (owned) */
json_t *anonymizer_replace(Anonymizer *self, const json_t *value);
/* A sentence in English: only words that were seen are replaced. (owned) */
char *anonymizer_sentence(Anonymizer *self, const char *text);
