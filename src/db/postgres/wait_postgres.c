/* src/db/postgres/wait_postgres.c - waiting for the server: deadlines and interruption. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "conn_postgres.h"
#include "fail.h"
#include "platform.h"

/* How long a cancelled statement may take to say so before the connection is given up. */
#define CANCEL_GRACE_US INT64_C(2000000)
/* A request to cancel that overtakes its statement has no effect, so it is made again. */
#define CANCEL_AGAIN_US INT64_C(100000)

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

/* Until when to wait for the next sign of the server. */
static pawl_mono wait_next_look(const pawli_postgres *conn, pawl_mono deadline)
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
        switch (pawli_postgres_wait_for(conn, events, wait_next_look(conn, *deadline))) {
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
