/* src/transport/service.c - reading an entry of the service map. */
#include "services.h"

const char *pawl_service_name(const pawl_service *service)
{
    return service->name;
}

const char *pawl_service_url(const pawl_service *service)
{
    return service->url;
}

const pawl_secrets *pawl_service_secrets(const pawl_service *service)
{
    return service->secrets;
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
