/* src/base/cron_private.h - parsing one field of a cron expression; for cron.c. */
#ifndef PAWLI_CRON_PRIVATE_H
#define PAWLI_CRON_PRIVATE_H

#include "cron.h"

typedef enum pawli_cron_field_id {
    PAWLI_CRON_SECOND,
    PAWLI_CRON_MINUTE,
    PAWLI_CRON_HOUR,
    PAWLI_CRON_MONTH_DAY,
    PAWLI_CRON_MONTH,
    PAWLI_CRON_WEEK_DAY,
    PAWLI_CRON_FIELDS
} pawli_cron_field_id;

/* A part of the expression; columns count from 1. */
typedef struct pawli_cron_piece {
    const char *text; /* not terminated */
    size_t size;
    size_t column;
} pawli_cron_piece;

/* Adds the field to *cron, which starts as zeros. */
pawl_status pawli_cron_field(pawli_cron_field_id id, pawli_cron_piece piece, pawli_cron *cron,
                             pawl_error *err);

/* The piece for use in a message: one line of ASCII, truncated. */
#define PAWLI_CRON_SHOWN 24
const char *pawli_cron_shown(pawli_cron_piece piece, char ret_text[PAWLI_CRON_SHOWN]);

#endif
