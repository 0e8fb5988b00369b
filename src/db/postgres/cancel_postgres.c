/* src/db/postgres/cancel_postgres.c - asking the server to end the running statement. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn_postgres.h"
#include "platform.h"

/* An SSLRequest: every server and every bouncer answers it with one byte, whatever its settings. */
static const unsigned char question[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};

static bool cancel_ready(int fd, short events, pawl_mono deadline)
{
    struct pollfd one = {.fd = fd, .events = events};
    int count;

    do
        count = poll(&one, 1, pawli_mono_left_ms(deadline));
    while (count < 0 && errno == EINTR && !pawli_mono_passed(deadline));
    return count > 0;
}

static bool asks_and_hears(int fd, const struct sockaddr *address, socklen_t size,
                           pawl_mono deadline)
{
    char answer;

    if (connect(fd, address, size) != 0 && errno != EINPROGRESS)
        return false;
    return cancel_ready(fd, POLLOUT, deadline) &&
           send(fd, question, sizeof question, MSG_NOSIGNAL) == (ssize_t)sizeof question &&
           cancel_ready(fd, POLLIN, deadline) && recv(fd, &answer, 1, 0) == 1;
}

/*
 * PQcancel() opens a connection of its own and waits for its end without a limit: a server that
 * hangs, or a network that is gone, would make the call endless. So first see that it answers.
 */
static bool server_answers(PGconn *pg, pawl_mono deadline)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr *address = (struct sockaddr *)&storage;
    socklen_t size = sizeof storage;

    if (getpeername(PQsocket(pg), address, &size) != 0)
        return false;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool answers = asks_and_hears(fd, address, size, deadline);
    close(fd);
    return answers;
}

void pawli_postgres_cancel(pawli_postgres *conn, pawl_mono deadline)
{
    char problem[256];
    PGcancel *request = server_answers(conn->pg, deadline) ? PQgetCancel(conn->pg) : NULL;

    /* If it fails, the statement ends by itself or the grace period ends the connection. */
    if (request)
        (void)PQcancel(request, problem, sizeof problem);
    PQfreeCancel(request);
}
