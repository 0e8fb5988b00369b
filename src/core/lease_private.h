/* src/core/lease_private.h - reading leases from the database's response. */
#ifndef PAWLI_LEASE_PRIVATE_H
#define PAWLI_LEASE_PRIVATE_H

#include <pawl/lease.h>

#include "arena.h"
#include "op.h"
#include "scope.h"

PAWLI_AUTO_DEFINE(pawl_leases, pawl_leases_free);

struct pawl_leases {
    pawl_lease *items;
    size_t count;
    size_t capacity;
    pawl_wall now;
    int result; /* of the last row: what the statement did, as documented in sql/ENGINE */
    pawli_arena texts;
};

/* The op's columns and callbacks; the context is a pawl_leases. */
extern const pawli_columns pawli_lease_columns;
void pawli_leases_on_start(void *context);
pawl_status pawli_leases_on_row(void *context, const pawli_row *row, pawl_error *err);

/* An empty list; NULL when memory ran out. */
pawl_leases *pawli_leases_new(void);
/* The error for that. */
pawl_status pawli_leases_no_memory(pawl_error *err);
/* PAWL_E_INVALID unless there is a store and the name is valid. */
pawl_status pawli_lease_check_name(const void *store, const char *name, pawl_error *err);

#endif
