/* src/db/db_private.h - the internals of pawli_db, for the files of this directory that share them.
 */
#ifndef PAWLI_DB_PRIVATE_H
#define PAWLI_DB_PRIVATE_H

#include <sys/types.h>

#include "db.h"
#include "engine.h"
#include "group.h"
#include "pool.h"
#include "statements.h"

struct pawli_db {
    pid_t pid; /* of the process that opened it */
    const pawli_engine *engine;
    char *target;
    char *names;
    int64_t timeout_us;
    pawl_log_sink log;
    pawli_statements *statements;
    pawli_db_settings settings;
    pawli_clock_memory clock;
    pawli_pool *writers;
    pawli_pool *readers;    /* NULL: reading ops use a writer */
    pawli_pool *exclusive;  /* for transactions over several calls; may be the writers */
    pawli_group *group;     /* NULL: writers do not share commits */
    pawli_scanner *scanner; /* NULL: the engine needs none */
    pawli_wake wake;
};

pawl_mono pawli_db_deadline(const pawli_db *db);

/* db.c */
void pawli_clock_init(pawli_clock_memory *clock);
void pawli_clock_done(pawli_clock_memory *clock);
/*
 * Logs that the store's clock is ahead, or no longer is: once for each occasion. No lock is held.
 */
void pawli_clock_log(pawli_db *db);

/* PAWL_E_MISUSE when this thread would wait for a transaction that it has open itself. */
pawl_status pawli_db_check_thread(pawli_db *db, pawl_error *err);

#endif
