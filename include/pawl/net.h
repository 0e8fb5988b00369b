/* include/pawl/net.h - everything libpawl-net offers: speaking with other services. */
#ifndef PAWL_NET_H
#define PAWL_NET_H

#include <pawl/ack.h>
#include <pawl/delivery.h>
#include <pawl/envelope.h>
#include <pawl/pawl.h>
#include <pawl/receiver.h>
#include <pawl/services.h>
#include <pawl/signature.h>
#include <pawl/transport.h>

#endif
