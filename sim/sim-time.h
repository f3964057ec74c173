/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Virtual time: ns since the start of the run. Also used for durations. Never a double. */
typedef int64_t SimTime;

#define SIM_TIME_MAX INT64_MAX /* never */
#define SIM_US INT64_C(1000)
#define SIM_MS INT64_C(1000000)
#define SIM_SECOND INT64_C(1000000000)
#define SIM_MINUTE (60 * SIM_SECOND)
#define SIM_HOUR (60 * SIM_MINUTE)

#define SIM_ERROR sim_error_quark()
typedef enum {
    SIM_ERROR_INVALID, /* the input is wrong */
} SimError;
GQuark sim_error_quark(void);

/**
 * sim_time_parse:
 * @text: a duration as Go writes it: "1.5s", "1h2m3.5s", "250ms", "10us", "5ns", "0", "-3s"
 * @time: (out): ns; untouched on error
 * Exact: at most nine decimals of a second are significant, finer digits are an error.
 * Returns: %FALSE with %SIM_ERROR_INVALID if @text is not a duration or does not fit
 */
gboolean sim_time_parse(const char *text, SimTime *time, GError **error);

#define SIM_TIME_BUFFER 40
/**
 * sim_time_format:
 * Writes @time as Go prints a duration ("1m30.5s", "250ms", "0s") into @buffer of %SIM_TIME_BUFFER
 * bytes. Returns: @buffer; sim_time_parse() gives the same number back
 */
const char *sim_time_format(SimTime time, char *buffer);

/* Sum that stays at SIM_TIME_MAX instead of overflowing; @delay is not negative. */
static inline SimTime
sim_time_add(SimTime time, SimTime delay)
{
    SimTime sum;
    return __builtin_add_overflow(time, delay, &sum) ? SIM_TIME_MAX : sum;
}
