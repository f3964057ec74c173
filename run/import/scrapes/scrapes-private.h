/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/measure/histograms.h"
#include "scrapes.h"

typedef struct {
    double upper; /* seconds; the last is infinite */
    double count; /* of calls up to here, those of lower buckets included */
} ScrapedBucket;

/* One driver's calls of one method that ended alike. */
typedef struct {
    char *key; /* of all that follows */
    char *driver;
    unsigned metric; /* in storage_metrics */
    CsiLatency kind;
    CsiCode code;
    GArray *buckets; /* of ScrapedBucket, ascending */
    double sum;      /* seconds; 0: not told */
    GArray *means;   /* of a total: of ScrapedMean */
} ScrapedCalls;

/* The calls between two scrapes of a process. */
typedef struct {
    double n, seconds; /* seconds of all together */
    int bucket;        /* that all of them are in; -1: they are in several */
    SimTime from, to;  /* as api_time_parse() gives it; TIME_UNSET: not known */
} ScrapedMean;

struct Scrapes {
    GHashTable *totals; /* key -> ScrapedCalls (owned) */
};

double scraped_count(const ScrapedCalls *calls);
/* (owned): of the metric that is nearest to the driver; NULL: none */
const ScrapedCalls *
scrapes_find(const Scrapes *self, const char *driver, CsiLatency kind, CsiCode code);
