/* src/core/inbox_private.h - declarations shared by the files of the inbox. */
#ifndef PAWLI_INBOX_PRIVATE_H
#define PAWLI_INBOX_PRIVATE_H

#include <pawl/inbox.h>

#include "arena.h"
#include "codes.h"
#include "inbox_suspects.h"
#include "op.h"
#include "scope.h"
#include "store_private.h"

/* The lease of an atomic attempt until its transaction takes over. */
#define PAWLI_INBOX_ATOMIC_LEASE_MS ((int64_t)3 * PAWL_SQLITE_TX_MAX_MS)
#define PAWLI_INBOX_CALL_LEASE_MS 30000

typedef enum pawli_arrival_mode {
    PAWLI_ATOMIC, /* in a transaction of pawl's own */
    PAWLI_CALL,   /* without a transaction */
    PAWLI_JOINED  /* in the application's */
} pawli_arrival_mode;

struct pawl_inbox_task {
    pawl_store *store;
    pawli_arrival_mode mode;
    pawl_tx *tx; /* ATOMIC: owned, or NULL; JOINED: the application's */
    bool ended;  /* done, failed, or not new in the first place */
    bool alone;  /* it is the process's only running suspect, until it ends */
    const char *source;
    const char *id;
    const char *endpoint;
    uint8_t hash[PAWL_HASH_SIZE];
    bool has_hash;
    int max_attempts;
    int64_t keep_ms;
    pawli_arena given; /* the strings above */
    /* The database's response. */
    bool has_result;
    bool suspect; /* it was not begun, because another suspect is being processed */
    pawl_inbox_result result;
    int attempt;
    int64_t fence;
    int64_t retry_after_us;
    const char *key;
    const char *response;
    size_t response_size;
    const char *error;
    pawli_arena texts; /* of the response */
};

PAWLI_AUTO_DEFINE(pawl_inbox_task, pawl_inbox_task_free);

/* PAWL_E_INVALID unless the texts are 1 to PAWL_INBOX_KEY_MAX characters of UTF-8 each. */
pawl_status pawli_inbox_check_key(const char *source, const char *id, pawl_error *err);
pawl_status pawli_inbox_check_options(const pawl_inbox_options *options, pawl_error *err);
pawli_value pawli_inbox_hash_value(const uint8_t *hash);
/* The caller's value, or the store's default; warns once if it is too short. */
int64_t pawli_inbox_keep(pawl_store *store, int64_t keep_ms);
/* Warns, once, if senders may still retry messages after their records are deleted. */
void pawli_inbox_warn_keep(pawl_store *store, int64_t keep_ms);

/* The parameters of a delivery. */
typedef struct pawli_inbox_way {
    pawl_tx *tx; /* NULL: in a transaction of its own */
    int64_t lease_ms;
    bool alone;         /* may begin a suspect */
    const char *holder; /* the caller, which may begin again what it owns; NULL: not given */
} pawli_inbox_way;

/* A further result besides pawl_inbox_result: nothing was written, deliver again with `alone`. */
#define PAWLI_INBOX_SUSPECT ((pawl_inbox_result)PAWLI_INBOX_RESULT_SUSPECT)

/* Reports a delivery to the database; the result is stored in the inbox task. */
pawl_status pawli_arrival_deliver(pawl_inbox_task *task, const pawli_inbox_way *way,
                                  pawl_error *err);
/* The task has ended: the next suspect may begin. No-op if the task was not a sole suspect. */
void pawli_arrival_leave(pawl_inbox_task *task);
/* A delivery by pawl_inbox_call() for a caller that may call again: freeing its inbox task does
 * not end it. */
pawl_status pawli_inbox_call_by(pawl_store *store, const char *holder, const char *source,
                                const char *id, const pawl_inbox_options *opts,
                                pawl_inbox_task **ret_task, pawl_error *err);

/* A key, the fence of an attempt (0: any) and the transaction: NULL for one of its own. */
typedef struct pawli_inbox_item {
    pawl_store *store;
    pawl_tx *tx;
    const char *source;
    const char *id;
    int64_t fence;
    int64_t keep_ms;
} pawli_inbox_item;

/* *ret_changed: the caller owned it, and it is done, or failed, now. */
pawl_status pawli_inbox_finish(const pawli_inbox_item *item, const void *response, size_t size,
                               bool *ret_changed, pawl_error *err);
pawl_status pawli_inbox_fail_permanently(const pawli_inbox_item *item, const char *error, bool dead,
                                         bool *ret_changed, pawl_error *err);
/* The attempt was not made and is not counted. */
pawl_status pawli_inbox_release(const pawli_inbox_item *item, bool *ret_changed, pawl_error *err);
pawl_status pawli_inbox_check_response(pawl_store *store, const void *response, size_t size,
                                       pawl_error *err);

#endif
