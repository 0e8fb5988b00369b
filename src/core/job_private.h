/* src/core/job_private.h - declarations shared by the job*.c files. */
#ifndef PAWLI_JOB_PRIVATE_H
#define PAWLI_JOB_PRIVATE_H

#include <pawl/job.h>

#include "op.h"
#include "scope.h"

PAWLI_AUTO_DEFINE(pawl_jobs, pawl_jobs_free);
PAWLI_AUTO_DEFINE(pawl_runs, pawl_runs_free);

/* PAWL_E_INVALID unless there is a store and the name is valid. */
pawl_status pawli_job_check_name(const pawl_store *store, const char *name, pawl_error *err);
/* PAWL_E_NOT_FOUND: there is no such job. */
pawl_status pawli_job_missing(const char *name, pawl_error *err);
/*
 * Reads the caller's struct of any size, and rejects what must not be stored. Nothing is copied
 * except the struct itself.
 */
pawl_status pawli_job_definition_read(const pawl_job_definition *given, size_t max_payload_bytes,
                                      pawl_job_definition *definition, pawl_error *err);

/* The policy of that name; the database constrains the values. */
pawl_misfire pawli_misfire_of(const pawli_row *row, int column);
pawl_overlap pawli_overlap_of(const pawli_row *row, int column);

/*
 * pawl_job_tick() with permission before it stores anything: `permit` is called only if something
 * is due. *ret_permitted: its result, true if it was not called.
 */
typedef pawl_status (*pawli_job_permit)(void *context, pawl_wall now, bool *ret_permitted,
                                        pawl_error *err);
pawl_status pawli_job_tick(pawl_store *store, pawli_job_permit permit, void *context,
                           bool *ret_permitted, pawl_job_tick_result *result, pawl_error *err);

/* Notifies the schedulers of this process that a job has changed. */
void pawli_jobs_changed(pawl_store *store);

#endif
