/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions of an operator on nodes: taint, cordon, uncordon. Taints have the format of kubectl
 * taint, "key=value:Effect", with a dash at the end if they go; they are split here, so that a run
 * compares keys and effects only. The three actions share one struct and one target: a node, a
 * pattern, or the node of a pod. */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"

#define AT(type, member) offsetof(type, member)
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, 0, 0, NULL, NULL                                                               \
    }
#define EFFECT_ANY (-1)
#define TAINT_HINT "as key=value:NoSchedule; with a - at its end it goes"

static const char *const effect_names[] = {
    [TAINT_NO_SCHEDULE] = "NoSchedule",
    [TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [TAINT_NO_EXECUTE] = "NoExecute",
};

/* ---- A taint in words ---- */

/* Returns: FALSE after a fault */
static gboolean
read_effect(SchemaReader *reader, const char *word, int *effect)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(effect_names); i++)
        if (strcmp(word, effect_names[i]) == 0) {
            *effect = (int)i;
            return TRUE;
        }
    g_autofree char *nearest = name_hint(word, effect_names, G_N_ELEMENTS(effect_names));
    schema_fault(reader, nearest != NULL ? nearest : "NoSchedule, PreferNoSchedule or NoExecute",
                 "there is no effect \"%s\"", word);
    return FALSE;
}

/* Reads "key" or "key=value". @word is cut in pieces. Returns: FALSE after a fault */
static gboolean
read_key(SchemaReader *reader, char *word, ScenarioTaint *taint)
{
    char *equals = strchr(word, '=');
    const char *value = "", *fault;

    if (equals != NULL) {
        *equals = '\0';
        value = equals + 1;
    }
    if ((fault = name_fault_qualified(word)) != NULL) {
        schema_fault(reader, fault, "\"%s\" is no key of a taint", word);
        return FALSE;
    }
    if ((fault = name_fault_label_value(value)) != NULL) {
        schema_fault(reader, fault, "\"%s\" is no value of a taint", value);
        return FALSE;
    }
    taint->key = (char *)schema_intern(reader, word);
    taint->value = (char *)schema_intern(reader, value);
    return TRUE;
}

/* After a fault, the taint has no key. */
static void
read_taint(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    ScenarioTaint taint = {.effect = EFFECT_ANY};
    const char *text = NULL;

    (void)type;
    schema_read(reader, &schema_string, value, &text);
    if (text == NULL)
        return;
    g_autofree char *word = g_strdup(text);
    taint.goes = g_str_has_suffix(word, "-");
    if (taint.goes)
        word[strlen(word) - 1] = '\0';
    char *colon = strchr(word, ':');
    if (colon == NULL && !taint.goes) {
        schema_fault(reader, TAINT_HINT, "\"%s\" names no effect", text);
        return;
    }
    if (colon != NULL)
        *colon = '\0';
    if ((colon == NULL || read_effect(reader, colon + 1, &taint.effect)) &&
        read_key(reader, word, &taint))
        *(ScenarioTaint *)target = taint;
}

/* ---- The tables ---- */

static void
check_whom(SchemaReader *reader, const MarkFields *fields, const char *done)
{
    if ((fields->node == NULL) == (fields->node_of_pod == NULL))
        schema_fault(reader, "node: the name of a node", "say by node or by nodeOfPod what is %s",
                     done);
}

static gboolean
is_same_taint(const ScenarioTaint *a, const ScenarioTaint *b)
{
    return a->key != NULL && b->key != NULL && a->effect == b->effect &&
           strcmp(a->key, b->key) == 0;
}

static void
taint_check(SchemaReader *reader, const json_t *value, void *target)
{
    const MarkFields *fields = target;
    const ScenarioTaint *taints = fields->taints.items;
    const json_t *list = json_object_get(value, "taints");

    check_whom(reader, fields, "tainted");
    if (json_is_array(list) && fields->taints.n == 0)
        schema_fault_member(reader, value, "taints", TAINT_HINT, "there are none");
    for (unsigned i = 1; i < fields->taints.n; i++) {
        unsigned first = 0;
        while (first < i && !is_same_taint(&taints[first], &taints[i]))
            first++;
        if (first == i)
            continue;
        SchemaPlace outer = schema_enter_member(reader, value, "taints");
        SchemaPlace inner = schema_enter_item(reader, list, i);
        schema_fault(reader, NULL, "the same key and effect as taints[%u]", first);
        schema_leave(reader, inner);
        schema_leave(reader, outer);
    }
}

static void
cordon_check(SchemaReader *reader, const json_t *value, void *target)
{
    (void)value;
    check_whom(reader, target, "cordoned");
}

static void
uncordon_check(SchemaReader *reader, const json_t *value, void *target)
{
    (void)value;
    check_whom(reader, target, "uncordoned");
}

/* clang-format off */

static const FileType taint_type =
    SCHEMA_TEXT("taint", "a taint", read_taint,
    "{\"type\": \"string\", \"pattern\": \"^[^:=]+((=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)-?|-)$\"}", ScenarioTaint,
    .hint = TAINT_HINT);
static const FileType taints_type = SCHEMA_LIST(taint_type);

#define WHOM \
    {"node", &schema_string, AT(MarkFields, node), 0, NULL, \
     "Name of the node, with * and ? for several; this or nodeOfPod"}, \
    {"nodeOfPod", &schema_string, AT(MarkFields, node_of_pod), 0, NULL, \
     "Name of a pod (* and ? match) on that node at that time"}

static const FileField taint_fields[] = {
    WHOM,
    {"taints", &taints_type, AT(MarkFields, taints), SCHEMA_REQUIRED, NULL,
     "Taints as for kubectl taint: key=value:Effect or key:Effect adds one, key:Effect- or key- removes "
     "one; other taints stay"},
    {"overwrite", &schema_bool, AT(MarkFields, overwrite), 0, "false",
     "Replace an existing taint of the same key and effect; otherwise the action fails"},
    END,
};
static const FileField cordon_fields[] = {
    WHOM,
    END,
};

const FileType scenario_taint_type =
    SCHEMA_STRUCT("taint", taint_fields, MarkFields, .check = taint_check);
const FileType scenario_cordon_type =
    SCHEMA_STRUCT("cordon", cordon_fields, MarkFields, .check = cordon_check);
const FileType scenario_uncordon_type =
    SCHEMA_STRUCT("uncordon", cordon_fields, MarkFields, .check = uncordon_check);
/* clang-format on */

void
loader_build_mark(ActionType type, const MarkFields *fields, ScenarioAction *action)
{
    action->type = type;
    action->kind = KIND_NODE;
    action->name = (char *)fields->node;
    action->node_of_pod = (char *)fields->node_of_pod;
    action->taints.items = fields->taints.items;
    action->taints.n = fields->taints.n;
    action->taints.overwrite = fields->overwrite;
}
