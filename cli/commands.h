/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The commands, which the table in main.c lists. */

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
