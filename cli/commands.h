/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "config.h"

/* The commands, which the table in main.c lists. */

/* A command, and why it is missing, for those whose room may be left out. */
#ifdef WITH_IMPORT
#define OF_IMPORT(command) command, NULL
#else
#define OF_IMPORT(command) NULL, "--without-import"
#endif
#ifdef WITH_STUDY
#define OF_STUDY(command) command, NULL
#else
#define OF_STUDY(command) NULL, "--without-study"
#endif
#ifdef WITH_TEACH
#define OF_TEACH(command) command, NULL
#else
#define OF_TEACH(command) NULL, "--without-teach"
#endif
#ifdef WITH_LOOP
#define OF_LOOP(command) command, NULL
#else
#define OF_LOOP(command) NULL, "--without-loop"
#endif
#ifdef WITH_SERVE
#define OF_SERVE(command) command, NULL
#else
#define OF_SERVE(command)                                                                          \
    NULL, "--without-serve, --without-teach, or libsoup-3.0 was missing (on Debian: apt-get "      \
          "install "                                                                               \
          "libsoup-3.0-dev, then configure and make again)"
#endif
#ifdef WITH_CSI
#define OF_CSI(command) command, NULL
#else
#define OF_CSI(command)                                                                            \
    NULL, "--without-csi, --without-loop, or a library was missing (on Debian: apt-get install "   \
          "libgrpc-dev libprotobuf-c-dev protobuf-c-compiler, then configure and make again)"
#endif

/* One file per command: cmd-<name>.c. argv[0] is the command's name. Returns: an ExitCode */
int cmd_calibrate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_describe(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_csi(int argc, char **argv);
int cmd_loop(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_profiles(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_step(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_teach(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_why(int argc, char **argv);
