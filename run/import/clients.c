/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender of a request, from the user and the user agent: a modelled component, another
 * controller, or a client from outside. Controllers of kube-controller-manager are told by their
 * service account or the end of the agent, sidecars by the program's name at the start of the
 * agent. Answers are kept by user and agent, since a log has few senders and many requests. */
#include "clients.h"

#include <string.h>

#include "models/api/workload.h"
#include "sim/strings.h"

/* Kubernetes' name of a client, as the last word of its user agent or of its service account has
 * it, and the simulator's. */
typedef struct {
    const char *real, *name;
    SenderSide side;
} KnownClient;

/* Controllers of kube-controller-manager (cmd/kube-controller-manager/app: the names that they ask
 * the client builder for). With --use-service-account-credentials the name is in the user, else
 * only at the end of the agent. Kinds that make pods know their controllers. */
static const KnownClient controllers[] = {
    {"persistent-volume-binder",                    "persistent-volume-binder",      SENDER_MODELLED},
    {"attachdetach-controller",                     "attachdetach-controller",       SENDER_MODELLED},
    {"expand-controller",                           "expand-controller",             SENDER_MODELLED},
    {"ephemeral-volume-controller",                 "ephemeral-volume-controller",   SENDER_MODELLED},
    {"pvc-protection-controller",                   "pvc-protection-controller",     SENDER_MODELLED},
    {"pv-protection-controller",                    "pv-protection-controller",      SENDER_MODELLED},
    {"volumeattributesclass-protection-controller", "vac-protection-controller",     SENDER_MODELLED},
    {"daemon-set-controller",                       "daemonset-controller",          SENDER_MODELLED},
    {"ttl-after-finished-controller",               "ttl-after-finished-controller", SENDER_MODELLED},
    {"disruption-controller",                       "disruption-controller",         SENDER_MODELLED},
    {"generic-garbage-collector",                   "generic-garbage-collector",     SENDER_MODELLED},
    {"node-controller",                             "node-controller",               SENDER_MODELLED},
    {"pod-garbage-collector",                       "pod-garbage-collector",         SENDER_MODELLED},
    {"resourcequota-controller",                    "resourcequota-controller",      SENDER_MODELLED},
    {"horizontal-pod-autoscaler",                   "horizontal-pod-autoscaler",     SENDER_OUTSIDE },
    {"namespace-controller",                        "namespace-controller",          SENDER_OUTSIDE },
};

/* Processes by the name of the program, which is the agent's first word; sidecars may run under one
 * service account for all. */
static const KnownClient programs[] = {
    {"kubelet",             "kubelet",              SENDER_MODELLED},
    {"kube-scheduler",      "kube-scheduler",       SENDER_MODELLED},
    {"csi-provisioner",     "external-provisioner", SENDER_MODELLED},
    {"csi-attacher",        "external-attacher",    SENDER_MODELLED},
    {"csi-resizer",         "external-resizer",     SENDER_MODELLED},
    {"csi-snapshotter",     "external-snapshotter", SENDER_MODELLED},
    {"snapshot-controller", "snapshot-controller",  SENDER_MODELLED},
    {"kube-apiserver",      "kube-apiserver",       SENDER_OTHER   },
    {"kube-proxy",          "kube-proxy",           SENDER_OTHER   },
};

#define KCM "kube-controller-manager"

struct Senders {
    Strings *strings;
    GHashTable *by_words; /* "user\nagent" -> Sender (owned) */
    GString *words;
};

Senders *
senders_new(void)
{
    Senders *self = g_new0(Senders, 1);

    self->strings = strings_new();
    self->by_words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->words = g_string_new(NULL);
    return self;
}

void
senders_free(Senders *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_words);
    strings_free(self->strings);
    g_string_free(self->words, TRUE);
    g_free(self);
}

static const KnownClient *
find_known(const KnownClient *known, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (g_str_equal(known[i].real, name))
            return &known[i];
    return NULL;
}

/* Behind the last of @separators; the whole text without one. */
static const char *
last_word(const char *text, const char *separators)
{
    const char *word = text;

    for (const char *at = text; *at != '\0'; at++)
        if (strchr(separators, *at) != NULL)
            word = at + 1;
    return word;
}

static gboolean
find_controller(const char *name, KnownClient *found)
{
    const KnownClient *known = find_known(controllers, G_N_ELEMENTS(controllers), name);
    ObjectKind kind;

    if (workload_kind_of_controller(name, &kind))
        *found = (KnownClient){
            .name = kind_class(kind)->workload->controller,
            .side = SENDER_MODELLED,
        };
    else if (known != NULL)
        *found = *known;
    else
        return FALSE;
    return TRUE;
}

/* A controller of kube-controller-manager: its name is at the end of user or agent. */
static Sender
tell_controller(Senders *self, const char *user, const char *agent)
{
    const char *word = last_word(user, ":");
    KnownClient found;

    if (!find_controller(last_word(agent, "/:"), &found) && !find_controller(word, &found))
        return (Sender){strings_intern(self->strings, word), SENDER_OTHER, KCM, NULL};
    return (Sender){found.name, found.side, KCM, NULL};
}

static Sender
clients_tell(Senders *self, const char *user, const char *agent)
{
    g_autofree char *program = g_strndup(agent, strcspn(agent, "/ "));
    const KnownClient *known = find_known(programs, G_N_ELEMENTS(programs), program);

    if (g_str_equal(program, KCM))
        return tell_controller(self, user, agent);
    if (g_str_equal(user, "system:apiserver"))
        return (Sender){"kube-apiserver", SENDER_OTHER, NULL, NULL};
    /* A program under a name of its own, with the account that its manifest calls as it. */
    if (known == NULL && g_str_has_prefix(user, "system:"))
        known = find_known(programs, G_N_ELEMENTS(programs), last_word(user, ":"));
    if (known == NULL)
        return (Sender){strings_intern(self->strings, *program != '\0' ? program : user),
                        SENDER_OUTSIDE, NULL, NULL};
    const char *node = g_str_has_prefix(user, "system:node:") && g_str_equal(known->real, "kubelet")
                           ? strings_intern(self->strings, user + strlen("system:node:"))
                           : NULL;
    return (Sender){known->name, known->side, known->side == SENDER_MODELLED ? known->name : NULL,
                    node};
}

const Sender *
senders_find(Senders *self, const char *user, gsize n_user, const char *agent, gsize n_agent)
{
    g_string_truncate(self->words, 0);
    g_string_append_len(self->words, user, (gssize)n_user);
    g_string_append_c(self->words, '\n');
    g_string_append_len(self->words, agent, (gssize)n_agent);
    Sender *sender = g_hash_table_lookup(self->by_words, self->words->str);
    if (sender != NULL)
        return sender;

    g_autofree char *user_text = g_strndup(user, n_user), *agent_text = g_strndup(agent, n_agent);
    sender = g_new(Sender, 1);
    *sender = clients_tell(self, user_text, agent_text);
    g_hash_table_insert(self->by_words, g_strdup(self->words->str), sender);
    return sender;
}

gboolean
sender_name_is_known(const char *name)
{
    ObjectKind kind;

    if (name != NULL && workload_kind_of_controller(name, &kind))
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(controllers); i++)
        if (g_strcmp0(name, controllers[i].name) == 0)
            return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++)
        if (g_strcmp0(name, programs[i].name) == 0)
            return TRUE;
    return g_strcmp0(name, "kubectl") == 0;
}
