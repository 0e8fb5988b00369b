/* src/transport/inproc/inproc.h - the inproc transport: receivers in the same process, each with
 * its own threads.
 */
#ifndef PAWLI_INPROC_H
#define PAWLI_INPROC_H

#include <pawl/sys/transport.h>

/* The receivers, and the self of the transport. */
typedef struct pawli_inproc pawli_inproc;

pawl_status pawli_inproc_new(pawli_inproc **ret_inproc, pawl_error *err);
/* Starts its threads. */
pawl_status pawli_inproc_add(pawli_inproc *inproc, const char *name, int threads,
                             pawl_inproc_receiver receiver, void *context, pawl_error *err);

/* Ends the threads, after waiting for receivers that are running. */
void pawli_inproc_free(void *self);

extern const pawl_transport pawli_inproc_transport;

#endif
