/* tests/receiver/receiver_client.c - clients that speak HTTP byte by byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "receiver_fixture.h"

#define PATIENCE_S 60 /* only ends a test that has already failed */

static void close_fd(void *context)
{
    close((int)(intptr_t)context);
}

static int keep_fd(int fd)
{
    struct timeval patience = {PATIENCE_S, 0};

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    test_defer(close_fd, (void *)(intptr_t)fd);
    return fd;
}

void client_close(int fd)
{
    test_defer_cancel((void *)(intptr_t)fd);
    close(fd);
}

int client_connect_from(const receiver_fixture *s, const char *own_address)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    int fd = keep_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

    inet_pton(AF_INET, own_address, &own.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        test_fail("cannot connect to port %d: %s", s->port, strerror(errno));
    return fd;
}

int client_connect(const receiver_fixture *s)
{
    return client_connect_from(s, "127.0.0.1");
}

int client_connect_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = keep_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

    memcpy(to.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        test_fail("cannot connect to %s: %s", path, strerror(errno));
    return fd;
}

void client_send(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the other side has closed: what it said before is what counts */
        bytes += sent;
        size -= (size_t)sent;
    }
}

void client_say(int fd, const char *text)
{
    client_send(fd, text, strlen(text));
}

/* One byte; false: the end. A reset is an end, too. */
static bool read_byte(int fd, char *ret_byte)
{
    ssize_t got = recv(fd, ret_byte, 1, 0);

    if (got < 0 && errno != ECONNRESET)
        test_fail("no answer in %d s: %s", PATIENCE_S, strerror(errno));
    return got == 1;
}

static bool read_head(int fd, reply *r)
{
    size_t used = 0;

    while (used + 1 < sizeof r->head) {
        if (!read_byte(fd, &r->head[used]))
            return used == 0 ? false : (test_fail("half an answer: %s", r->head), false);
        used++;
        if (used >= 4 && memcmp(r->head + used - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    test_fail("the answer's head is too long");
}

reply *client_read(int fd)
{
    reply *r = calloc(1, sizeof *r);
    const char *length;

    assert_non_null(r);
    test_defer(free, r);
    if (!read_head(fd, r))
        return r;
    if (strncmp(r->head, "HTTP/1.", 7) != 0)
        test_fail("not an answer: %s", r->head);
    r->status = (int)strtol(r->head + 9, NULL, 10);
    length = reply_header(r, "Content-Length");
    size_t size = length ? strtoul(length, NULL, 10) : 0;
    assert_true(size < sizeof r->body);
    for (size_t i = 0; i < size; i++)
        if (!read_byte(fd, &r->body[i]))
            test_fail("half an answer's body");
    return r;
}

const char *client_read_all(int fd)
{
    char all[8192] = "";
    size_t used = 0;

    while (used + 1 < sizeof all && read_byte(fd, &all[used]))
        used++;
    return test_note("%s", all);
}

void client_expect_end(int fd)
{
    const char *more = client_read_all(fd);

    if (*more)
        test_fail("there is more on the connection: %s", more);
}

const char *reply_header(const reply *r, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(r->head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;
        if (strncasecmp(at, name, length) == 0 && at[length] == ':') {
            at += length + 1;
            at += strspn(at, " ");
            return test_note("%.*s", (int)strcspn(at, "\r"), at);
        }
    }
    return NULL;
}

void post_begin(int fd, const char *body)
{
    client_say(fd, test_note("POST /_rf/receive HTTP/1.1\r\nHost: x\r\n"
                             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                             strlen(body)));
    client_say(fd, body);
}

reply *post(receiver_fixture *s, const char *body)
{
    int fd = client_connect(s);
    reply *r;

    post_begin(fd, body);
    r = client_read(fd);
    client_close(fd);
    return r;
}

reply *deliver(receiver_fixture *s, const sample *what)
{
    return post(s, sample_text(s, what));
}

reply *get(receiver_fixture *s, const char *path)
{
    int fd = client_connect(s);
    reply *r;

    client_say(fd, test_note("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path));
    r = client_read(fd);
    client_close(fd);
    return r;
}
