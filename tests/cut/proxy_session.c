/* tests/cut/proxy_session.c - one connection through the proxy, message by message. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy_private.h"

#define PIECE 65536
#define FIRST_LENGTH_BYTES 4
#define CODE_CANCEL 80877102u
#define CODE_TLS 80877103u
#define CODE_GSS 80877104u

static void append_bytes(bytes *b, const unsigned char *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size);
        b->data = realloc(b->data, b->room);
        if (!b->data)
            abort();
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void drop_front(bytes *b, size_t size)
{
    memmove(b->data, b->data + size, b->size - size);
    b->size -= size;
}

static unsigned number_at(const unsigned char *data)
{
    return (unsigned)data[0] << 24 | (unsigned)data[1] << 16 | (unsigned)data[2] << 8 | data[3];
}

session *session_new(int client, int server)
{
    session *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->client = client;
    s->server = server;
    s->ways[PROXY_TO_SERVER] = (stream){.from = client, .to = server};
    s->ways[PROXY_TO_CLIENT] = (stream){.from = server, .to = client};
    return s;
}

void session_free(session *s)
{
    close(s->client);
    close(s->server);
    for (int way = 0; way < 2; way++) {
        free(s->ways[way].in.data);
        free(s->ways[way].out.data);
    }
    free(s);
}

void session_send(session *s, proxy_way way)
{
    stream *w = &s->ways[way];

    while (w->out.size > 0) {
        ssize_t sent = send(w->to, w->out.data, w->out.size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            s->over = s->over || (errno != EAGAIN && errno != EWOULDBLOCK);
            return;
        }
        drop_front(&w->out, (size_t)sent);
    }
}

/* Data sent before the cut has arrived. */
static void send_all(session *s)
{
    for (int way = 0; way < 2; way++) {
        struct pollfd receiver = {.fd = s->ways[way].to, .events = POLLOUT};
        while (s->ways[way].out.size > 0 && !s->over && poll(&receiver, 1, 1000) > 0)
            session_send(s, (proxy_way)way);
    }
}

/* The whole message at the beginning of what was received; 0: there is none yet. */
static size_t message_size(const session *s, proxy_way way)
{
    const bytes *in = &s->ways[way].in;
    bool first = way == PROXY_TO_SERVER && !s->begun;
    size_t type_bytes = first ? 0 : 1;

    if (in->size < type_bytes + FIRST_LENGTH_BYTES)
        return 0;
    size_t size = type_bytes + number_at(in->data + type_bytes);
    return in->size >= size ? size : 0;
}

static bool is_raw_request(const bytes *first)
{
    unsigned code = first->size >= 8 ? number_at(first->data + 4) : 0;

    return code == CODE_CANCEL || code == CODE_TLS || code == CODE_GSS;
}

/* Learn from a message that is about to be passed on. */
static void note_message(session *s, proxy_way way)
{
    const unsigned char *data = s->ways[way].in.data;

    if (way == PROXY_TO_SERVER && !s->begun)
        s->begun = true;
    else if (way == PROXY_TO_SERVER)
        s->asked = true;
    else if (data[0] == 'K')
        s->backend = (int)number_at(data + 5);
    else if (data[0] == 'Z')
        s->asked = false;
}

static void report_deed(proxy *p, const session *s, char type)
{
    p->report = (proxy_report){true, type, s->asked, s->backend};
    if (p->plan.then_refuse)
        p->refusing = true;
    pthread_cond_broadcast(&p->carried_out);
}

/* True: the message may not be passed on (any more). */
static bool carry_out_before(proxy *p, session *s, proxy_way way)
{
    bool first = way == PROXY_TO_SERVER && !s->begun;
    char type = first ? 0 : (char)s->ways[way].in.data[0];

    p->counts[way]++;
    if (p->report.happened || p->plan.way != way || p->counts[way] != p->plan.at)
        return false;
    if (p->plan.deed == PROXY_NOTHING || p->plan.deed == PROXY_CUT_AFTER)
        return false;
    s->asked = s->asked || (way == PROXY_TO_SERVER && !first);
    report_deed(p, s, type);
    if (p->plan.deed == PROXY_CUT_BEFORE) {
        send_all(s);
        s->over = true;
        return true;
    }
    p->counts[way]--; /* it is counted when it passes */
    s->silent = true;
    p->hanging = p->plan.deed == PROXY_HANG;
    return true;
}

static void carry_out_after(proxy *p, session *s, proxy_way way, char type)
{
    if (p->report.happened || p->plan.way != way || p->counts[way] != p->plan.at ||
        p->plan.deed != PROXY_CUT_AFTER)
        return;
    report_deed(p, s, type);
    send_all(s);
    s->over = true;
}

void session_pass_on(proxy *p, session *s, proxy_way way)
{
    stream *w = &s->ways[way];
    size_t size;

    while (!s->raw && !s->over && !s->silent && (size = message_size(s, way)) > 0) {
        bool first = way == PROXY_TO_SERVER && !s->begun;
        char type = first ? 0 : (char)w->in.data[0];
        if (first && is_raw_request(&w->in)) {
            s->raw = true;
            break;
        }
        if (carry_out_before(p, s, way))
            return;
        note_message(s, way);
        append_bytes(&w->out, w->in.data, size);
        drop_front(&w->in, size);
        carry_out_after(p, s, way, type);
    }
    if (s->raw) {
        append_bytes(&w->out, w->in.data, w->in.size);
        w->in.size = 0;
    }
    if (!s->over)
        session_send(s, way);
}

void session_receive(proxy *p, session *s, proxy_way way)
{
    unsigned char piece[PIECE];
    ssize_t size = recv(s->ways[way].from, piece, sizeof piece, MSG_DONTWAIT);

    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (size <= 0) {
        send_all(s);
        s->over = true;
        return;
    }
    append_bytes(&s->ways[way].in, piece, (size_t)size);
    session_pass_on(p, s, way);
}
