/* tests/transport/peer.h - a receiver for the transport under test.
 *
 * PAWL_TEST_TRANSPORT names it: http, https, unix, pipe (a real server, libmicrohttpd), inproc, own
 * (a transport written here). The envelope's endpoint selects the peer's response:
 *
 *   ok          acknowledged; the payload is returned
 *   duplicate   the same, as a duplicate
 *   refuse      422, "never"
 *   busy        429, to come again in 7 seconds
 *   error       500, "later"
 *   block       nothing, until peer_release(); then as ok
 * and only by HTTP:
 *   STATUS      "404": that, with an error
 *   nonsense    200, but no acknowledgement
 *   date        503 with an HTTP date that is past
 *   cut         the connection ends within the response
 *   huge        a response without end; huge-404: the same as 404
 *   redirect    302 to where it would be acknowledged
 *   trace       acknowledged; the HTTP header traceparent is returned
 */
#ifndef PAWL_TEST_PEER_H
#define PAWL_TEST_PEER_H

#include <stdbool.h>

#include <pawl/net.h>
#include <pawl/sys/transport.h>

/* For PAWL_TEST_ON: http and https; https; every transport but `own`. */
bool test_on_tcp(void);
bool test_on_https(void);
bool test_on_built_in(void);

typedef struct test_peer test_peer;

/* Started now, stopped when the test ends. */
test_peer *peer_start(void);
const char *peer_url(const test_peer *peer);
/* For the service's ca_file; NULL: not https. */
const char *peer_ca_file(const test_peer *peer);
bool peer_is_http(const test_peer *peer);
bool peer_is_tcp(const test_peer *peer);
/* As many as it can block at once. */
int peer_max_blocked(const test_peer *peer);
int peer_blocked(test_peer *peer);
/* Readable when a request is blocked. */
int peer_blocked_fd(const test_peer *peer);
/* Those that are blocked, and those that will be. */
void peer_release(test_peer *peer);
int peer_requests(test_peer *peer);
int peer_connections(test_peer *peer);
/* To be given to pawl_transports_new(). */
const char *peer_pipe_directory(const test_peer *peer);
/* Registers its transport before sending; called once. */
void peer_register(test_peer *peer, pawl_transports *transports);

#endif
