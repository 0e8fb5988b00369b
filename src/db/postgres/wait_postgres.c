/* src/db/postgres/wait_postgres.c - waiting for the server: deadlines, interruption, cancelling. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "conn_postgres.h"
#include "fail.h"
#include "world.h"

/* How long a cancelled statement may take to say so before the connection is given up. */
#define CANCEL_GRACE_US INT64_C(2000000)

pawli_postgres_wait pawli_postgres_wait_for(pawli_postgres *conn, short events, pawl_mono deadline)
{
    /* While a cancelled statement ends or a rollback runs, nothing hurries it any more. */
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
            return PAWLI_POSTGRES_READY; /* let libpq find out what is wrong with the socket */
        if (ready > 0 && !atomic_load(&conn->base.stop))
            (void)eventfd_read(conn->base.stop_fd, &count); /* left over from an earlier call */
        if (pawli_mono_passed(deadline))
            return PAWLI_POSTGRES_LATE;
    }
}

/*
 * Whether the server does not even acknowledge what was sent. PQcancel() opens a connection of its
 * own and waits for it, which on a dead network would take until tcp_user_timeout.
 */
static bool network_is_dead(PGconn *pg)
{
    struct tcp_info info;
    socklen_t size = sizeof info;

    return getsockopt(PQsocket(pg), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_unacked > 0 && info.tcpi_retransmits > 1;
}

static void cancel(pawli_postgres *conn)
{
    char problem[256];
    PGcancel *request = network_is_dead(conn->pg) ? NULL : PQgetCancel(conn->pg);

    /* If it fails, the statement ends by itself or the grace period ends the connection. */
    if (request)
        (void)PQcancel(request, problem, sizeof problem);
    PQfreeCancel(request);
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
        switch (pawli_postgres_wait_for(conn, events, *deadline)) {
        case PAWLI_POSTGRES_READY:
            (void)PQconsumeInput(conn->pg); /* a failure shows in PQgetResult */
            continue;
        case PAWLI_POSTGRES_LATE:
            if (conn->stopped != PAWL_OK) {
                conn->base.broken = true;
                return false;
            }
            conn->stopped = PAWL_E_TIMEOUT;
            break;
        case PAWLI_POSTGRES_STOPPED:
            conn->stopped = PAWL_E_INTERRUPTED;
            break;
        }
        cancel(conn);
        *deadline = pawli_mono_after(pawli_mono_now(), CANCEL_GRACE_US);
    }
}

pawl_status pawli_postgres_wait_check(pawli_postgres *conn, pawl_mono deadline, pawl_error *err)
{
    conn->stopped = PAWL_OK;
    if (atomic_load(&conn->base.stop) && !conn->undoing)
        return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted before the database was asked");
    if (pawli_mono_passed(deadline))
        return pawli_fail(err, PAWL_E_TIMEOUT, "the time was up before the database was asked");
    return PAWL_OK;
}

void pawli_postgres_interrupt(pawli_conn *base)
{
    atomic_store(&base->stop, true);
    if (base->stop_fd >= 0)
        (void)eventfd_write(base->stop_fd, 1); /* fails only when it is readable already */
}
