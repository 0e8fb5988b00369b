/* tests/cut/steps.h - the calls of one life, in order, and what each leaves behind. */
#ifndef PAWL_CUT_STEPS_H
#define PAWL_CUT_STEPS_H

#include "kit.h"

#define MESSAGES 10 /* [0] is not used; message n is the one whose correlation id is n */

struct pg_conn;

typedef struct world {
    fixture *f;                /* looks at the tables from outside, past the proxy */
    const char *target;        /* the database behind the proxy */
    pawl_store *store;         /* through the proxy */
    const char *client_target; /* the same, or past the proxy: libpq's own calls have no deadline */
    struct pg_conn *client;    /* the application's own connection */
    bool prepare;
    int64_t timeout_ms;
    pawl_held held[MESSAGES]; /* what the owner was told */
    int64_t lease_fence;      /* the same of its lease */
    pawl_held run;            /* the same of a job's run */
    pawl_arrival *call;       /* a message that is being processed; or NULL */
} world;

typedef enum step_kind {
    STEP_READS,   /* never in doubt */
    STEP_WRITES,  /* in doubt when it was asked and the answer is lost */
    STEP_RESOLVES /* the same, but the call itself asks again */
} step_kind;

typedef struct step {
    const char *name;
    step_kind kind;
    void (*prepare)(world *w); /* past the proxy */
    /* The call under test. *ret_changed is how many messages it says it has changed. */
    pawl_status (*call)(world *w, size_t *ret_changed, pawl_error *err);
    /* After PAWL_E_IN_DOUBT, what it was, by public calls only. NULL: making the call again. */
    pawl_status (*resolve)(world *w, size_t *ret_changed, pawl_error *err);
    const char *effect; /* SQL: 0 when nothing of it is there */
    int64_t whole;      /* and this when all of it is */
    bool again;         /* a repetition changes as many, not none */
} step;

/* Ends with a step without a name. */
extern const step steps[];
/* States and retries of what is there at the end, by number. */
extern const char steps_end[];

/* Everything is as before the first step. */
void steps_clean(world *w);
/* The application's connection, and the store. */
void steps_close(world *w);

pawl_outgoing steps_message(int number);

/* steps_send.c: the calls that send. */
pawl_status step_open(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_send(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_send_batch(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_send_again(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_send_wrapped(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_resolve_wrapped(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_send_undone(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_schedule(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_unschedule(world *w, size_t *ret_changed, pawl_error *err);

/* The application's connection with a transaction open; made again if it is lost. */
pawl_status steps_begin(world *w, pawl_error *err);

/* steps_lease.c: the calls about a lease. */
pawl_status step_lease_take(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_lease_renew(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_lease_release(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_lease_guard(world *w, size_t *ret_changed, pawl_error *err);

/* steps_read.c: the calls that only read; each answers PAWL_E_STORE when an answer is not whole. */
pawl_status step_list(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_stats(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_look(world *w, size_t *ret_changed, pawl_error *err);
/* What the owner holds, and remember it. */
pawl_status step_learn_held(world *w, size_t *ret_held, pawl_error *err);

/* steps_inbox.c: the calls that receive. */
pawl_status step_receive(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_call(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_call_done(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_call_again(world *w, size_t *ret_changed, pawl_error *err);

/* steps_job.c: the calls about jobs. */
pawl_status step_job_put(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_put_another(world *w, size_t *ret_changed, pawl_error *err);
void step_job_three_minutes(world *w);
pawl_status step_job_tick(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_trigger(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_resolve_trigger(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_claim(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_resolve_claim(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_ack(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_disable(world *w, size_t *ret_changed, pawl_error *err);
pawl_status step_job_delete(world *w, size_t *ret_changed, pawl_error *err);

#endif
