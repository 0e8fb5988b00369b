/* src/core/inbox_private.h - what the inbox's files share. */
#ifndef PAWLI_INBOX_PRIVATE_H
#define PAWLI_INBOX_PRIVATE_H

#include <pawl/inbox.h>

#include "arena.h"
#include "inbox_suspects.h"
#include "op.h"
#include "scope.h"
#include "store_private.h"

/* An atomic attempt is the caller's for this long before its transaction says so. */
#define PAWLI_INBOX_ATOMIC_LEASE_MS ((int64_t)3 * PAWL_TURN_MAX_MS)
#define PAWLI_INBOX_CALL_LEASE_MS 30000

typedef enum pawli_arrival_mode {
    PAWLI_ATOMIC, /* in a transaction of pawl's own */
    PAWLI_CALL,   /* in none */
    PAWLI_JOINED  /* in the application's */
} pawli_arrival_mode;

struct pawl_arrival {
    pawl_store *store;
    pawli_arrival_mode mode;
    pawl_tx *tx; /* ATOMIC: owned, or NULL; JOINED: the application's */
    bool ended;  /* done, failed, or not new in the first place */
    bool alone;  /* it is the process's only suspect, until it ends */
    const char *source;
    const char *id;
    const char *endpoint;
    uint8_t hash[PAWL_HASH_SIZE];
    bool has_hash;
    int max_attempts;
    int64_t keep_ms;
    pawli_arena given; /* the texts above */
    /* What the database answered. */
    bool answered;
    bool suspect; /* it was not begun, since another suspect is being processed */
    pawl_inbox_answer answer;
    int attempt;
    int64_t fence;
    int64_t retry_after_us;
    const char *key;
    const char *response;
    size_t response_size;
    const char *error;
    pawli_arena texts; /* of the answer */
};

PAWLI_AUTO_DEFINE(pawl_arrival, pawl_arrival_free);

/* PAWL_E_INVALID unless the texts are 1 to PAWL_INBOX_KEY_MAX characters of UTF-8 each. */
pawl_status pawli_inbox_check_key(const char *source, const char *id, pawl_error *err);
pawl_status pawli_inbox_check_options(const pawl_inbox_options *options, pawl_error *err);
pawli_value pawli_inbox_hash_value(const uint8_t *hash);
/* What the caller wants, or the store's default; says once if that is short. */
int64_t pawli_inbox_keep(pawl_store *store, int64_t keep_ms);
/* Says so, once, if senders may still retry what is forgotten by then. */
void pawli_inbox_warn_keep(pawl_store *store, int64_t keep_ms);

/* How a delivery is made. */
typedef struct pawli_inbox_way {
    pawl_tx *tx; /* NULL: by itself */
    int64_t lease_ms;
    bool alone;         /* may begin a suspect */
    const char *holder; /* who is asking, and may begin what it holds; NULL: not said */
} pawli_inbox_way;

/* What a delivery is told besides pawl_inbox_answer: nothing was written, go the way alone. */
#define PAWLI_INBOX_SUSPECT ((pawl_inbox_answer)5)

/* A delivery, told to the database; the answer goes to the arrival. */
pawl_status pawli_arrival_deliver(pawl_arrival *arrival, const pawli_inbox_way *way,
                                  pawl_error *err);
/* It has ended: the next suspect may begin. Nothing happens if it was not alone. */
void pawli_arrival_leave(pawl_arrival *arrival);
/* A delivery by pawl_inbox_call() for a caller that may ask again: its arrival is not ended. */
pawl_status pawli_inbox_call_by(pawl_store *store, const char *holder, const char *source,
                                const char *id, const pawl_inbox_options *opts,
                                pawl_arrival **ret_arrival, pawl_error *err);

/* A key, the fence of an attempt (0: whoever is at it) and where to: NULL is by itself. */
typedef struct pawli_inbox_item {
    pawl_store *store;
    pawl_tx *tx;
    const char *source;
    const char *id;
    int64_t fence;
    int64_t keep_ms;
} pawli_inbox_item;

/* *ret_changed: it was the caller's, and is done, or failed, now. */
pawl_status pawli_inbox_finish(const pawli_inbox_item *item, const void *response, size_t size,
                               bool *ret_changed, pawl_error *err);
pawl_status pawli_inbox_give_up(const pawli_inbox_item *item, const char *error, bool dead,
                                bool *ret_changed, pawl_error *err);
/* The attempt was not made, and does not count. */
pawl_status pawli_inbox_release(const pawli_inbox_item *item, bool *ret_changed, pawl_error *err);
pawl_status pawli_inbox_check_response(pawl_store *store, const void *response, size_t size,
                                       pawl_error *err);

#endif
