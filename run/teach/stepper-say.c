/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stepper-private.h"

StepperAnswer
stepper_refuse(Stepper *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(self->errors, format, args);
    va_end(args);
    g_string_append_c(self->errors, '\n');
    return STEPPER_REFUSED;
}

const char *
stepper_time(const Stepper *self, char *buffer)
{
    return sim_time_format(sim_now(run_sim(self->run)) / SIM_MS * SIM_MS, buffer);
}
