/* src/db/postgres/exchange_postgres.c - sending to the server, waiting for it, cancelling. */
#include "conn_postgres.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "platform.h"

/* ---- a command and its complete response ---- */

static bool is_success(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

/*
 * The response is complete only when PQgetResult() returns NULL, after "ready for query". Until
 * then an error can still follow, even one of the commit.
 */
pawl_status pawli_postgres_collect(pawli_postgres *conn, pawli_postgres_outcome stake,
                                   pawl_mono deadline, const char *what, PGresult **ret_result,
                                   pawl_error *err)
{
    PAWLI_AUTO(PGresult) kept = NULL;
    PGresult *result;

    while (true) {
        if (!pawli_postgres_next(conn, &deadline, &result))
            return pawli_postgres_silent(conn, stake, what, err);
        if (!result)
            break;
        if (kept && !is_success(kept)) {
            PQclear(result); /* the first failure is the one to report */
        } else {
            PQclear(kept);
            kept = result;
        }
    }
    if (!kept || !is_success(kept) || PQstatus(conn->pg) != CONNECTION_OK)
        return pawli_postgres_fail(conn, kept, stake, what, err);
    if (ret_result)
        *ret_result = PGresult_take(&kept);
    return PAWL_OK;
}

pawl_status pawli_postgres_command(pawli_postgres *conn, const char *sql,
                                   pawli_postgres_outcome stake, pawl_mono deadline,
                                   const char *what, PGresult **ret_result, pawl_error *err)
{
    pawl_status st = pawli_postgres_wait_check(conn, deadline, err);

    if (st != PAWL_OK)
        return st;
    if (!PQsendQuery(conn->pg, sql))
        return pawli_postgres_unsent(conn, what, err);
    return pawli_postgres_collect(conn, stake, deadline, what, ret_result, err);
}

/* ---- waiting for the server: deadlines and interruption ---- */

/* How long a cancelled statement may take to end before the connection is closed. */
#define CANCEL_GRACE_US INT64_C(2000000)
/* A cancel request that overtakes its statement has no effect, so it is repeated. */
#define CANCEL_AGAIN_US INT64_C(100000)

pawli_postgres_wait pawli_postgres_wait_for(pawli_postgres *conn, short events, pawl_mono deadline)
{
    /* A statement that is being cancelled and a running rollback are not interrupted. */
    bool may_stop = conn->stopped == PAWL_OK && !conn->undoing;
    eventfd_t count;
    struct pollfd fds[2] = {{.fd = PQsocket(conn->pg), .events = events},
                            {.fd = may_stop ? conn->base.stop_fd : -1, .events = POLLIN}};

    while (true) {
        if (may_stop && atomic_load(&conn->base.stop))
            return PAWLI_POSTGRES_STOPPED;
        int ready = poll(fds, 2, pawli_mono_left_ms(deadline));
        if (ready > 0 && fds[0].revents)
            return PAWLI_POSTGRES_READY;
        if (ready < 0 && errno != EINTR)
            return PAWLI_POSTGRES_READY; /* let libpq determine the error */
        if (ready > 0 && !atomic_load(&conn->base.stop))
            (void)eventfd_read(conn->base.stop_fd, &count); /* left over from an earlier call */
        if (pawli_mono_passed(deadline))
            return PAWLI_POSTGRES_LATE;
    }
}

/* The deadline for the next data from the server. */
static pawl_mono wait_deadline(const pawli_postgres *conn, pawl_mono deadline)
{
    pawl_mono again = pawli_mono_after(pawli_mono_now(), CANCEL_AGAIN_US);

    return conn->stopped != PAWL_OK && again.us < deadline.us ? again : deadline;
}

static void wait_stop(pawli_postgres *conn, pawl_status why, pawl_mono *deadline)
{
    if (conn->stopped == PAWL_OK) {
        conn->stopped = why;
        *deadline = pawli_mono_after(pawli_mono_now(), CANCEL_GRACE_US);
    }
    pawli_postgres_cancel(conn, *deadline);
}

bool pawli_postgres_next(pawli_postgres *conn, pawl_mono *deadline, PGresult **ret_result)
{
    while (true) {
        int unsent = PQflush(conn->pg); /* a failure shows in PQgetResult */
        if (unsent <= 0 && !PQisBusy(conn->pg)) {
            *ret_result = PQgetResult(conn->pg);
            return true;
        }
        short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
        switch (pawli_postgres_wait_for(conn, events, wait_deadline(conn, *deadline))) {
        case PAWLI_POSTGRES_READY:
            (void)PQconsumeInput(conn->pg); /* a failure shows in PQgetResult */
            break;
        case PAWLI_POSTGRES_LATE:
            if (conn->stopped != PAWL_OK && pawli_mono_passed(*deadline)) {
                conn->base.broken = true;
                return false;
            }
            wait_stop(conn, PAWL_E_TIMEOUT, deadline);
            break;
        case PAWLI_POSTGRES_STOPPED:
            wait_stop(conn, PAWL_E_INTERRUPTED, deadline);
            break;
        }
    }
}

pawl_status pawli_postgres_wait_check(pawli_postgres *conn, pawl_mono deadline, pawl_error *err)
{
    conn->stopped = PAWL_OK;
    if (atomic_load(&conn->base.stop) && !conn->undoing)
        return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted before the statement was sent");
    if (pawli_mono_passed(deadline))
        return pawli_fail(err, PAWL_E_TIMEOUT, "the deadline passed before the statement was sent");
    return PAWL_OK;
}

void pawli_postgres_interrupt(pawli_conn *base)
{
    atomic_store(&base->stop, true);
    if (base->stop_fd >= 0)
        (void)eventfd_write(base->stop_fd, 1); /* fails only if it is already readable */
}

/* ---- asking the server to cancel the running statement ---- */

/* An SSLRequest: every server and every pooler answers it with one byte, whatever its settings. */
static const unsigned char ssl_request[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};

static bool cancel_ready(int fd, short events, pawl_mono deadline)
{
    struct pollfd one = {.fd = fd, .events = events};
    int count;

    do
        count = poll(&one, 1, pawli_mono_left_ms(deadline));
    while (count < 0 && errno == EINTR && !pawli_mono_passed(deadline));
    return count > 0;
}

static bool probe_server(int fd, const struct sockaddr *address, socklen_t size, pawl_mono deadline)
{
    char response;

    if (connect(fd, address, size) != 0 && errno != EINPROGRESS)
        return false;
    return cancel_ready(fd, POLLOUT, deadline) &&
           send(fd, ssl_request, sizeof ssl_request, MSG_NOSIGNAL) == (ssize_t)sizeof ssl_request &&
           cancel_ready(fd, POLLIN, deadline) && recv(fd, &response, 1, 0) == 1;
}

/*
 * PQcancel() opens a connection of its own and waits for its end without a limit. A server that
 * hangs, or a lost network, would make the call endless, so first check that the server responds.
 */
static bool server_responds(PGconn *pg, pawl_mono deadline)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr *address = (struct sockaddr *)&storage;
    socklen_t size = sizeof storage;

    if (getpeername(PQsocket(pg), address, &size) != 0)
        return false;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool responds = probe_server(fd, address, size, deadline);
    close(fd);
    return responds;
}

void pawli_postgres_cancel(pawli_postgres *conn, pawl_mono deadline)
{
    char problem[256];
    PGcancel *request = server_responds(conn->pg, deadline) ? PQgetCancel(conn->pg) : NULL;

    /* If it fails, the statement ends by itself or the grace period ends the connection. */
    if (request)
        (void)PQcancel(request, problem, sizeof problem);
    PQfreeCancel(request);
}
