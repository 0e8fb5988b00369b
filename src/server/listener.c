/* src/server/listener.c - listeners: their sockets, and the memory of request bodies. */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"
#include "fail.h"
#include "receiver_private.h"
#include "scope.h"

/* ---- the listeners of a receiver ---- */

PAWLI_AUTO_DEFINE(pawli_listener, pawli_listener_free);

#define BACKLOG 4096
#define PEM_MAX ((size_t)1024 * 1024)

static pawl_status fail_errno(pawl_error *err, const char *what, const char *where)
{
    pawl_status status = errno == EACCES || errno == EPERM ? PAWL_E_DENIED : PAWL_E_IO;
    const char *next = errno == EADDRINUSE
                           ? "; stop the process that uses it, or choose another address"
                       : errno == EMFILE ? "; raise the limit of open files (ulimit -n)"
                                         : "";

    return pawli_fail_code(err, status, errno, "%s '%.100s': %s%s", what, where, strerror(errno),
                           next);
}

static pawli_listener *listener_new(pawl_receiver *receiver)
{
    pawli_listener *listener = calloc(1, sizeof *listener);

    if (!listener)
        return NULL;
    listener->receiver = receiver;
    listener->fd = -1;
    pawli_connections_init(&listener->connections);
    return listener;
}

/* Removes the file only if it is still the one created here. */
static void remove_socket_file(const pawli_listener *listener)
{
    struct stat now;

    if (stat(listener->unix_path, &now) == 0 && now.st_ino == listener->unix_inode)
        unlink(listener->unix_path);
}

void pawli_listener_free(pawli_listener *listener)
{
    if (!listener)
        return;
    if (listener->fd >= 0)
        close(listener->fd);
    if (listener->unix_path)
        remove_socket_file(listener);
    if (listener->tls_key)
        explicit_bzero(listener->tls_key, strlen(listener->tls_key));
    pawli_connections_destroy(&listener->connections);
    free(listener->unix_path);
    free(listener->tls_cert);
    free(listener->tls_key);
    free(listener);
}

/* ---- TLS ---- */

static pawl_status read_pem(const char *path, char **ret_text, pawl_error *err)
{
    PAWLI_AUTO_FREE char *text = calloc(1, PEM_MAX + 1);
    FILE *file = fopen(path, "re");
    size_t size;

    if (!file)
        return fail_errno(err, "cannot read", path);
    size = text ? fread(text, 1, PEM_MAX, file) : 0;
    fclose(file);
    if (!text)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for '%.100s'", path);
    if (size == 0 || size == PEM_MAX || !strstr(text, "-----BEGIN "))
        return pawli_fail(err, PAWL_E_INVALID, "'%.100s' is not a PEM file", path);
    *ret_text = strdup(text);
    explicit_bzero(text, size);
    return *ret_text ? PAWL_OK : pawli_fail(err, PAWL_E_NOMEM, "out of memory for '%.100s'", path);
}

static pawl_status read_tls(pawli_listener *listener, const char *cert, const char *key,
                            pawl_error *err)
{
    pawl_status st;

    if (!cert && !key)
        return PAWL_OK;
    if (!cert || !key)
        return pawli_fail(err, PAWL_E_INVALID, "tls_cert and tls_key must be set together");
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "libmicrohttpd was built without TLS");
    st = read_pem(cert, &listener->tls_cert, err);
    return st == PAWL_OK ? read_pem(key, &listener->tls_key, err) : st;
}

/* ---- sockets ---- */

static pawl_status open_tcp(pawli_listener *listener, const char *text, int *ret_port,
                            pawl_error *err)
{
    pawli_address address = {.size = 0};
    struct sockaddr_in6 bound = {.sin6_port = 0}; /* the port has the same offset in both structs */
    socklen_t size = sizeof bound;
    int on = 1;
    pawl_status st = pawli_address_parse(text, &address, err);

    if (st != PAWL_OK)
        return st;
    listener->fd = socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail_errno(err, "cannot create a socket for", text);
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.socket.ss_family == AF_INET6)
        setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(listener->fd, (struct sockaddr *)&address.socket, address.size) != 0 ||
        listen(listener->fd, BACKLOG) != 0 ||
        getsockname(listener->fd, (struct sockaddr *)&bound, &size) != 0)
        return fail_errno(err, "cannot listen on", text);
    if (ret_port)
        *ret_port = ntohs(bound.sin6_port);
    listener->is_local = address.is_loopback;
    return PAWL_OK;
}

pawl_status pawl_address_try(const char *address, pawl_error *err)
{
    PAWLI_AUTO(pawli_listener) listener = NULL;

    if (!address)
        return pawli_fail(err, PAWL_E_INVALID, "address must not be NULL");
    listener = listener_new(NULL);
    if (!listener)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a socket");
    return open_tcp(listener, address, NULL, err);
}

/* A socket file without a listener was left behind by a process that died: it may be removed. */
static pawl_status clear_path(const struct sockaddr_un *address, pawl_error *err)
{
    struct stat there;
    int fd;
    int response;

    if (lstat(address->sun_path, &there) != 0)
        return errno == ENOENT ? PAWL_OK : fail_errno(err, "cannot stat", address->sun_path);
    if (!S_ISSOCK(there.st_mode))
        return pawli_fail(err, PAWL_E_INVALID,
                          "'%s' exists and is not a socket: choose another path",
                          address->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail_errno(err, "cannot create a socket for", address->sun_path);
    response = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(fd);
    if (response != ECONNREFUSED)
        return pawli_fail(err, PAWL_E_IO,
                          "another process is listening on '%s': stop it, or choose another path",
                          address->sun_path);
    if (unlink(address->sun_path) != 0 && errno != ENOENT)
        return fail_errno(err, "cannot remove the abandoned", address->sun_path);
    return PAWL_OK;
}

static pawl_status open_unix(pawli_listener *listener, const char *path, pawl_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat made;
    pawl_status st;

    if (!*path || strlen(path) >= sizeof address.sun_path)
        return pawli_fail(err, PAWL_E_INVALID, "the path of a unix socket must have 1 to %zu bytes",
                          sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    st = clear_path(&address, err);
    if (st != PAWL_OK)
        return st;
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail_errno(err, "cannot create a socket for", path);
    /* No client can connect before listen(), so the file's mode is set in time. */
    if (bind(listener->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, 0660) != 0 || stat(path, &made) != 0 || listen(listener->fd, BACKLOG) != 0)
        return fail_errno(err, "cannot listen on", path);
    listener->unix_inode = made.st_ino;
    listener->is_local = true;
    listener->unix_path = strdup(path);
    if (!listener->unix_path)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the socket");
    return PAWL_OK;
}

/* ---- public functions ---- */

static pawl_status check_new(const pawl_receiver *receiver, const void *given, pawl_error *err)
{
    if (!receiver || !given)
        return pawli_fail(err, PAWL_E_INVALID, "receiver and address must not be NULL");
    if (atomic_load(&receiver->state) != PAWLI_RECEIVER_NEW)
        return pawli_fail(err, PAWL_E_MISUSE, "add listeners before pawl_receiver_start()");
    return PAWL_OK;
}

static void add_listener(pawl_receiver *receiver, pawli_listener **take_listener)
{
    (*take_listener)->next = receiver->listeners;
    receiver->listeners = pawli_listener_take(take_listener);
}

pawl_status pawl_receiver_listen(pawl_receiver *receiver, const char *address, const char *tls_cert,
                                 const char *tls_key, int *ret_port, pawl_error *err)
{
    PAWLI_AUTO(pawli_listener) listener = NULL;
    pawl_status st = check_new(receiver, address, err);

    if (st != PAWL_OK)
        return st;
    listener = listener_new(receiver);
    if (!listener)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the socket");
    st = read_tls(listener, tls_cert, tls_key, err);
    if (st == PAWL_OK)
        st = open_tcp(listener, address, ret_port, err);
    if (st == PAWL_OK)
        add_listener(receiver, &listener);
    return st;
}

pawl_status pawl_receiver_listen_unix(pawl_receiver *receiver, const char *path, pawl_error *err)
{
    PAWLI_AUTO(pawli_listener) listener = NULL;
    pawl_status st = check_new(receiver, path, err);

    if (st != PAWL_OK)
        return st;
    listener = listener_new(receiver);
    if (!listener)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the socket");
    st = open_unix(listener, path, err);
    if (st == PAWL_OK)
        add_listener(receiver, &listener);
    return st;
}

/* ---- the memory of request bodies, and which request is closed when it is full ---- */

/*
 * Any client may send a body, signed or not, so a few clients that send slowly could use all the
 * memory for as long as a request may take. Therefore, when the memory is full, the server
 * closes the request that has been arriving longest from the address whose requests use the most
 * memory.
 */
/* Returns the number of bytes freed; 0: no arriving request has any. */
static size_t shed_one(pawl_receiver *receiver)
{
    pawli_listener *fullest = NULL;
    size_t most = 0;

    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next) {
        size_t held = pawli_connections_most_bytes(&listener->connections);
        if (held > most) {
            most = held;
            fullest = listener;
        }
    }
    return fullest ? pawli_connections_shed(&fullest->connections) : 0;
}

bool pawli_body_reserve(pawli_listener *listener, pawli_connection *connection, size_t size)
{
    pawl_receiver *receiver = listener->receiver;
    size_t all;
    size_t freed;

    /* Adds to the total before the connection is charged, because closing a connection subtracts
     * its bytes from the total. */
    all = atomic_fetch_add(&receiver->body_bytes, size) + size;
    if (!pawli_connection_add_bytes(&listener->connections, connection, size)) {
        atomic_fetch_sub(&receiver->body_bytes, size);
        return false;
    }
    while (all > receiver->options.max_buffered_bytes) {
        freed = shed_one(receiver);
        if (freed == 0) {
            pawli_body_release(listener, connection);
            return false;
        }
        all = atomic_fetch_sub(&receiver->body_bytes, freed) - freed;
    }
    return pawli_connection_add_bytes(&listener->connections, connection,
                                      0); /* or this connection itself was closed */
}

void pawli_body_release(pawli_listener *listener, pawli_connection *connection)
{
    atomic_fetch_sub(&listener->receiver->body_bytes,
                     pawli_connection_drop_bytes(&listener->connections, connection));
}
