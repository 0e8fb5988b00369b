/*
 * bench/courier_sqlite.c - the shortest way by hand on SQLite: a plain table, an eventfd that the
 * sender writes to after its commit, and one UPDATE that takes what is there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "basics.h"
#include "courier.h"
#include "lite.h"

typedef struct program {
    timeline *timeline;
    sqlite3 *sending, *receiving; /* one for each thread */
    sqlite3_stmt *insert, *take, *remove;
} program;

static void prepare(database *db)
{
    lite_exec(db->handle, "CREATE TABLE IF NOT EXISTS letter (number INTEGER PRIMARY KEY,"
                          " owner INTEGER NOT NULL DEFAULT 0, lease_until INTEGER, payload TEXT)");
    lite_exec(db->handle, "DELETE FROM letter");
}

static void *open_raw(const database *db, timeline *t)
{
    program *self = allocate(1, sizeof *self);

    self->timeline = t;
    self->sending = lite_open(db);
    self->receiving = lite_open(db);
    self->insert =
        lite_prepare(self->sending, "INSERT INTO letter (number, payload) VALUES (?1, ?2)");
    self->take = lite_prepare(self->receiving, "UPDATE letter SET owner = 1, lease_until = ?1"
                                               " WHERE owner = 0 RETURNING number");
    self->remove = lite_prepare(self->receiving, "DELETE FROM letter WHERE owner = 1");
    return self;
}

static void close_raw(void *context)
{
    program *self = context;

    sqlite3_finalize(self->insert);
    sqlite3_finalize(self->take);
    sqlite3_finalize(self->remove);
    sqlite3_close(self->sending);
    sqlite3_close(self->receiving);
    free(self);
}

static void send_message(void *context, int number)
{
    program *self = context;

    sqlite3_bind_int(self->insert, 1, number);
    sqlite3_bind_text(self->insert, 2, bench_payload, (int)bench_payload_size, SQLITE_STATIC);
    lite_run(self->insert);
}

static void ring(void *context)
{
    program *self = context;

    if (eventfd_write(self->timeline->bell, 1) != 0)
        die("an eventfd cannot be written to");
}

/* Nothing is the receiver's before the statement has ended: that is the commit. */
static int take_all(program *self, double woken)
{
    int numbers[TIMELINE_MAX], count = 0, last = 0;
    double started;

    sqlite3_bind_int64(self->take, 1, wall_us_now() + INT64_C(1000) * LEASE_MS);
    while (lite_next(self->take))
        numbers[count++] = sqlite3_column_int(self->take, 0);
    started = seconds_now();
    for (int i = 0; i < count; i++)
        last = timeline_note(self->timeline, numbers[i], i == 0 ? woken : 0, started) || last;
    if (count > 0)
        lite_run(self->remove);
    return last;
}

static void receive(void *context)
{
    program *self = context;
    eventfd_t count;
    int last = 0;

    atomic_store(&self->timeline->ready, 1);
    while (!last) {
        if (eventfd_read(self->timeline->bell, &count) != 0)
            die("an eventfd cannot be read");
        last = take_all(self, seconds_now());
    }
}

const courier courier_sqlite = {.prepare = prepare,
                                .open = open_raw,
                                .close = close_raw,
                                .send = send_message,
                                .ring = ring,
                                .receive = receive};
