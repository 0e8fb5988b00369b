/* tests/cut/proxy.c - the proxy's thread, and the commands of a test. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proxy_private.h"
#include "test.h"

#define PORT "5432"
#define SESSIONS_MAX 256

static int unix_socket(const char *path, bool listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (listening ? SOCK_NONBLOCK : 0), 0);
    bool good;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (listening) {
        unlink(path);
        good = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0;
    } else {
        good = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    }
    if (good)
        return fd;
    close(fd);
    return -1;
}

/* A server that cannot be reached hangs up at once. */
static void let_in(proxy *p)
{
    int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = client < 0 ? -1 : unix_socket(p->server_path, false);

    if (server < 0) {
        if (client >= 0)
            close(client);
        return;
    }
    session *s = session_new(client, server);
    s->next = p->sessions;
    p->sessions = s;
}

static void bury(proxy *p)
{
    for (session **at = &p->sessions; *at;) {
        session *s = *at;
        if (s->over) {
            *at = s->next;
            session_free(s);
        } else {
            at = &s->next;
        }
    }
}

/* Collects the descriptors to poll; returns their number. The two of a session are adjacent, in
 * list order. */
static nfds_t gather(const proxy *p, struct pollfd *fds)
{
    nfds_t count = 0;

    fds[count++] = (struct pollfd){.fd = p->wake, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = p->hanging ? -1 : p->listener, .events = POLLIN};
    for (const session *s = p->sessions; s && count + 2 <= 2 + 2 * SESSIONS_MAX; s = s->next) {
        const stream *up = &s->ways[PROXY_TO_SERVER], *down = &s->ways[PROXY_TO_CLIENT];
        bool quiet = s->silent || p->hanging;
        short client = (short)((up->out.size == 0 ? POLLIN : 0) | (down->out.size ? POLLOUT : 0));
        short server = (short)((down->out.size == 0 ? POLLIN : 0) | (up->out.size ? POLLOUT : 0));
        fds[count++] = (struct pollfd){.fd = quiet ? -1 : s->client, .events = client};
        fds[count++] = (struct pollfd){.fd = quiet ? -1 : s->server, .events = server};
    }
    return count;
}

static void serve(proxy *p, session *s, short client, short server)
{
    if (client & POLLOUT)
        session_send(s, PROXY_TO_CLIENT);
    if (server & POLLOUT)
        session_send(s, PROXY_TO_SERVER);
    if (!s->over && (client & (POLLIN | POLLHUP | POLLERR)))
        session_receive(p, s, PROXY_TO_SERVER);
    if (!s->over && !s->silent && !p->hanging && (server & (POLLIN | POLLHUP | POLLERR)))
        session_receive(p, s, PROXY_TO_CLIENT);
}

static void open_or_close(proxy *p)
{
    if (p->refusing && p->listener >= 0) {
        close(p->listener);
        p->listener = -1;
    } else if (!p->refusing && p->listener < 0) {
        p->listener = unix_socket(p->own_path, true);
    }
}

static void *run_proxy(void *argument)
{
    proxy *p = argument;
    struct pollfd fds[2 + 2 * SESSIONS_MAX];
    eventfd_t ignored;

    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        nfds_t count = gather(p, fds);
        pthread_mutex_unlock(&p->lock);
        (void)poll(fds, count, -1);
        pthread_mutex_lock(&p->lock);
        if (fds[0].revents)
            (void)eventfd_read(p->wake, &ignored);
        nfds_t i = 2;
        for (session *s = p->sessions; s && i + 2 <= count; s = s->next, i += 2)
            serve(p, s, fds[i].revents, fds[i + 1].revents);
        bury(p);
        if (fds[1].revents && !p->refusing && !p->hanging)
            let_in(p);
        open_or_close(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void wake(proxy *p)
{
    (void)eventfd_write(p->wake, 1);
}

static void end_proxy(void *argument)
{
    proxy *p = argument;

    pthread_mutex_lock(&p->lock);
    p->ending = true;
    wake(p);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    for (session *s = p->sessions; s; s = s->next)
        s->over = true;
    bury(p);
    if (p->listener >= 0)
        close(p->listener);
    close(p->wake);
    pthread_cond_destroy(&p->carried_out);
    pthread_mutex_destroy(&p->lock);
    free(p->target);
    free(p->server_path);
    free(p->own_path);
    free(p);
}

/* The words of a conninfo string: the server's socket, and all the others for the proxy's own. */
static void read_target(proxy *p, const char *server)
{
    char host[108] = "", port[16] = PORT;
    const char *rest = "";

    for (const char *at = server; *at; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");
        if (strncmp(at, "host=", 5) == 0)
            snprintf(host, sizeof host, "%.*s", length - 5, at + 5);
        else if (strncmp(at, "port=", 5) == 0)
            snprintf(port, sizeof port, "%.*s", length - 5, at + 5);
        else
            rest = test_note("%s %.*s", rest, length, at);
        at += length;
    }
    if (host[0] != '/')
        test_fail("the proxy needs a server on a unix socket, not \"%s\"", host);
    p->server_path = strdup(test_note("%s/.s.PGSQL.%s", host, port));
    p->own_path = strdup(test_note("%s/.s.PGSQL." PORT, p->directory));
    p->target = strdup(test_note("host=%s port=" PORT "%s", p->directory, rest));
}

proxy *proxy_new(const char *server)
{
    proxy *p = calloc(1, sizeof *p);
    sigset_t all, before;

    if (!p)
        test_fail("out of memory");
    p->directory = test_directory();
    read_target(p, server);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->carried_out, NULL);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->listener = unix_socket(p->own_path, true);
    if (p->wake < 0 || p->listener < 0)
        test_fail("the proxy cannot listen on %s: %s", p->own_path, strerror(errno));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&p->thread, NULL, run_proxy, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        test_fail("the proxy has no thread: %s", strerror(failed));
    test_defer(end_proxy, p);
    return p;
}

const char *proxy_target(const proxy *p)
{
    return p->target;
}

void proxy_plan_next(proxy *p, const proxy_plan *plan)
{
    pthread_mutex_lock(&p->lock);
    p->plan = *plan;
    p->report = (proxy_report){0};
    p->counts[0] = p->counts[1] = 0;
    pthread_mutex_unlock(&p->lock);
}

proxy_report proxy_reported(proxy *p)
{
    pthread_mutex_lock(&p->lock);
    proxy_report report = p->report;
    pthread_mutex_unlock(&p->lock);
    return report;
}

long proxy_count(proxy *p, proxy_way way)
{
    pthread_mutex_lock(&p->lock);
    long count = p->counts[way];
    pthread_mutex_unlock(&p->lock);
    return count;
}

bool proxy_await(proxy *p, int timeout_ms)
{
    struct timespec until;
    int late = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000 + 1;
    pthread_mutex_lock(&p->lock);
    while (!p->report.happened && !late)
        late = pthread_cond_timedwait(&p->carried_out, &p->lock, &until);
    bool happened = p->report.happened;
    pthread_mutex_unlock(&p->lock);
    return happened;
}

void proxy_go_on(proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->hanging = false;
    p->plan.deed = PROXY_NOTHING;
    for (session *s = p->sessions; s; s = s->next) {
        bool was_silent = s->silent;
        s->silent = false;
        for (int way = 0; was_silent && way < 2; way++)
            session_pass_on(p, s, (proxy_way)way);
    }
    wake(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_refuse(proxy *p, bool refuse)
{
    pthread_mutex_lock(&p->lock);
    p->refusing = refuse;
    open_or_close(p);
    wake(p);
    pthread_mutex_unlock(&p->lock);
}
