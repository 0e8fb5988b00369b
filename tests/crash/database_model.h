/*
 * tests/crash/database_model.h - what a database should contain: a queue small enough to be
 * compared whole.
 *
 * Written down independently of the product: the scenario says what each step does to which
 * message, and model_apply() does it to this.
 */
#ifndef PAWL_DATABASE_MODEL_H
#define PAWL_DATABASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/pawl.h>

#define MODEL_MESSAGES 48
#define MODEL_OWNERS 3
#define MODEL_ABSENT (-1)
#define MODEL_LEASES 2
#define MODEL_START_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

/* Fields that mean nothing in a state are 0. */
typedef struct model_message {
    int state; /* PAWL_STATE_... or MODEL_ABSENT */
    int retries;
    int owner; /* 1 .. MODEL_OWNERS while in progress */
    int64_t fence;
    int64_t lease_until_ms; /* while in progress */
    int64_t run_at_ms;      /* while ready */
} model_message;

/* A lease with its owner, or its last one; all 0: there is none. */
typedef struct model_lease {
    int owner;
    int64_t fence;
    int64_t expires_at_ms;
    bool released;
} model_lease;

typedef struct model {
    bool schema;
    bool orders_table; /* the application's */
    bool orders[MODEL_MESSAGES];
    int64_t fence; /* the last one given out */
    model_message messages[MODEL_MESSAGES];
    model_lease leases[MODEL_LEASES];
} model;

/* "lease 0", "lease 1". */
const char *model_lease_name(int number);

/* The content of every message; the same for the same number. */
pawl_uuid model_id(int number);
/* -1 if it is none of ours. */
int model_number(const uint8_t id[16]);
const char *model_topic(int number);
size_t model_payload_size(int number);
void model_payload(int number, uint8_t *ret_payload);
/* The message whole. `payload` has room for model_payload_size(). */
pawl_message_spec model_outgoing(int number, uint8_t *payload, int64_t now_ms);
pawl_owner model_owner(int number);
/* 0: no owner, -1: none of ours. */
int model_owner_number(const uint8_t owner[16]);

void model_init(model *m);
/* The first difference as a sentence, or false. */
bool model_differ(const model *expected, const model *found, char *ret_text, size_t size);

#endif
