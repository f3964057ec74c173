#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Same seed, same bytes: the engine, the models and a run ask neither the machine nor a hash table's order.
# Where it must be (the loop driver, the sweep's runner) a comment with `outside the model:` and the reason
# stands on the line, or before the first line of code for the whole file.
. "${KVOLSIM_SRCDIR:?}/tests/repo/lib.sh"
[ "${KVOLSIM_SANITIZERS:-no}" != yes ] || skip_all "the sources are the same"

tree_files sim models run | grep '\.[ch]$' | while read -r file; do
    code_of "$file" 'outside the model:' | grep -n . | sed "s|^|$file:|"
done >"$scratch/code"

# forbid CASE ERE: names as whole words. A field or method of that name (a->time(), a.time()) is another thing.
forbid()
{
    grep -E "(^|[^A-Za-z0-9_.>])($2)" "$scratch/code" >"$scratch/faults"
    case_result "$1" "$scratch/faults"
}

call='[[:space:]]*\('
forbid "no wall clock" \
    "(g_get_(real|monotonic)_time|g_date_time_new_now(_utc|_local)?|g_timer_new|time|clock|clock_gettime|gettimeofday|localtime(_r)?|timespec_get|nanosleep|usleep|sleep)$call"
forbid "no entropy" \
    "(s?rand(om)?|[dlm]rand48|rand_r|getrandom|getentropy|arc4random[a-z_]*|g_rand(om)?_[a-z_]*|g_uuid_string_random|gsl_rng_[a-z_]*)$call"
forbid "no environment" \
    "(getenv|secure_getenv|setenv|g_getenv|g_setenv|g_get_environ|environ|getpid|gethostname|g_get_host_name|g_get_user_name|g_get_num_processors|sysconf|setlocale)$call"
forbid "no threads" "(pthread_[a-z_]*|g_thread_[a-z_]*|thrd_create|fork|g_spawn_[a-z_]*|g_subprocess_[a-z_]*)$call"
forbid "no walk over a hash table" \
    "(GHashTableIter|g_hash_table_(iter_init|foreach(_remove|_steal)?|find|get_keys(_as_array|_as_ptr_array)?|get_values(_as_ptr_array)?|steal_all_keys|steal_all_values))([^A-Za-z0-9_]|$)"
grep -v '^sim/portable-math\.[ch]:' "$scratch/code" >"$scratch/rest"
mv "$scratch/rest" "$scratch/code"
forbid "no libm function that is not exact (sim/portable-math has log, exp, pow)" \
    "(log|log2|log10|log1p|exp|exp2|exp10|expm1|pow|sin|cos|tan|a?sinh?|acosh?|atan2?|tanh|cosh|cbrt|hypot|erfc?|[lt]gamma)[fl]?$call"
forbid "no number reading or writing that follows the locale" "(strto[fdl]d?|atof)$call"
cases_end
