/* include/pawl/services.h - the service map: the URL and the connection settings of each service.
 *
 * Part of libpawl-net.
 */
#ifndef PAWL_SERVICES_H
#define PAWL_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/error.h>
#include <pawl/export.h>

PAWL_BEGIN_DECLS

#define PAWL_SERVICE_NAME_MAX 255 /* characters */

#define PAWL_SECRET_MIN 16 /* bytes */
#define PAWL_SECRET_MAX 4096
#define PAWL_SECRETS_MAX 16 /* per peer */

/*
 * Scheme 2 signs the version, the time, both ids, source, type, endpoint and the payload's hash,
 * each with its length. Scheme 1 signs messageId + sourceServiceId + endpoint + payload hash,
 * concatenated, and not the time, so it cannot reject old messages: for peers that support nothing
 * else.
 */
#define PAWL_SCHEME_1 1
#define PAWL_SCHEME_2 2

#define PAWL_REPLAY_WINDOW_MS 300000

/* One service. Everything is copied during the call. */
typedef struct pawl_service_options {
    size_t size;      /* set by PAWL_SERVICE_OPTIONS_INIT, never by hand */
    const char *name; /* required in a map: its sourceServiceId; no "://", no control characters */
    const char *url;  /* the URL at which it receives; NULL: it only sends */
    /* "file:..." and "env:...", read during the call: see pawl_secret_check(). The first signs,
     * all are accepted. 0: unsigned */
    const char *const *secrets;
    size_t secret_count;
    int scheme;                 /* PAWL_SCHEME_2; 1: scheme 1 is sent, and accepted besides 2 */
    int64_t connect_timeout_ms; /* 1 .. 600000, and not longer than timeout_ms */
    int64_t timeout_ms;         /* of one send, from its start to the last byte of the response */
    int concurrency;            /* maximum sends in flight: 1 .. 10000 */
    pawl_backoff backoff;       /* between attempts, for messages without a policy of their own */
    int max_attempts;           /* 0: the message's; otherwise an upper limit */
    pawl_count count;   /* which sends count; with PAWL_COUNT_ALL, max_attempts 0 means 6 if the
                           message has none, and an unchanged backoff means PAWL_BACKOFF_ALL */
    bool allow_private; /* allow loopback, private, link-local and reserved addresses; and, for
                           destinations that are URLs, unix: and pipe: */
    size_t response_max_bytes; /* a longer response is an error: retried */
    const char *ca_file;       /* trusted certificates (PEM); NULL: the system's */
    const char *proxy;         /* "http://host:port"; NULL: none, the environment is ignored */
} pawl_service_options;
#define PAWL_SERVICE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_service_options), NULL, NULL, NULL, 0, PAWL_SCHEME_2, 5000, 30000, 16,         \
            PAWL_BACKOFF_REMOTE, 0, PAWL_COUNT_ANSWERED, false, (size_t)1024 * 1024, NULL, NULL    \
    }

/**
 * Checks that there is a secret at `place`: "file:/etc/pawl/orders.secret" or "env:ORDERS_SECRET".
 * Trailing line ends are removed. Text that starts with "base64:" is decoded, any other text is
 * used as it is: `openssl rand -base64 32 > FILE` creates a good one.
 *
 * Ownership: `place` is read during the call.
 * Threads:   one at a time. The environment must not be changed meanwhile.
 * Blocks:    reads the file now; a later change of the file is not noticed.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (neither "file:" nor "env:", too short, too long, bad base64),
 *            PAWL_E_NOT_FOUND (no such file or variable), PAWL_E_DENIED (the file cannot be read;
 *            or it is readable or writable by all users: chmod o-rwx), PAWL_E_IO, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_secret_check(const char *place, pawl_error *err);

/*
 * Whether an http:// or https:// URL contains an IP address outside the public internet, or
 * localhost: such a service needs allow_private. Other host names are not resolved: false.
 */
PAWL_API bool pawl_url_is_private(const char *url);

/*
 * A service map: an immutable snapshot, shared by threads. A reload creates a new map and swaps the
 * pointer; users of the old map keep it alive with a reference.
 */
typedef struct pawl_services pawl_services;
typedef struct pawl_service pawl_service; /* an entry, borrowed from its map */

typedef struct pawl_services_options {
    size_t size;          /* set by PAWL_SERVICES_OPTIONS_INIT, never by hand */
    const char *map_name; /* the file to edit, for error messages: "/etc/pawl.conf" */
    /* Settings for destinations that are URLs; name and url must be NULL. NULL: defaults, that is,
     * unsigned and no private addresses. */
    const pawl_service_options *urls;
} pawl_services_options;
#define PAWL_SERVICES_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_services_options), NULL, NULL                                                  \
    }

/**
 * Creates a map of `count` services (may be 0; step by services[0].size) and reads their secrets.
 *
 * Ownership: *ret_services is the caller's, one reference (pawl_services_unref); untouched on
 *            failure. Everything is copied. `opts` may be NULL.
 * Threads:   any.
 * Blocks:    reads the files of the secrets.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (the message names the service and the field; also for a duplicate
 *            name), those of pawl_secret_check(), PAWL_E_NOMEM. A single invalid entry fails the
 *            call.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_services_new(const pawl_service_options *services,
                                                       size_t count,
                                                       const pawl_services_options *opts,
                                                       pawl_services **ret_services,
                                                       pawl_error *err);
/* Any thread. Returns `services`. */
PAWL_API pawl_services *pawl_services_ref(pawl_services *services);
/* The last call frees the map. NULL is allowed. */
PAWL_API void pawl_services_unref(pawl_services *services);

/*
 * Resolves a destination, which is a name in the map or a URL. *ret_url is the URL to send to,
 * borrowed from the map or `destination` itself. PAWL_E_NOT_FOUND: neither, and the message names
 * the map; PAWL_E_INVALID: a service without a url.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_services_find(const pawl_services *services,
                                                        const char *destination,
                                                        const pawl_service **ret_service,
                                                        const char **ret_url, pawl_error *err);
/* The entry with this name, for a receiver that needs the secrets of a source; NULL: none. */
PAWL_API const pawl_service *pawl_services_peer(const pawl_services *services, const char *source);
PAWL_API size_t pawl_services_count(const pawl_services *services);
/* In the order of the map; NULL when `index` is out of range. */
PAWL_API const pawl_service *pawl_services_at(const pawl_services *services, size_t index);

/* The entry for URLs has the name "" and no url. */
PAWL_API const char *pawl_service_name(const pawl_service *service);
PAWL_API const char *pawl_service_url(const pawl_service *service);     /* may be NULL */
PAWL_API size_t pawl_service_secret_count(const pawl_service *service); /* 0: not signed */
PAWL_API int pawl_service_scheme(const pawl_service *service);
PAWL_API int64_t pawl_service_connect_timeout_ms(const pawl_service *service);
PAWL_API int64_t pawl_service_timeout_ms(const pawl_service *service);
PAWL_API int pawl_service_concurrency(const pawl_service *service);
PAWL_API pawl_backoff pawl_service_backoff(const pawl_service *service);
PAWL_API int pawl_service_max_attempts(const pawl_service *service);
PAWL_API pawl_count pawl_service_count(const pawl_service *service);
PAWL_API bool pawl_service_allow_private(const pawl_service *service);
PAWL_API size_t pawl_service_response_max_bytes(const pawl_service *service);
PAWL_API const char *pawl_service_ca_file(const pawl_service *service); /* may be NULL */
PAWL_API const char *pawl_service_proxy(const pawl_service *service);   /* may be NULL */

PAWL_END_DECLS

#endif
