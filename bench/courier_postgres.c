/*
 * bench/courier_postgres.c - the shortest way by hand on PostgreSQL: a plain table, NOTIFY in the
 * sender's transaction, and one UPDATE that takes what is there, on the connection that listens.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "basics.h"
#include "courier.h"
#include "pg.h"

typedef struct program {
    timeline *timeline;
    PGconn *sending, *receiving;
} program;

static void prepare(database *db)
{
    pg_exec(db->handle, "CREATE TABLE IF NOT EXISTS letter (number integer PRIMARY KEY,"
                        " owner integer NOT NULL DEFAULT 0, lease_until timestamptz, payload text)"
                        " WITH (fillfactor = 50)");
    pg_exec(db->handle, "DELETE FROM letter");
    pg_exec(db->handle, "VACUUM letter");
}

static void *open_raw(const database *db, timeline *t)
{
    program *self = allocate(1, sizeof *self);

    self->timeline = t;
    self->sending = pg_open(db);
    self->receiving = pg_open(db);
    pg_prepare(self->sending, "send",
               "INSERT INTO letter (number, payload) VALUES ($1::int4, $2::text)"
               " RETURNING pg_notify('pawl_bench_letter', '')");
    pg_prepare(self->receiving, "take",
               "UPDATE letter SET owner = 1, lease_until = now() + interval '600 seconds'"
               " WHERE number = ANY (ARRAY(SELECT number FROM letter WHERE owner = 0"
               " ORDER BY number FOR UPDATE SKIP LOCKED)) RETURNING number");
    pg_prepare(self->receiving, "remove", "DELETE FROM letter WHERE owner = 1");
    return self;
}

static void close_raw(void *context)
{
    program *self = context;

    PQfinish(self->sending);
    PQfinish(self->receiving);
    free(self);
}

static void send_message(void *context, int number)
{
    program *self = context;
    pg_wire32 wire = pg_wire32_of(number);
    pg_params params = {0};

    pg_add(&params, wire.bytes, sizeof wire.bytes);
    pg_add(&params, bench_payload, bench_payload_size);
    PQclear(pg_run(self->sending, "send", &params));
}

static int number_at(const PGresult *result, int row)
{
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(result, row, 0);

    return (int)((unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 |
                 bytes[3]);
}

/* One statement is one transaction: with its answer they are the receiver's. */
static int take_all(program *self, double woken)
{
    PGresult *taken = pg_run(self->receiving, "take", &(pg_params){0});
    double started = seconds_now();
    int count = PQntuples(taken), last = 0;

    for (int i = 0; i < count; i++)
        last =
            timeline_note(self->timeline, number_at(taken, i), i == 0 ? woken : 0, started) || last;
    PQclear(taken);
    if (count > 0)
        PQclear(pg_run(self->receiving, "remove", &(pg_params){0}));
    return last;
}

static int hear(PGconn *connection)
{
    PGnotify *note;
    int heard = 0;

    while ((note = PQnotifies(connection)) != NULL) {
        PQfreemem(note);
        heard++;
    }
    return heard;
}

static void receive(void *context)
{
    program *self = context;
    struct pollfd fd = {.fd = PQsocket(self->receiving), .events = POLLIN};
    int last = 0;

    pg_exec(self->receiving, "LISTEN pawl_bench_letter");
    atomic_store(&self->timeline->ready, 1);
    while (!last) {
        /* Some may have come with the answer to the statements before. */
        while (!hear(self->receiving)) {
            (void)poll(&fd, 1, -1);
            if (!PQconsumeInput(self->receiving))
                die("PostgreSQL: %s", PQerrorMessage(self->receiving));
        }
        last = take_all(self, seconds_now());
    }
}

const courier courier_postgres = {.prepare = prepare,
                                  .open = open_raw,
                                  .close = close_raw,
                                  .send = send_message,
                                  .receive = receive};
