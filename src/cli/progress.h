/* src/cli/progress.h - the progress line of `pawl work`. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include <pawl/worker.h>

#include "topics.h"

#define CLI_PROGRESS_EVERY_MS 200
#define CLI_PROGRESS_SAMPLES 25 /* the rate is that of the last 5 s */

typedef struct cli_progress {
    char *label; /* the topics */
    struct {
        pawl_mono at;
        int64_t done;
    } samples[CLI_PROGRESS_SAMPLES];
    size_t count; /* samples taken so far */
} cli_progress;

void cli_progress_init(cli_progress *progress, const cli_topics *topics);
void cli_progress_done(cli_progress *progress);
/*
 * "mail: 12 running, 3,401 done (210/s), 2 retried, 1 failed"; free() it. *ret_moves: it will
 * change soon, so update it again in CLI_PROGRESS_EVERY_MS.
 */
char *cli_progress_line(cli_progress *progress, const pawl_worker_stats *stats, bool *ret_moves);

#endif
