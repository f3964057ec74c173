/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Who sent a request of an audit log: told by user and user agent. */

typedef enum {
    SENDER_OUTSIDE,  /* people, CI, operators, autoscalers: their writes are the workload */
    SENDER_MODELLED, /* a component that kvolsim models: its writes are the recording */
    SENDER_OTHER,    /* a part of Kubernetes without a model: its writes are neither */
} SenderSide;

typedef struct {
    const char *name; /* as the simulator calls it: "persistent-volume-binder"; of others the
                         agent's first word: "kubectl" */
    SenderSide side;
    const char *process; /* of a component that kvolsim models: "kube-controller-manager" for its
                            controllers; NULL: another sender */
    const char *node;    /* of a kubelet; NULL: none */
} Sender;

/* The senders of a log; each is told once. */
typedef struct Senders Senders;
Senders *senders_new(void);
void senders_free(Senders *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Senders, senders_free)
/* Returns: (borrowed): lives as long as @self */
const Sender *
senders_find(Senders *self, const char *user, gsize n_user, const char *agent, gsize n_agent);
/* Whether @name is that of a component of Kubernetes or a sidecar, which every cluster has. */
gboolean sender_name_is_known(const char *name);
