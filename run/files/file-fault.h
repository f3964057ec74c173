/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "yaml.h"

/* A fault of a file: printed as file:line:column: path: message (hint). */
typedef struct {
    char *file;
    unsigned line, column; /* from 1; 0: of the file as a whole */
    char *path;            /* "spec.drivers[0].latency.CreateVolume"; "" at the top */
    char *message;
    char *hint; /* NULL: none */
} FileFault;

void file_fault_free(FileFault *fault);
/* Returns: (owned): an array of FileFault */
GPtrArray *file_faults_new(void);
/* "file:line:column: path: message (hint)", with control characters escaped. (owned) */
char *file_fault_text(const FileFault *fault);
/* All faults, at most @most, a line each. (owned) */
char *file_faults_text(const GPtrArray *faults, unsigned most);
/* Adds a fault to @faults (nullable). @hint: nullable. All are copied. */
void file_faults_add(GPtrArray *faults,
                     const YamlPosition *at,
                     const char *path,
                     const char *message,
                     const char *hint);
