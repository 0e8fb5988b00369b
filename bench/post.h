/* bench/post.h - libcurl posts to libmicrohttpd: what the network alone costs, without a database.
 */
#ifndef BENCH_POST_H
#define BENCH_POST_H

#include <stdbool.h>

typedef struct post post;

/* A server, and a client with so many requests in flight at once, on connections that are kept. */
post *post_open(bool over_unix, int in_flight);
void post_close(post *self); /* NULL is fine */
/* A round of a contestant, which is the context: answered requests per second. */
double post_round(void *context, double duration);

#endif
