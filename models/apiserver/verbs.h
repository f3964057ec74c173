/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "admission.h"
#include "call.h"

/* The verbs: what a request does to the store at the instant of its commit. */
typedef struct {
    ApiStore *store;      /* (borrowed) */
    Admission *admission; /* (borrowed) */
    GString *message;     /* (owned): scratch space for the words of refusals */
} ApiVerbs;

/* Carries out the request of @call, and sets code, object and message of its response. */
void api_verbs_commit(ApiVerbs *self, ApiCall *call);
