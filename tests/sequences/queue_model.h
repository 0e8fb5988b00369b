/*
 * tests/sequences/queue_model.h - what a store should contain: the queue's rules on a few dozen
 * messages in memory, as plainly as they can be written.
 *
 * The model predicts every result but two, and follows the store there: which topic of several with
 * the same priority a claim takes first, and ids and fences. docs/internals/model-tests.md.
 */
#ifndef PAWL_QUEUE_MODEL_H
#define PAWL_QUEUE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/pawl.h>

#include "finding.h"

#define MODEL_MESSAGES 40
#define MODEL_OWNERS 4
#define MODEL_STORES 2 /* as of two processes */
#define MODEL_HANDLES 2
#define MODEL_TOPICS 3
#define MODEL_TICKETS 600
#define NO_OWNER (-1)

/* A message to send. Times are relative to the moment of the call. */
typedef struct sending {
    int number;      /* which message: the same number has the same message id */
    bool library_id; /* let the library make the id, if the message has none yet */
    int topic;
    int priority;
    int content;
    int64_t due_ms; /* 0: none; below 0: in the past */
    int64_t delay_ms;
    int64_t ttl_ms; /* 0: none; below 0: already over */
    int max_attempts;
    int64_t lease_ms;
    bool own_backoff;
    bool remote;
    int correlation; /* 0: none */
} sending;

typedef struct model_message {
    bool present;
    pawl_uuid id; /* outlives the message, so that it can be sent again */
    sending sent;
    int64_t work_id;
    int64_t created_us;
    int64_t due_us;
    int64_t ttl_us; /* how long it lives from its due time on; see `mortal` */
    bool mortal;
    int max_attempts;
    pawl_state state;
    int retries;
    int deferrals;
    int64_t run_at_us;
    int64_t expires_us; /* 0: never */
    int owner;
    int64_t fence;
    int64_t lease_until_us;
    int64_t finished_us;
    const char *processed_by;
    const char *error; /* how the text begins */
    /* Messages that PostgreSQL may find later: queue_model_cursor.c. */
    unsigned hidden; /* bit set of stores */
    bool late;
    bool shaky;
} model_message;

/* A transaction of the application. */
typedef struct model_tx {
    bool open;
    int store;
    int64_t began_us;
    bool stepped_back; /* the clock, meanwhile */
    model_message messages[MODEL_MESSAGES];
} model_tx;

/* A receipt that an owner once got. */
typedef struct ticket {
    int number;
    int owner;
    int64_t work_id;
    int64_t fence;
    bool known; /* the owner got the result and has not forgotten it */
} ticket;

typedef struct model {
    bool postgres;
    int64_t start_us;
    int64_t now_us;
    int64_t highest_us; /* the clock, ever */
    int64_t written_us; /* the latest time that must have been written down */
    int64_t last_fence;
    int64_t last_work_id;
    model_message messages[MODEL_MESSAGES];
    model_tx txs[MODEL_HANDLES];
    bool topic_known[MODEL_TOPICS]; /* it has a lane or totals */
    int64_t totals[MODEL_TOPICS][PAWL_STATE_COUNT];
    int64_t ended_us[MODEL_TOPICS]; /* the lowest clock since a message last ended */
    bool folded[MODEL_TOPICS];      /* since it had an unfinished message: it may have no lane */
    ticket tickets[MODEL_TICKETS];
    size_t ticket_count;
    /* The clock as this store's claims, local and for the destination, and its reaps saw it. */
    int64_t claim_seen_us[MODEL_STORES][2];
    int64_t reap_seen_us[MODEL_STORES];
} model;

extern const char *const model_topics[MODEL_TOPICS];
extern const char *const model_owner_names[MODEL_OWNERS];
extern const pawl_backoff model_own_backoff;
pawl_owner model_owner(int owner);
const char *model_correlation(int correlation); /* NULL for 0 */
/* The id the message has, or will have if the caller brings it. */
pawl_uuid model_id(const model *m, int number);
size_t model_payload(int number, int content, char ret_text[64]);

void model_init(model *m, bool postgres, int64_t start_us, bool topics_known);
model_message *model_by_work_id(model *m, int64_t work_id); /* NULL: none */

/* ---- sending: model.c ---- */

/* Whether another open transaction is sending this message. */
bool model_in_flight(const model *m, int number, const model_tx *mine);
/*
 * All or nothing: PAWL_OK or PAWL_E_CONFLICT. With `tx` it is there after model_end(). Work ids of
 * what is new are 0 until model_learn_id(). Numbers are present or in `tx` afterwards.
 */
pawl_status model_send(model *m, model_tx *tx, const sending *list, size_t count,
                       bool *ret_existed);
model_message *model_sent(model *m, model_tx *tx, int number);
void model_learn_id(model *m, model_message *x, pawl_uuid id, int64_t work_id, finding *wrong);
void model_end(model *m, model_tx *tx, bool commit);

/* ---- claiming: queue_model_claim.c ---- */

typedef struct model_claim {
    int owner;
    int store;
    int64_t lease_ms;
    int limit;
    unsigned topics; /* bit set; 0: all */
    bool remote;     /* for the destination, of all topics */
} model_claim;

/* Is it a choice that the rules allow? If so it is made in the model as well. */
bool model_claim_check(model *m, const model_claim *call, const int *numbers, size_t count,
                       int64_t fence, bool answer_known, finding *wrong);
void model_forget(model *m, int owner);
/* The owner listed its messages. */
void model_remember(model *m, int owner);

/* ---- acks and the like: queue_model_claim.c; each says how many messages change ---- */

typedef enum answer_kind {
    ANSWER_ACK,
    ANSWER_ABANDON,
    ANSWER_FAIL,
    ANSWER_RENEW,
    ANSWER_RELEASE,
    ANSWER_DEFER
} answer_kind;

typedef struct model_answer {
    answer_kind kind;
    int owner;
    const pawl_receipt *items;
    size_t count;
    const char *error;
    int64_t delay_ms;
    int64_t lease_ms;
} model_answer;

size_t model_answer_apply(model *m, const model_answer *answer);

/* ---- maintenance and administration: queue_model_manage.c ---- */

/*
 * `still_leased` says of each message whether the store has it in progress after the reap. What
 * must be reaped and is still leased, or the other way round, is wrong.
 */
size_t model_reap(model *m, int store, const bool *still_leased, bool answered_none,
                  finding *wrong);
/* Whether the result can be predicted without reading the store. */
bool model_reap_is_certain(const model *m, int store);
size_t model_expire(model *m);
size_t model_retain(model *m, int64_t keep_ms);
void model_fold(model *m);
/*
 * Whether a retain that keeps messages for `keep_ms` may forget the topic's totals: nothing is
 * unfinished, no lane is there (which only the store knows; none goes without a fold), and nothing
 * has ended for that long.
 */
bool model_totals_may_go(const model *m, int topic, int64_t keep_ms);
void model_totals_gone(model *m, int topic);
/* A message of the topic is unfinished now. */
void model_topic_used(model *m, int topic);
/* Whether the topic is counted: it is known, or has dead letters that are past their time. */
bool model_topic_counted(const model *m, int topic);
size_t model_cancel(model *m, const pawl_work_id *ids, size_t count);
size_t model_redrive(model *m, const pawl_work_id *ids, size_t count);
size_t model_purge(model *m, const pawl_work_id *ids, size_t count);
/* The work ids that match, newest first; `before`, `limit` count as well. How many there are. */
size_t model_matching(const model *m, const pawl_outbox_filter *filter,
                      pawl_work_id ret_ids[MODEL_MESSAGES]);

/* ---- shared by the files of the model ---- */

void model_make_ready(model *m, model_message *x, int64_t run_at_us);
void model_finish(model *m, model_message *x, pawl_state state);

/* As it is shown: what is past its time to live is expired, also before maintenance has moved it.
 */
pawl_state model_shown_state(const model *m, const model_message *x);

/* ---- limits of the claim cursor: queue_model_cursor.c ---- */

/* Must be called before every change of the clock. */
void model_clock(model *m, int64_t now_us);
/* The store forgets its positions. */
void model_store_reopened(model *m, int store);
/* The next scan of all stores is a sweep. */
void model_swept(model *m);
bool model_claim_is_behind(const model *m, int store, bool remote);
bool model_reap_is_behind(const model *m, int store);
/* Whether a claim of the store may pass over it. */
bool model_may_miss(const model *m, const model_message *x, int store);
void model_claimed_at(model *m, int store, bool remote);
void model_reaped_at(model *m, int store);
/* A check that was written down just now may be too early for a cursor. */
void model_shake(model *m);

#endif
