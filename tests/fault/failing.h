/*
 * tests/fault/failing.h - let the Nth allocation or the Nth call of the database's library fail.
 *
 * The linker sends the calls of the library under test here (-Wl,--wrap); see meson.build. Only the
 * thread that armed is affected, unless it says otherwise, and only until it disarms.
 */
#ifndef PAWL_TEST_FAILING_H
#define PAWL_TEST_FAILING_H

#include <stdbool.h>

typedef enum failing_kind {
    FAILING_MEMORY,        /* malloc and friends, called by pawl */
    FAILING_SQLITE_MEMORY, /* the same inside SQLite */
    FAILING_SQL            /* SQLite's and libpq's functions */
} failing_kind;

/* Added to a SQLite code: sqlite3_step() does its work and then returns the failure. */
#define FAILING_AFTERWARDS (1 << 30)

/* The behavior of a failing libpq call. */
enum {
    FAILING_REFUSES = 0, /* returns a failure; the connection stays */
    FAILING_CUTS = 1     /* the connection is cut, then the call is made */
};

/* Must be called before SQLite is first used. */
void failing_prepare(void);
/*
 * From now on count calls of `kind`; the `nth` (from 1) fails. `how` is the SQLite code a
 * FAILING_SQL call answers, or one of the above on PostgreSQL.
 */
void failing_arm(failing_kind kind, long nth, int how);
/* The same for the memory of all threads at once, until the same thread disarms. */
void failing_arm_everywhere(long nth);
/* When it fails, call this, on the thread that armed; forgotten by the next arming. */
void failing_then(void (*call)(void *), void *context);
/* Stop; whether the call was reached and failed. */
bool failing_disarm(void);
bool failing_happened(void);
/* Whether it is armed to cut a connection. */
bool failing_cuts(void);
/* The server's process at the other end of the connection that was cut; 0: none was. */
int failing_cut_backend(void);
/* Any thread: cut the connection to this server process if it is the one that libpq last used. */
bool failing_cut_last(int backend);
/* Stop counting; it can be continued later. */
void failing_pause(void);
void failing_resume(void);
/* The function that failed. */
const char *failing_where(void);

#endif
