/* src/transport/services.c - the service map and its entries. */
#include "services.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "envelope.h"
#include "fail.h"
#include "options.h"
#include "scheme.h"
#include "scope.h"
#include "text.h"
#include "signature.h"

/* ---- the service map: immutable once created ---- */

#define TIMEOUT_MAX_MS INT64_C(600000)
#define CONCURRENCY_MAX 10000
#define ATTEMPTS_MAX 1000
#define RESPONSE_MIN 1024
#define RESPONSE_MAX ((size_t)1024 * 1024 * 1024)
#define BACKOFF_MAX_MS INT64_C(604800000)

struct pawl_services {
    atomic_size_t references;
    pawli_arena arena;
    const char *map_name;
    pawl_service urls;
    size_t count;
    const pawl_service **by_name;
    pawl_service items[];
};

static void free_services(pawl_services *services)
{
    if (!services)
        return;
    for (size_t i = 0; i < services->count; i++)
        pawli_secrets_free(services->items[i].secrets);
    pawli_secrets_free(services->urls.secrets);
    pawli_arena_done(&services->arena);
    free(services);
}
PAWLI_AUTO_DEFINE(pawl_services, free_services);

pawl_services *pawl_services_ref(pawl_services *services)
{
    atomic_fetch_add_explicit(&services->references, 1, memory_order_relaxed);
    return services;
}

void pawl_services_unref(pawl_services *services)
{
    if (services && atomic_fetch_sub_explicit(&services->references, 1, memory_order_acq_rel) == 1)
        free_services(services);
}

/* ---- creating a service map ---- */

static pawl_status check_name(const char *name, pawl_error *err)
{
    size_t characters = 0;

    if (!name || !pawli_utf8_check(name, strlen(name), &characters) || characters < 1 ||
        characters > PAWL_SERVICE_NAME_MAX || pawli_has_controls(name) || strstr(name, "://"))
        return pawli_fail(err, PAWL_E_INVALID,
                          "a service's name must be 1 to %d characters of UTF-8 without control "
                          "characters and without \"://\"",
                          PAWL_SERVICE_NAME_MAX);
    return PAWL_OK;
}

static pawl_status services_check_times(const pawl_service_options *opts, const char *name,
                                        pawl_error *err)
{
    if (opts->timeout_ms < 1 || opts->timeout_ms > TIMEOUT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': timeout_ms %" PRId64 " is out of range: 1 to %" PRId64,
                          name, opts->timeout_ms, TIMEOUT_MAX_MS);
    if (opts->connect_timeout_ms < 1 || opts->connect_timeout_ms > TIMEOUT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': connect_timeout_ms %" PRId64
                          " is out of range: 1 to %" PRId64,
                          name, opts->connect_timeout_ms, TIMEOUT_MAX_MS);
    if (opts->backoff.base_ms < 1 || opts->backoff.base_ms > BACKOFF_MAX_MS ||
        opts->backoff.max_ms < opts->backoff.base_ms || opts->backoff.max_ms > BACKOFF_MAX_MS ||
        opts->backoff.jitter_ms < PAWL_JITTER_TENTH || opts->backoff.jitter_ms > BACKOFF_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': its backoff must have a base of 1 ms to 7 days, a maximum "
                          "not below it, and a jitter of 0 or more",
                          name);
    return PAWL_OK;
}

static pawl_status services_check_numbers(const pawl_service_options *opts, const char *name,
                                          pawl_error *err)
{
    if (opts->scheme != PAWL_SCHEME_1 && opts->scheme != PAWL_SCHEME_2)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': signature scheme %d is unknown: 1 or 2", name,
                          opts->scheme);
    if (opts->concurrency < 1 || opts->concurrency > CONCURRENCY_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': concurrency %d is out of range: 1 to %d", name,
                          opts->concurrency, CONCURRENCY_MAX);
    if (opts->max_attempts < 0 || opts->max_attempts > ATTEMPTS_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': max_attempts %d is out of range: 0 to %d", name,
                          opts->max_attempts, ATTEMPTS_MAX);
    if ((unsigned)opts->count > PAWL_COUNT_ALL)
        return pawli_fail(err, PAWL_E_INVALID, "service '%s': count must be one of PAWL_COUNT_...",
                          name);
    if (opts->response_max_bytes < RESPONSE_MIN || opts->response_max_bytes > RESPONSE_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': response_max_bytes %zu is out of range: %d to %zu", name,
                          opts->response_max_bytes, RESPONSE_MIN, RESPONSE_MAX);
    return services_check_times(opts, name, err);
}

static bool services_keep(pawli_arena *arena, const char *text, const char **ret_copy)
{
    *ret_copy = text ? pawli_arena_copy(arena, text, strlen(text)) : NULL;
    return !text || *ret_copy;
}

static pawl_status load_secrets(const pawl_service_options *opts, pawl_service *service,
                                pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawl_status st = pawli_secrets_new(&service->secrets, err);

    if (st != PAWL_OK)
        return st;
    if (opts->secret_count > 0 && !opts->secrets)
        return pawli_fail(err, PAWL_E_INVALID, "service '%s': secrets must not be NULL",
                          service->name);
    for (size_t i = 0; i < opts->secret_count; i++) {
        st = pawli_secrets_load(service->secrets, opts->secrets[i], &why);
        if (st != PAWL_OK)
            return pawli_fail_code(err, st, why.native_code, "service '%s': %s", service->name,
                                   why.message);
    }
    return PAWL_OK;
}

static pawl_count services_count_of(const pawl_service_options *opts)
{
    return opts->count == PAWL_COUNT_DEFAULT ? PAWL_COUNT_ANSWERED : opts->count;
}

/* If every send counts, the usual policy would take a day for six attempts. */
static pawl_backoff services_backoff_of(const pawl_service_options *opts)
{
    static const pawl_backoff usual = PAWL_BACKOFF_REMOTE, all = PAWL_BACKOFF_ALL;

    return opts->count == PAWL_COUNT_ALL && memcmp(&opts->backoff, &usual, sizeof usual) == 0
               ? all
               : opts->backoff;
}

/* The name has been validated. Copies what it needs; on failure, what was copied can be freed. */
static pawl_status services_fill(pawli_arena *arena, const pawl_service_options *opts,
                                 pawl_service *service, pawl_error *err)
{
    char scheme[PAWLI_SCHEME_SIZE] = "";
    const char *name = opts->name ? opts->name : "";
    pawl_status st = services_check_numbers(opts, name, err);

    if (st != PAWL_OK)
        return st;
    if (opts->url && !pawli_scheme_of(opts->url, scheme))
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s': its url must begin with a scheme, such as https://", name);
    *service = (pawl_service){.scheme = opts->scheme,
                              .connect_timeout_ms = opts->connect_timeout_ms < opts->timeout_ms
                                                        ? opts->connect_timeout_ms
                                                        : opts->timeout_ms,
                              .timeout_ms = opts->timeout_ms,
                              .concurrency = opts->concurrency,
                              .backoff = services_backoff_of(opts),
                              .max_attempts = opts->max_attempts,
                              .count = services_count_of(opts),
                              /* Writing a socket path into the map is explicit permission to use
                               * it. */
                              .allow_private = opts->allow_private || pawli_scheme_is_local(scheme),
                              .response_max_bytes = opts->response_max_bytes};
    if (!services_keep(arena, name, &service->name) ||
        !services_keep(arena, opts->url, &service->url) ||
        !services_keep(arena, opts->ca_file, &service->ca_file) ||
        !services_keep(arena, opts->proxy, &service->proxy))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for service '%s'", name);
    return load_secrets(opts, service, err);
}

static pawl_status fill_urls(pawl_services *services, const pawl_service_options *given,
                             pawl_error *err)
{
    pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;
    pawl_status st = pawli_options_copy(&opts, sizeof opts, given, err);

    if (st != PAWL_OK)
        return st;
    if (opts.name || opts.url)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the entry for URLs must have no name and no url of its own");
    return services_fill(&services->arena, &opts, &services->urls, err);
}

static int compare_names(const void *one, const void *other)
{
    const pawl_service *const *a = one, *const *b = other;

    return strcmp((*a)->name, (*b)->name);
}

static pawl_status services_sort(pawl_services *services, pawl_error *err)
{
    services->by_name = pawli_arena_alloc(&services->arena, (services->count + 1) * sizeof(void *));
    if (!services->by_name)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the service map");
    for (size_t i = 0; i < services->count; i++)
        services->by_name[i] = &services->items[i];
    qsort(services->by_name, services->count, sizeof(void *), compare_names);
    for (size_t i = 1; i < services->count; i++)
        if (strcmp(services->by_name[i - 1]->name, services->by_name[i]->name) == 0)
            return pawli_fail(err, PAWL_E_INVALID, "service '%s' is defined twice",
                              services->by_name[i]->name);
    return PAWL_OK;
}

static pawl_status fill_all(pawl_services *services, const pawl_service_options *given,
                            size_t count, pawl_error *err)
{
    const char *at = (const char *)given;

    for (size_t i = 0; i < count; i++, at += given->size) {
        pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;
        pawl_status st = pawli_options_copy(&opts, sizeof opts, at, err);
        if (st == PAWL_OK)
            st = check_name(opts.name, err);
        services->count = i + 1;
        if (st == PAWL_OK)
            st = services_fill(&services->arena, &opts, &services->items[i], err);
        if (st != PAWL_OK)
            return st;
    }
    return PAWL_OK;
}

pawl_status pawl_services_new(const pawl_service_options *given, size_t count,
                              const pawl_services_options *given_opts, pawl_services **ret_services,
                              pawl_error *err)
{
    pawl_services_options opts = PAWL_SERVICES_OPTIONS_INIT;
    PAWLI_AUTO(pawl_services) services = NULL;
    pawl_status st;

    if (!ret_services || (count > 0 && !given))
        return pawli_fail(err, PAWL_E_INVALID, "services and ret_services must not be NULL");
    st = pawli_options_copy(&opts, sizeof opts, given_opts, err);
    if (st != PAWL_OK)
        return st;
    if (count < (SIZE_MAX - sizeof *services) / sizeof services->items[0])
        services = calloc(1, sizeof *services + count * sizeof services->items[0]);
    if (!services ||
        !services_keep(&services->arena, opts.map_name ? opts.map_name : "the service map",
                       &services->map_name))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the service map");
    atomic_init(&services->references, 1);
    st = fill_urls(services, opts.urls, err);
    if (st == PAWL_OK)
        st = fill_all(services, given, count, err);
    if (st == PAWL_OK)
        st = services_sort(services, err);
    if (st != PAWL_OK)
        return st;
    *ret_services = pawl_services_take(&services);
    return PAWL_OK;
}

/* ---- lookups ---- */

size_t pawl_services_count(const pawl_services *services)
{
    return services->count;
}

const pawl_service *pawl_services_at(const pawl_services *services, size_t index)
{
    return index < services->count ? &services->items[index] : NULL;
}

const pawl_service *pawl_services_peer(const pawl_services *services, const char *source)
{
    const pawl_service wanted = {.name = source}, *key = &wanted;
    const pawl_service *const *found =
        source ? bsearch(&key, services->by_name, services->count, sizeof(void *), compare_names)
               : NULL;

    return found ? *found : NULL;
}

pawl_status pawl_services_find(const pawl_services *services, const char *destination,
                               const pawl_service **ret_service, const char **ret_url,
                               pawl_error *err)
{
    char scheme[PAWLI_SCHEME_SIZE];
    const pawl_service *service;

    if (!services || !destination || !ret_service || !ret_url)
        return pawli_fail(err, PAWL_E_INVALID,
                          "services, destination, ret_service and ret_url must not be NULL");
    if (pawli_scheme_of(destination, scheme)) {
        *ret_service = &services->urls;
        *ret_url = destination;
        return PAWL_OK;
    }
    service = pawl_services_peer(services, destination);
    if (!service)
        return pawli_fail(err, PAWL_E_NOT_FOUND,
                          "'%s' is neither a URL nor a service of %s: add it there", destination,
                          services->map_name);
    if (!service->url)
        return pawli_fail(err, PAWL_E_INVALID,
                          "service '%s' has no url in %s: add one to send to it", destination,
                          services->map_name);
    *ret_service = service;
    *ret_url = service->url;
    return PAWL_OK;
}

/* ---- accessors of an entry ---- */

const char *pawl_service_name(const pawl_service *service)
{
    return service->name;
}

const char *pawl_service_url(const pawl_service *service)
{
    return service->url;
}

const pawli_secrets *pawli_service_secrets(const pawl_service *service)
{
    return service->secrets;
}

size_t pawl_service_secret_count(const pawl_service *service)
{
    return pawli_secrets_count(service->secrets);
}

int pawl_service_scheme(const pawl_service *service)
{
    return service->scheme;
}

int64_t pawl_service_connect_timeout_ms(const pawl_service *service)
{
    return service->connect_timeout_ms;
}

int64_t pawl_service_timeout_ms(const pawl_service *service)
{
    return service->timeout_ms;
}

int pawl_service_concurrency(const pawl_service *service)
{
    return service->concurrency;
}

pawl_backoff pawl_service_backoff(const pawl_service *service)
{
    return service->backoff;
}

int pawl_service_max_attempts(const pawl_service *service)
{
    return service->max_attempts;
}

pawl_count pawl_service_count(const pawl_service *service)
{
    return service->count;
}

bool pawl_service_allow_private(const pawl_service *service)
{
    return service->allow_private;
}

size_t pawl_service_response_max_bytes(const pawl_service *service)
{
    return service->response_max_bytes;
}

const char *pawl_service_ca_file(const pawl_service *service)
{
    return service->ca_file;
}

const char *pawl_service_proxy(const pawl_service *service)
{
    return service->proxy;
}
