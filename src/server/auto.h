/* src/server/auto.h - automatic cleanup of public objects at the end of a scope. */
#ifndef PAWLI_SERVER_AUTO_H
#define PAWLI_SERVER_AUTO_H

#include <pawl/inbox.h>
#include <pawl/services.h>

#include "scope.h"
#include "ack.h"

PAWLI_AUTO_DEFINE(pawli_ack, pawli_ack_free);
PAWLI_AUTO_DEFINE(pawl_inbox_task, pawl_inbox_task_free);
PAWLI_AUTO_DEFINE(pawl_services, pawl_services_unref);

#endif
