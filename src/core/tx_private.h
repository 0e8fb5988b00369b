/* src/core/tx_private.h - the internals of pawl_tx. */
#ifndef PAWLI_TX_PRIVATE_H
#define PAWLI_TX_PRIVATE_H

#include <pawl/tx.h>

#include "db.h"
#include "owned_tx.h"
#include "output.h"

struct pawl_tx {
    pawl_store *store;
    pawli_foreign_tx *foreign; /* of a transaction that the application began, or NULL */
    pawli_owned_tx *owned;     /* of one that pawl began for `item` or a delivery */
    pawl_owner owner;
    pawl_receipt item;
    pawli_output output; /* of the item */
};

/* Runs an op inside the transaction. */
pawl_status pawli_tx_run(pawl_tx *tx, const pawli_op *op, pawl_error *err);

#endif
