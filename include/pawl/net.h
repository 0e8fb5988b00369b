/* include/pawl/net.h - includes all headers of libpawl-net: messaging between services. */
#ifndef PAWL_NET_H
#define PAWL_NET_H

#include <pawl/delivery.h>
#include <pawl/envelope.h>
#include <pawl/pawl.h>
#include <pawl/receiver.h>
#include <pawl/services.h>
#include <pawl/transport.h>

#endif
