/* src/server/rejections.c - requests and connections rejected by a limit: counted and logged. */
#include "rejections.h"

#include <stdio.h>

#include "log.h"
#include "platform.h"

#define LOG_EVERY_US 60000000

static const struct {
    const char *name;
    int status;
    const char *text;
    const char *logged;
} kinds[PAWLI_REJECTION_COUNT] = {
    [PAWLI_REJECTED_CONNECTIONS] = {"connections", 503, "too many connections",
                                    "more connections than 'connections' allows"},
    [PAWLI_REJECTED_CONNECTIONS_PER_IP] =
        {"connections_per_ip", 429, "too many connections from this address",
         "more connections from one address than 'connections_per_ip' allows (for a reverse proxy, "
         "set 'trusted_proxies')"},
    [PAWLI_REJECTED_MEMORY] = {"buffered_bytes", 429, "too many request bodies are being received",
                               "more bytes of request bodies than 'max_buffered' allows"},
    [PAWLI_REJECTED_HEADERS] = {"headers", 431, "the head of the request is too large",
                                "a request head larger than 'max_headers' allows"},
    [PAWLI_REJECTED_BODY] = {"body", 413, "the request is too large",
                             "a request body larger than 'max_body' allows"},
    [PAWLI_REJECTED_WAITING] = {"waiting", 429, "too many messages are queued",
                                "more messages queued for a handler than 'waiting' allows"},
    [PAWLI_REJECTED_TIMEOUT] = {"timeout", 408, "the request did not arrive in time",
                                "a request that took longer to arrive than 'timeout' allows"},
};

void pawli_rejections_init(pawli_rejections *rejections)
{
    pthread_mutex_init(&rejections->lock, NULL);
}

void pawli_rejections_destroy(pawli_rejections *rejections)
{
    pthread_mutex_destroy(&rejections->lock);
}

void pawli_rejections_add(pawli_rejections *rejections, pawli_rejection kind)
{
    pthread_mutex_lock(&rejections->lock);
    rejections->kinds[kind].count++;
    rejections->kinds[kind].unlogged++;
    pthread_mutex_unlock(&rejections->lock);
}

int64_t pawli_rejections_count(pawli_rejections *rejections, pawli_rejection kind)
{
    int64_t count;

    pthread_mutex_lock(&rejections->lock);
    count = rejections->kinds[kind].count;
    pthread_mutex_unlock(&rejections->lock);
    return count;
}

/* Returns how many to log now. */
static int64_t rejections_take_due(pawli_rejections *rejections, pawli_rejection kind,
                                   pawl_mono now)
{
    int64_t due = 0;

    pthread_mutex_lock(&rejections->lock);
    if (now.us >= rejections->kinds[kind].log_at.us) {
        due = rejections->kinds[kind].unlogged;
        rejections->kinds[kind].unlogged = 0;
    }
    if (due > 0)
        rejections->kinds[kind].log_at = pawli_mono_after(now, LOG_EVERY_US);
    pthread_mutex_unlock(&rejections->lock);
    return due;
}

void pawli_rejections_log(pawli_rejections *rejections, const pawl_log_sink *log, pawl_mono now)
{
    for (int i = 0; i < PAWLI_REJECTION_COUNT; i++) {
        int64_t due = rejections_take_due(rejections, (pawli_rejection)i, now);

        if (due > 0)
            pawli_log(
                log, PAWL_LOG_WARNING, "receiver", "rejected {count} with HTTP {status}: {error}",
                pawli_logged_number("count", due), pawli_logged_number("status", kinds[i].status),
                pawli_logged("error", kinds[i].logged));
    }
}

const char *pawli_rejection_name(pawli_rejection kind)
{
    return kinds[kind].name;
}

const char *pawli_rejection_text(pawli_rejection kind)
{
    return kinds[kind].text;
}

int pawli_rejection_status(pawli_rejection kind)
{
    return kinds[kind].status;
}

static const char *reason_phrase(int status)
{
    return status == 408   ? "Request Timeout"
           : status == 413 ? "Content Too Large"
           : status == 429 ? "Too Many Requests"
           : status == 431 ? "Request Header Fields Too Large"
                           : "Service Unavailable";
}

size_t pawli_rejection_response(pawli_rejection kind,
                                char ret_answer[PAWLI_REJECTION_RESPONSE_SIZE])
{
    int status = kinds[kind].status;
    char body[256];
    int size = snprintf(body, sizeof body,
                        "{\"acknowledged\":false,\"duplicateDetected\":false,\"payload\":null,"
                        "\"error\":\"%s\"}",
                        kinds[kind].text);

    size = snprintf(ret_answer, PAWLI_REJECTION_RESPONSE_SIZE,
                    "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
                    "Retry-After: 1\r\nContent-Length: %d\r\n\r\n%s",
                    status, reason_phrase(status), size, body);
    return (size_t)size;
}
