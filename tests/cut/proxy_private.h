/* tests/cut/proxy_private.h - declarations shared by proxy.c and proxy_session.c. */
#ifndef PAWL_CUT_PROXY_PRIVATE_H
#define PAWL_CUT_PROXY_PRIVATE_H

#include <pthread.h>
#include <stddef.h>

#include "proxy.h"

typedef struct bytes {
    unsigned char *data;
    size_t size;
    size_t room;
} bytes;

/* One direction of a session. */
typedef struct stream {
    int from, to;
    bytes in;  /* received, not yet a whole message */
    bytes out; /* to be sent */
} stream;

typedef struct session {
    int client, server;
    stream ways[2]; /* by proxy_way */
    bool begun;     /* the client's first message has passed */
    bool raw;       /* not a session at all: a request to cancel, or a question about TLS */
    bool asked;
    bool silent;
    bool over;
    int backend;
    struct session *next;
} session;

struct proxy {
    const char *directory; /* the test's */
    char *target;
    char *server_path;
    char *own_path;
    pthread_t thread;
    int wake;             /* eventfd: read the commands again */
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t carried_out;
    proxy_plan plan;
    proxy_report report;
    long counts[2];
    bool hanging;
    bool refusing;
    bool ending;
    int listener; /* -1 while refusing */
    session *sessions;
};

/* proxy_session.c. All of them with the lock held, which makes a result and its counting one step.
 */
session *session_new(int client, int server);
void session_free(session *s);
/* Take what `way` has received and pass its whole messages on, as the plan wants it. */
void session_receive(proxy *p, session *s, proxy_way way);
/* Continue with what is left over from before. */
void session_pass_on(proxy *p, session *s, proxy_way way);
/* Send what waits for the receiver. */
void session_send(session *s, proxy_way way);

#endif
