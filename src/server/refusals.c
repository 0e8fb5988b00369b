/* src/server/refusals.c - requests and connections that a limit refused: counted and logged. */
#include "refusals.h"

#include <stdio.h>

#include "log.h"
#include "world.h"

#define LOG_EVERY_US 60000000

static const struct {
    const char *name;
    int status;
    const char *text;
    const char *logged;
} kinds[PAWLI_REFUSAL_COUNT] = {
    [PAWLI_REFUSED_CONNECTIONS] = {"connections", 503, "there are too many connections",
                                   "more connections than 'connections' allows"},
    [PAWLI_REFUSED_CONNECTIONS_PER_IP] =
        {"connections_per_ip", 429, "there are too many connections from this address",
         "more connections from one address than 'connections_per_ip' allows (is it a reverse "
         "proxy? See 'trusted_proxies')"},
    [PAWLI_REFUSED_HELD_BYTES] = {"held_bytes", 429, "too many request bodies are being received",
                                  "request bodies of more bytes than 'max_held' allows"},
    [PAWLI_REFUSED_BODY] = {"body", 413, "the request is too large",
                            "a request body of more bytes than 'max_body' allows"},
    [PAWLI_REFUSED_WAITING] = {"waiting", 429, "too many messages are waiting",
                               "more messages waiting for a handler than 'waiting' allows"},
    [PAWLI_REFUSED_TIMEOUT] = {"timeout", 408, "the request did not arrive in time",
                               "a request that took longer to arrive than 'timeout' allows"},
};

void pawli_refusals_init(pawli_refusals *refusals)
{
    pthread_mutex_init(&refusals->lock, NULL);
}

void pawli_refusals_destroy(pawli_refusals *refusals)
{
    pthread_mutex_destroy(&refusals->lock);
}

void pawli_refusals_add(pawli_refusals *refusals, pawli_refusal kind)
{
    pthread_mutex_lock(&refusals->lock);
    refusals->kinds[kind].count++;
    refusals->kinds[kind].unlogged++;
    pthread_mutex_unlock(&refusals->lock);
}

int64_t pawli_refusals_count(pawli_refusals *refusals, pawli_refusal kind)
{
    int64_t count;

    pthread_mutex_lock(&refusals->lock);
    count = refusals->kinds[kind].count;
    pthread_mutex_unlock(&refusals->lock);
    return count;
}

/* How many are to be logged now. */
static int64_t take_due(pawli_refusals *refusals, pawli_refusal kind, pawl_mono now)
{
    int64_t due = 0;

    pthread_mutex_lock(&refusals->lock);
    if (now.us >= refusals->kinds[kind].log_at.us) {
        due = refusals->kinds[kind].unlogged;
        refusals->kinds[kind].unlogged = 0;
    }
    if (due > 0)
        refusals->kinds[kind].log_at = pawli_mono_after(now, LOG_EVERY_US);
    pthread_mutex_unlock(&refusals->lock);
    return due;
}

void pawli_refusals_log(pawli_refusals *refusals, const pawl_log_sink *log, pawl_mono now)
{
    for (int i = 0; i < PAWLI_REFUSAL_COUNT; i++) {
        int64_t due = take_due(refusals, (pawli_refusal)i, now);

        if (due > 0)
            pawli_log(log, PAWL_LOG_WARNING, "receiver", "refused %lld with %d: %s", (long long)due,
                      kinds[i].status, kinds[i].logged);
    }
}

const char *pawli_refusal_name(pawli_refusal kind)
{
    return kinds[kind].name;
}

const char *pawli_refusal_text(pawli_refusal kind)
{
    return kinds[kind].text;
}

int pawli_refusal_status(pawli_refusal kind)
{
    return kinds[kind].status;
}

static const char *reason_phrase(int status)
{
    return status == 408   ? "Request Timeout"
           : status == 413 ? "Content Too Large"
           : status == 429 ? "Too Many Requests"
                           : "Service Unavailable";
}

size_t pawli_refusal_answer(pawli_refusal kind, char ret_answer[PAWLI_REFUSAL_ANSWER_SIZE])
{
    int status = kinds[kind].status;
    char body[256];
    int size = snprintf(body, sizeof body,
                        "{\"acknowledged\":false,\"duplicateDetected\":false,\"payload\":null,"
                        "\"error\":\"%s\"}",
                        kinds[kind].text);

    size = snprintf(ret_answer, PAWLI_REFUSAL_ANSWER_SIZE,
                    "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
                    "Retry-After: 1\r\nContent-Length: %d\r\n\r\n%s",
                    status, reason_phrase(status), size, body);
    return (size_t)size;
}
