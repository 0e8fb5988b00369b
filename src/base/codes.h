/*
 * src/base/codes.h - numeric codes in tables, results and parameters of the SQL: one place for
 * both engines and for C.
 *
 * The SQL files contain @STATE_DONE@ and so on, which scripts/embed-sql.py replaces by these
 * values; so they must be plain numbers, or lists of such names as text. src/core/message.c
 * compares them with the enums of the public headers.
 */
#ifndef PAWLI_CODES_H
#define PAWLI_CODES_H

/* clang-format off */

/* ---- states of a message: outcome.state, topic_stats.state, job_run.state ---- */
#define PAWLI_STATE_READY               0
#define PAWLI_STATE_RUNNING             1
#define PAWLI_STATE_DONE                2
#define PAWLI_STATE_FAILED              3
#define PAWLI_STATE_EXPIRED             4
#define PAWLI_STATE_CANCELLED           5
#define PAWLI_STATE_SCHEDULED           6 /* ready, not due yet: only shown, never in a table */
#define PAWLI_STATES_FINISHED           "@STATE_DONE@, @STATE_FAILED@, @STATE_EXPIRED@, @STATE_CANCELLED@"
#define PAWLI_STATES_DEAD               "@STATE_FAILED@, @STATE_EXPIRED@, @STATE_CANCELLED@"
#define PAWLI_STATES_NOT_KEPT           "@STATE_DONE@, @STATE_CANCELLED@" /* deleted after a time */

/* ---- states of a job's run: those of its message, and these; reasons of a skip ---- */
#define PAWLI_RUN_WAITING               6
#define PAWLI_RUN_SKIPPED               7
#define PAWLI_RUN_STATES_STARTED        "@STATE_READY@, @STATE_RUNNING@"
#define PAWLI_RUN_STATES_UNFINISHED     "@STATE_READY@, @STATE_RUNNING@, @RUN_WAITING@"
#define PAWLI_RUN_NO_REASON             0
#define PAWLI_RUN_OVERLAP               1
#define PAWLI_RUN_MISFIRE               2

/* ---- types of a message ---- */
#define PAWLI_TYPE_SIGNAL               0
#define PAWLI_TYPE_COMMAND              1
#define PAWLI_TYPE_PUSH_CALL            2
#define PAWLI_TYPE_RESPONSE             3

/* ---- enqueue: the result for each message ---- */
#define PAWLI_ENQUEUE_STORED            0
#define PAWLI_ENQUEUE_EXISTED           1 /* with the same topic and payload */
#define PAWLI_ENQUEUE_CONFLICT          2 /* with another topic or payload */
#define PAWLI_ENQUEUE_BUSY              3 /* another open transaction is sending the same id */

/* ---- what a claim or reap notes for the cursor: `item` (docs/internals/claim-cursor.md) ---- */
#define PAWLI_NOTE_EPOCH                1 /* this transaction's id, and a clock reading before it */
#define PAWLI_NOTE_NEXT                 2 /* this transaction id and all higher ones count as running */
#define PAWLI_NOTE_RUNNING              3 /* a transaction below that which was running */
#define PAWLI_NOTE_LANE                 4 /* a lane, and its oldest row that is ready and not claimed */

/* ---- leases: the result of lease_acquire ---- */
#define PAWLI_LEASE_RESULT_HELD         0 /* another owner has it */
#define PAWLI_LEASE_RESULT_EXTENDED     1
#define PAWLI_LEASE_RESULT_TAKEN        2

/* ---- the inbox: states of a record; results of inbox_begin ---- */
#define PAWLI_INBOX_SEEN                0
#define PAWLI_INBOX_PROCESSING          1
#define PAWLI_INBOX_DONE                2
#define PAWLI_INBOX_DEAD                3
#define PAWLI_INBOX_UNFINISHED          "@INBOX_SEEN@, @INBOX_PROCESSING@"
#define PAWLI_INBOX_RESULT_NEW          0
#define PAWLI_INBOX_RESULT_DUPLICATE    1
#define PAWLI_INBOX_RESULT_IN_PROGRESS  2
#define PAWLI_INBOX_RESULT_CONFLICT     3
#define PAWLI_INBOX_RESULT_DEAD         4
#define PAWLI_INBOX_RESULT_SUSPECT      5
#define PAWLI_INBOX_LIST_ALL            0 /* which index inbox_list() uses */
#define PAWLI_INBOX_LIST_UNFINISHED     1
#define PAWLI_INBOX_LIST_DEAD           2

/* ---- jobs: rows of job_due; steps and results of job_advance; results of job_trigger ---- */
#define PAWLI_JOB_DUE_CLOCK             0
#define PAWLI_JOB_DUE_JOB               1
#define PAWLI_JOB_DUE_EVENT             2
#define PAWLI_JOB_STEP_MOVE             0 /* updates the job */
#define PAWLI_JOB_STEP_EVENT            1 /* acknowledges pending events */
#define PAWLI_JOB_STEP_PROMOTE          2 /* starts the first waiting run */
#define PAWLI_JOB_STEP_SKIP             3 /* occurrences that are skipped */
#define PAWLI_JOB_STEP_RUN              4 /* an occurrence that runs, waits or is skipped */
#define PAWLI_JOB_STEP_STARTED          5 /* only a result: a message was enqueued */
#define PAWLI_JOB_TRIGGER_BUSY          0 /* another run has not ended */
#define PAWLI_JOB_TRIGGER_WAITS         1
#define PAWLI_JOB_TRIGGER_STARTED       2

/* clang-format on */
#endif
