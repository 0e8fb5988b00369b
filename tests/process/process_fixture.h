/*
 * tests/process/process_fixture.h - workers and senders as processes on one database, and what they
 * say.
 *
 * Senders are given work as their messages are done, so that there is load all the time and never
 * much of it. Nothing here sleeps: waiting is reading from the processes, or polling the
 * database repeatedly, for two minutes at most.
 */
#ifndef PAWL_PROCESS_FIXTURE_H
#define PAWL_PROCESS_FIXTURE_H

#include "child_process.h"
#include "queue_fixture.h"

#define PROCESSES_WORKERS 4
#define PROCESSES_SENDERS 2
#define PROCESSES_NUMBERS                                                                          \
    100000 /* per sender, at most; sender i begins at i times that                                 \
            */
#define PROCESSES_PATIENCE_MS 120000

typedef struct worker_process {
    child process;
    bool ready; /* it has said who it is */
    pawl_owner owner;
    long done, lost, again; /* lines of each kind */
    long blocked_number;    /* the number of its blocked call, or -1 */
    bool blocked_done;      /* that one was done after all */
    bool blocked_lost;      /* or its commit was refused */
} worker_process;

typedef struct sender_process {
    child process;
    long first;
    long asked;  /* numbers it was asked to send */
    long stored; /* numbers that it said are stored */
    long marked; /* the same at the last processes_mark() */
    long doubts, refusals;
} sender_process;

typedef struct processes {
    fixture *f;
    const char *table;
    worker_process workers[PROCESSES_WORKERS];
    sender_process senders[PROCESSES_SENDERS];
    long done;           /* lines of all workers */
    int64_t marked_ms;   /* when it happened */
    int64_t first_ms;    /* from then until a handler that began later was done; 0: not yet */
    bool no_more_orders; /* senders are not given work any more */
} processes;

/* Times from what happened until work went on. */
typedef struct recovery {
    int64_t first_ms; /* until a message was handled that was taken up afterwards */
    int64_t all_ms;   /* until all messages were done that had been stored before */
} recovery;

/* A database with the application's table in it; everything ends with the test, or earlier. */
processes *processes_open(void);
void processes_close(processes *s);
/* `options` are those of the helper, NULL at the end; may be NULL. */
void processes_start_worker(processes *s, int which, const char *const *options);
/* Again with the first number that was not stored for certain. */
void processes_start_sender(processes *s, int which, const char *broken);
/* Two workers without options, two senders; until both workers have done something. */
void processes_start_all(processes *s);

/* Listen to all, at most so long, and give the senders their orders; returns after any line. */
void processes_listen(processes *s, int wait_ms);
/* The same for the whole of that time. */
void processes_listen_for(processes *s, int64_t ms);
/* Until the processes have said it. */
#define processes_until(s, condition)                                                              \
    do {                                                                                           \
        for (int64_t end_ = test_clock_ms() + PROCESSES_PATIENCE_MS; !(condition);                 \
             processes_listen((s), 100))                                                           \
            if (test_clock_ms() > end_)                                                            \
                test_fail("in vain: %s", #condition);                                              \
    } while (0)
/* Until it can be seen in the database. */
#define processes_until_seen(s, condition)                                                         \
    do {                                                                                           \
        for (int64_t end_ = test_clock_ms() + PROCESSES_PATIENCE_MS; !(condition);                 \
             processes_listen_for((s), 10))                                                        \
            if (test_clock_ms() > end_)                                                            \
                test_fail("in vain: %s", #condition);                                              \
    } while (0)

/* It happens now: recovery is counted from here. */
void processes_mark(processes *s);
recovery processes_await_recovery(processes *s);

/*
 * SIGSTOP. On SQLite not while the process is writing: all others would wait until it continues.
 */
void processes_stop_worker(processes *s, int which);
/* Whether the application's row of that number is there. */
bool processes_has_row(processes *s, long number);
/* SIGKILL, and what it had said before is heard. */
void processes_kill_worker(processes *s, int which);
void processes_kill_sender(processes *s, int which);
/* Until it has ended on its own with exit status 0. */
void processes_await_end(processes *s, child *c, const char *what);
/* Senders end, everything is done, workers end by SIGTERM. */
void processes_finish(processes *s);

/* How many messages a worker that may be dead has under lease. */
int64_t processes_leased_by(processes *s, int which);
/* With no worker running: NULL, or which messages are still leased. */
const char *processes_check_nothing_leased(processes *s);
long processes_stored(const processes *s);

/*
 * With everything at rest, what was stored, what is done, and the application's rows: NULL
 * if each number is there exactly once everywhere, or what is wrong.
 */
const char *processes_audit(processes *s);

#endif
