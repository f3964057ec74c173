/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast ./kvolsim csi answers over its socket: the time that it adds to a latency at 1,000 calls
 * a second, its memory while 10,000 calls wait, and 20,000 calls without latency. */
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/csi/client.h"
#include "sim/statistics.h"

static const char scenario[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: bench}\nspec:\n  until: 1s\n"
    "  drivers:\n  - name: bench.kvolsim.io\n    latency: {CreateVolume: %s}\n";

typedef struct {
    char *folder, *file, *endpoint;
    GPid pid;
    CsiClient *client;
    SimSample times; /* of calls, in ns */
    unsigned n_under_way, n_failed;
} Bench;

static void
csi_begin(Bench *self, const char *latency)
{
    g_autofree char *text = g_strdup_printf(scenario, latency);
    const char *const argv[] = {"./kvolsim",    "csi",        "--endpoint",
                                self->endpoint, "--scenario", self->file,
                                "--log-format", "none",       NULL};

    if (!g_file_set_contents(self->file, text, -1, NULL) ||
        !g_spawn_async(NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &self->pid,
                       NULL))
        exit(1);
    while (!g_file_test(self->endpoint, G_FILE_TEST_EXISTS)) {
        g_usleep(10000);
        if (waitpid(self->pid, NULL, WNOHANG) != 0)
            exit(1);
    }
    self->client = csi_client_new();
    csi_client_connect(self->client, self->endpoint);
    self->n_failed = 0;
    sim_sample_init(&self->times);
}

static void
csi_end(Bench *self)
{
    if (self->n_failed > 0) {
        fprintf(stderr, "csi: %u calls failed\n", self->n_failed);
        exit(1);
    }
    sim_sample_clear(&self->times);
    csi_client_free(self->client);
    kill(self->pid, SIGTERM);
    waitpid(self->pid, NULL, 0);
}

typedef struct {
    Bench *bench;
    int64_t sent_us;
} CsiSent;

static void
csi_answered(void *data, CsiCode code, const char *text, const uint8_t *bytes, size_t n_bytes)
{
    g_autofree CsiSent *sent = data;
    Bench *self = sent->bench;

    (void)text, (void)bytes, (void)n_bytes;
    self->n_under_way--;
    self->n_failed += code != CSI_OK;
    sim_sample_add(&self->times, (g_get_monotonic_time() - sent->sent_us) * SIM_US);
}

static void
send_call(Bench *self, unsigned number)
{
    char name[32];
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};
    const CsiRequest request = {.method = CSI_CREATE_VOLUME,
                                .name = name,
                                .capabilities = &capability,
                                .n_capabilities = 1};
    CsiMessage message;
    CsiSent *sent = g_new(CsiSent, 1);

    g_snprintf(name, sizeof name, "volume-%u", number);
    csi_message_write_request(&message, &request);
    *sent = (CsiSent){self, g_get_monotonic_time()};
    self->n_under_way++;
    csi_client_call(self->client, 0, CSI_CREATE_VOLUME, message.message, 0, csi_answered, sent);
    csi_message_clear(&message);
}

static void
wait_for_all(Bench *self)
{
    while (self->n_under_way > 0)
        csi_client_wait(self->client, g_get_monotonic_time() + G_USEC_PER_SEC);
}

/* Calls at a fixed pace, whether others have ended or not. */
static void
measure_added_time(Bench *self, unsigned rate, unsigned seconds)
{
    csi_begin(self, "50ms");
    send_call(self, rate * seconds); /* a connection is there */
    wait_for_all(self);
    sim_sample_clear(&self->times);
    sim_sample_init(&self->times);
    int64_t start = g_get_monotonic_time();
    for (unsigned i = 0; i < rate * seconds; i++) {
        int64_t due = start + (int64_t)i * G_USEC_PER_SEC / rate;
        while (csi_client_wait(self->client, due) || g_get_monotonic_time() < due)
            continue;
        send_call(self, i);
    }
    wait_for_all(self);
    printf("csi_added_p50 %.3f ms\n",
           (double)(sim_sample_quantile(&self->times, 0.5) - 50 * SIM_MS) / SIM_MS);
    printf("csi_added_p99 %.3f ms\n",
           (double)(sim_sample_quantile(&self->times, 0.99) - 50 * SIM_MS) / SIM_MS);
    csi_end(self);
}

/* MiB that the program has. */
static double
memory_of(GPid pid)
{
    g_autofree char *file = g_strdup_printf("/proc/%d/status", (int)pid), *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, NULL))
        return 0;
    const char *line = strstr(text, "VmRSS:");
    return line == NULL ? 0 : g_ascii_strtod(line + strlen("VmRSS:"), NULL) / 1024;
}

static void
measure_memory(Bench *self, unsigned n)
{
    csi_begin(self, "5s");
    for (unsigned i = 0; i < n; i++)
        send_call(self, i);
    csi_client_wait(self->client, g_get_monotonic_time() + 4 * G_USEC_PER_SEC);
    if (self->n_under_way != n)
        fprintf(stderr, "csi: only %u calls wait\n", self->n_under_way);
    printf("csi_memory_of_10000_calls %.0f MiB\n", memory_of(self->pid));
    wait_for_all(self);
    csi_end(self);
}

/* @width calls at once, each followed by the next. */
static void
measure_speed(Bench *self, unsigned n, unsigned width)
{
    unsigned number = 0;

    csi_begin(self, "0s");
    send_call(self, n);
    wait_for_all(self);
    int64_t start = g_get_monotonic_time();
    while (number < n || self->n_under_way > 0) {
        while (number < n && self->n_under_way < width)
            send_call(self, number++);
        csi_client_wait(self->client, g_get_monotonic_time() + G_USEC_PER_SEC);
    }
    printf("csi_20000_calls %.2f s\n",
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC * 20000 / n);
    csi_end(self);
}

int
main(void)
{
    Bench self = {.folder = g_dir_make_tmp("kvolsim-bench-XXXXXX", NULL)};

    self.file = g_build_filename(self.folder, "scenario.yaml", NULL);
    self.endpoint = g_build_filename(self.folder, "csi.sock", NULL);
    setbuf(stdout, NULL);
    measure_added_time(&self, 1000, 10);
    measure_memory(&self, 10000);
    measure_speed(&self, 100000, 100);
    g_unlink(self.file);
    g_rmdir(self.folder);
    g_free(self.file);
    g_free(self.endpoint);
    g_free(self.folder);
    return 0;
}
