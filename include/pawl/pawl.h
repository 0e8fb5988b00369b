/* include/pawl/pawl.h - includes all headers of libpawl, and defines its version. */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/dead.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/inbox.h>
#include <pawl/inbox_records.h>
#include <pawl/job.h>
#include <pawl/job_runs.h>
#include <pawl/lease.h>
#include <pawl/lease_runner.h>
#include <pawl/log.h>
#include <pawl/message.h>
#include <pawl/observe.h>
#include <pawl/outbox.h>
#include <pawl/maintenance.h>
#include <pawl/page.h>
#include <pawl/queue.h>
#include <pawl/result.h>
#include <pawl/schedule.h>
#include <pawl/store.h>
#include <pawl/timer.h>
#include <pawl/topic.h>
#include <pawl/tx.h>
#include <pawl/waiter.h>
#include <pawl/worker.h>

#define PAWL_VERSION_MAJOR 0
#define PAWL_VERSION_MINOR 1
#define PAWL_VERSION_PATCH 0
#define PAWL_VERSION "0.1.0"

PAWL_BEGIN_DECLS

/* The version of the library at run time, which may be newer than PAWL_VERSION. */
PAWL_API const char *pawl_version(void);

PAWL_END_DECLS

#endif
