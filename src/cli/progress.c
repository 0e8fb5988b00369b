/* src/cli/progress.c - the line that says how `pawl work` is doing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "mono.h"
#include "progress.h"
#include "text.h"

#define NUMBER_SIZE 32

void cli_progress_init(cli_progress *progress, const cli_topics *topics)
{
    *progress = (cli_progress){0};
    if (topics->count == 1)
        progress->label =
            cli_text_clean(topics->items[0].name, strlen(topics->items[0].name), true);
    else if (topics->count == 0)
        progress->label = cli_copy("all topics");
    else
        progress->label = cli_print("%zu topics", topics->count);
}

void cli_progress_done(cli_progress *progress)
{
    free(progress->label);
}

/* 3401 as "3,401". */
static const char *with_commas(int64_t number, char ret_text[NUMBER_SIZE])
{
    char digits[NUMBER_SIZE];
    int length = snprintf(digits, sizeof digits, "%" PRId64, number);
    char *to = ret_text;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return ret_text;
}

/* Messages per second since the oldest sample; takes one. */
static double rate(cli_progress *progress, int64_t done)
{
    pawl_mono now = cli_mono_now();
    size_t oldest =
        progress->count < CLI_PROGRESS_SAMPLES ? 0 : progress->count % CLI_PROGRESS_SAMPLES;
    double passed_s = (double)(now.us - progress->samples[oldest].at.us) / 1e6;
    int64_t more = done - progress->samples[oldest].done;
    size_t place = progress->count % CLI_PROGRESS_SAMPLES;
    bool first = progress->count == 0;

    progress->samples[place].at = now;
    progress->samples[place].done = done;
    progress->count++;
    return first || passed_s <= 0 ? 0 : (double)more / passed_s;
}

char *cli_progress_line(cli_progress *progress, const pawl_worker_stats *stats, bool *ret_moves)
{
    char running[NUMBER_SIZE], done[NUMBER_SIZE], retried[NUMBER_SIZE], failed[NUMBER_SIZE];
    char speed[NUMBER_SIZE + 8] = "";
    double per_second = rate(progress, stats->done);

    if (per_second > 0)
        snprintf(speed, sizeof speed, " (%.*f/s)", per_second < 10 ? 1 : 0, per_second);
    *ret_moves = per_second > 0 || stats->in_hand > 0 || stats->last_error[0];
    return cli_print("%s: %s running, %s done%s, %s retried, %s failed%s", progress->label,
                     with_commas(stats->running, running), with_commas(stats->done, done), speed,
                     with_commas(stats->retried, retried), with_commas(stats->failed, failed),
                     stats->last_error[0] ? ", waiting for the database" : "");
}
