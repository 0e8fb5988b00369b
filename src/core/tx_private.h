/* src/core/tx_private.h - the insides of pawl_tx. */
#ifndef PAWLI_TX_PRIVATE_H
#define PAWLI_TX_PRIVATE_H

#include <pawl/tx.h>

#include "db.h"

struct pawl_tx {
    pawl_store *store;
    pawli_wrap *wrap;
};

#endif
