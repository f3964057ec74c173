/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* Acts that several suites have: validation of claims, volumes and classes, dropped fields. */
void run_validate_claim(Case *self);
void run_validate_claim_update(Case *self);
void run_validate_claim_status_update(Case *self);
void run_validate_volume(Case *self);
void run_validate_volume_update(Case *self);
void run_validate_class(Case *self);
void run_validate_class_update(Case *self);
void run_drop_disabled_fields(Case *self);
void run_drop_disabled_status(Case *self);
