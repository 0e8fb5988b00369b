/* src/core/output.h - the output of a handler, stored when its message is acknowledged. */
#ifndef PAWLI_OUTPUT_H
#define PAWLI_OUTPUT_H

#include <pawl/queue.h>

#include "op.h"

/* A copy owned by the caller; NULL for none. PAWL_E_INVALID, PAWL_E_TOO_LARGE, PAWL_E_NOMEM. */
typedef struct pawli_output {
    void *data;
    size_t size;
} pawli_output;
pawl_status pawli_output_copy(const void *data, size_t size, pawli_output *ret_output,
                              pawl_error *err);
void pawli_output_done(pawli_output *output);

/* The row table of ack_output for one message; everything is borrowed. */
enum { PAWLI_OUTPUT_COLUMNS = 3 };
pawli_rows pawli_output_rows(pawl_receipt item, const void *data, size_t size,
                             pawli_value values[PAWLI_OUTPUT_COLUMNS]);

#endif
