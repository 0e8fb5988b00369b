/*
 * tests/process/scene.h - workers and senders as processes on one database, and what they say.
 *
 * Senders are given work as their messages are done, so that there is load all the time and never
 * much of it. Nothing here sleeps: waiting is listening to the processes, or looking at the
 * database again and again, for two minutes at most.
 */
#ifndef PAWL_PROCESS_SCENE_H
#define PAWL_PROCESS_SCENE_H

#include "child.h"
#include "kit.h"

#define SCENE_WORKERS 4
#define SCENE_SENDERS 2
#define SCENE_NUMBERS 100000 /* per sender, at most; sender i begins at i * SCENE_NUMBERS */
#define SCENE_PATIENCE_MS 120000

typedef struct scene_worker {
    child process;
    bool ready; /* it has said who it is */
    pawl_owner owner;
    long done, lost, again; /* lines of each kind */
    long holding;           /* the number it holds up, or -1 */
    bool held_done;         /* that one was done after all */
    bool held_lost;         /* or its commit was refused */
} scene_worker;

typedef struct scene_sender {
    child process;
    long first;
    long asked;  /* numbers it was told to send */
    long stored; /* numbers that it said are stored */
    long marked; /* the same at the last scene_mark() */
    long doubts, refusals;
} scene_sender;

typedef struct scene {
    fixture *f;
    const char *table;
    scene_worker workers[SCENE_WORKERS];
    scene_sender senders[SCENE_SENDERS];
    long done;           /* lines of all workers */
    int64_t marked_ms;   /* when it happened */
    int64_t first_ms;    /* from then until a handler that began later was done; 0: not yet */
    bool no_more_orders; /* senders are not given work any more */
} scene;

/* Times from what happened until life went on. */
typedef struct recovery {
    int64_t first_ms; /* until a message was handled that was taken up afterwards */
    int64_t all_ms;   /* until all messages were done that had been stored before */
} recovery;

/* A database with the application's table in it; everything ends with the test, or earlier. */
scene *scene_open(void);
void scene_close(scene *s);
/* `options` are those of the helper, NULL at the end; may be NULL. */
void scene_start_worker(scene *s, int which, const char *const *options);
/* Again with the first number that was not stored for certain. */
void scene_start_sender(scene *s, int which, const char *broken);
/* Two workers without options, two senders; until both workers have done something. */
void scene_start_all(scene *s);

/* Listen to all, at most so long, and give the senders their orders; returns after any line. */
void scene_listen(scene *s, int wait_ms);
/* The same for the whole of that time. */
void scene_listen_for(scene *s, int64_t ms);
/* Until the processes have said it. */
#define scene_until(s, condition)                                                                  \
    do {                                                                                           \
        for (int64_t end_ = test_clock_ms() + SCENE_PATIENCE_MS; !(condition);                     \
             scene_listen((s), 100))                                                               \
            if (test_clock_ms() > end_)                                                            \
                test_fail("in vain: %s", #condition);                                              \
    } while (0)
/* Until it can be seen in the database. */
#define scene_until_seen(s, condition)                                                             \
    do {                                                                                           \
        for (int64_t end_ = test_clock_ms() + SCENE_PATIENCE_MS; !(condition);                     \
             scene_listen_for((s), 10))                                                            \
            if (test_clock_ms() > end_)                                                            \
                test_fail("in vain: %s", #condition);                                              \
    } while (0)

/* It happens now: recovery is counted from here. */
void scene_mark(scene *s);
recovery scene_await_recovery(scene *s);

/*
 * SIGSTOP. On SQLite not while the process is writing: all others would wait until it goes on.
 */
void scene_stop_worker(scene *s, int which);
/* Whether the application's row of that number is there. */
bool scene_has_row(scene *s, long number);
/* SIGKILL, and what it had said before is heard. */
void scene_kill_worker(scene *s, int which);
void scene_kill_sender(scene *s, int which);
/* Until it has ended by itself with exit status 0. */
void scene_await_end(scene *s, child *c, const char *what);
/* Senders end, everything is done, workers end by SIGTERM. */
void scene_finish(scene *s);

/* How many messages a worker that may be dead has under lease. */
int64_t scene_held_by(scene *s, int which);
/* With no worker running: NULL, or that something is under lease all the same. */
const char *scene_check_nothing_leased(scene *s);
long scene_stored(const scene *s);

/*
 * With everything at rest, what was stored, what is done, and the application's rows: NULL
 * if each number is there exactly once everywhere, or what is wrong.
 */
const char *scene_audit(scene *s);

#endif
