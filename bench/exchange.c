/* bench/exchange.c - pawl's delivery and receiver in this process, each on a database of its own.
 */
#include "exchange.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "basics.h"

#define SOURCE "bench"
#define SECRET "PAWL_BENCH_SECRET"
#define SENDER_CONNECTIONS 4
#define MORE_CONNECTIONS 4 /* of the receiver, beside those of its handlers */
#define SEND_BATCH 100
#define SLOW_MS 500
#define PATIENCE_S 60.0

static const char *const names[EXCHANGE_DESTINATIONS] = {"d0", "d1", "d2", "d3", "d4",
                                                         "d5", "d6", "d7", "d8", "d9"};

static const struct timespec moment = {.tv_nsec = 200000};

static void exchange_expect(pawl_status status, const pawl_error *err)
{
    if (status != PAWL_OK)
        die("pawl: %s: %s", pawl_status_name(status), err->message);
}

/* ---- the receivers ---- */

static pawl_result write_effect(pawl_receive_task *reception, void *context)
{
    exchange *self = context;
    database *db = self->options.receiver;

    db->engine->write_effect(db, pawl_receive_task_tx(reception));
    return PAWL_DONE;
}

static pawl_result take_long(pawl_receive_task *reception, void *context)
{
    struct pollfd fd = {pawl_receive_task_cancel_fd(reception), POLLIN, 0};

    (void)context;
    return poll(&fd, 1, SLOW_MS) == 0 ? PAWL_DONE : PAWL_RETRY;
}

/* Only names and secrets, so that signatures can be checked. */
static pawl_services *peers_new(void)
{
    const char *secret = "env:" SECRET;
    pawl_service_options peer = PAWL_SERVICE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_services *peers = NULL;

    peer.name = SOURCE;
    peer.secrets = &secret;
    peer.secret_count = 1;
    exchange_expect(pawl_services_new(&peer, 1, NULL, &peers, &err), &err);
    return peers;
}

static void listen_on(exchange *self, pawl_receiver *receiver, char *url, size_t size)
{
    pawl_error err = PAWL_ERROR_INIT;
    char path[64];
    int port = 0;

    if (receiver == self->receiver && self->options.over_unix) {
        snprintf(path, sizeof path, "%s/socket", self->socket_directory);
        exchange_expect(pawl_receiver_listen_unix(receiver, path, &err), &err);
        snprintf(url, size, "unix://%s", path);
        return;
    }
    exchange_expect(pawl_receiver_listen(receiver, "127.0.0.1:0", NULL, NULL, &port, &err), &err);
    snprintf(url, size, "http://127.0.0.1:%d", port);
}

static void open_receivers(exchange *self)
{
    pawl_store_options store =
        database_options(self->options.receiver, self->options.handlers + MORE_CONNECTIONS);
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_services *peers = peers_new();
    pawl_error err = PAWL_ERROR_INIT;

    exchange_expect(
        pawl_store_open(self->options.receiver->url, &store, &self->receiver_store, &err), &err);
    options.handlers = self->options.handlers;
    exchange_expect(pawl_receiver_new(self->receiver_store, peers, &options, &self->receiver, &err),
                    &err);
    exchange_expect(pawl_receiver_handle(self->receiver, NULL, PAWL_RECEIVE_ATOMIC, write_effect,
                                         self, NULL, &err),
                    &err);
    listen_on(self, self->receiver, self->url, sizeof self->url);
    exchange_expect(pawl_receiver_start(self->receiver, &err), &err);
    if (self->options.trouble != TROUBLE_NONE) {
        options.handlers = self->options.in_flight;
        exchange_expect(pawl_receiver_new(self->receiver_store, peers, &options, &self->slow, &err),
                        &err);
        exchange_expect(pawl_receiver_handle(self->slow, NULL, PAWL_RECEIVE_CALL_OUT, take_long,
                                             NULL, NULL, &err),
                        &err);
        listen_on(self, self->slow, self->slow_url, sizeof self->slow_url);
        exchange_expect(pawl_receiver_start(self->slow, &err), &err);
    }
    pawl_services_unref(peers);
}

/* A port that is taken, so that nobody else can begin to listen on it meanwhile. */
static void take_dead_port(exchange *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    self->dead_socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (self->dead_socket < 0 ||
        bind(self->dead_socket, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(self->dead_socket, (struct sockaddr *)&address, &size) != 0)
        die("no port for a dead destination");
    if (self->options.trouble == TROUBLE_SILENT &&
        listen(self->dead_socket, self->options.in_flight) != 0)
        die("no silent destination");
    snprintf(self->dead_url, sizeof self->dead_url, "http://127.0.0.1:%d", ntohs(address.sin_port));
}

/* ---- the sender ---- */

static const char *url_of(const exchange *self, int destination)
{
    if (self->options.trouble != TROUBLE_NONE && destination == EXCHANGE_DESTINATIONS - 2)
        return self->slow_url;
    if (self->options.trouble != TROUBLE_NONE && destination == EXCHANGE_DESTINATIONS - 1)
        return self->dead_url;
    return self->url;
}

static void open_sender(exchange *self)
{
    const char *secret = "env:" SECRET;
    pawl_store_options store = database_options(self->options.sender, SENDER_CONNECTIONS);
    pawl_service_options services[EXCHANGE_DESTINATIONS];
    pawl_delivery_options options = PAWL_DELIVERY_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    int count = self->options.destinations;

    for (int i = 0; i < count; i++) {
        services[i] = (pawl_service_options)PAWL_SERVICE_OPTIONS_INIT;
        services[i].name = names[i];
        services[i].url = url_of(self, i);
        services[i].secrets = &secret;
        services[i].secret_count = 1;
        services[i].concurrency = self->options.in_flight;
        services[i].allow_private = true;
    }
    exchange_expect(pawl_store_open(self->options.sender->url, &store, &self->sender, &err), &err);
    exchange_expect(pawl_services_new(services, (size_t)count, NULL, &self->services, &err), &err);
    options.source = SOURCE;
    exchange_expect(
        pawl_delivery_new(self->sender, self->services, &options, &self->delivery, &err), &err);
}

void exchange_open(exchange *self, const exchange_options *opts)
{
    *self = (exchange){.options = *opts, .dead_socket = -1};
    setenv(SECRET, "a-secret-that-only-the-bench-knows", 1);
    opts->receiver->engine->make_effects(opts->receiver);
    if (opts->over_unix) {
        snprintf(self->socket_directory, sizeof self->socket_directory, "/tmp/pawl-bench-XXXXXX");
        if (!mkdtemp(self->socket_directory))
            die("no directory for a socket");
    }
    open_receivers(self);
    if (opts->trouble != TROUBLE_NONE)
        take_dead_port(self);
    open_sender(self);
}

void exchange_send(exchange *self, int64_t count)
{
    pawl_message_spec messages[SEND_BATCH];
    pawl_error err = PAWL_ERROR_INIT;
    int64_t total = count * self->options.destinations;

    for (int64_t sent = 0; sent < total;) {
        size_t size = 0;

        for (; size < SEND_BATCH && sent < total; size++, sent++) {
            messages[size] = (pawl_message_spec)PAWL_MESSAGE_SPEC_INIT;
            messages[size].topic = topic_name(0);
            messages[size].destination = names[sent % self->options.destinations];
            messages[size].payload = bench_payload;
            messages[size].payload_size = bench_payload_size;
        }
        exchange_expect(pawl_outbox_enqueue_batch(self->sender, messages, size, NULL, &err), &err);
    }
}

static void *exchange_run(void *context)
{
    exchange *self = context;
    pawl_error err = PAWL_ERROR_INIT;

    exchange_expect(pawl_delivery_run(self->delivery, &err), &err);
    return NULL;
}

void exchange_deliver(exchange *self)
{
    if (pthread_create(&self->thread, NULL, exchange_run, self) != 0)
        die("no thread for the delivery");
    self->runs = true;
}

/* How many of those that are waited for are acknowledged. */
static int64_t acknowledged(exchange *self, int destinations, int64_t most)
{
    pawl_delivery_stats *stats = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_destination_stats *one;
    int64_t sum = 0;

    exchange_expect(pawl_delivery_get_stats(self->delivery, &stats, &err), &err);
    for (size_t i = 0; (one = pawl_delivery_stats_at(stats, i)); i++) {
        for (int j = 0; j < destinations; j++) {
            if (strcmp(one->destination, names[j]) != 0)
                continue;
            if (one->failed > 0 || one->duplicate > 0)
                die("pawl: %llu messages failed, %llu were sent twice",
                    (unsigned long long)one->failed, (unsigned long long)one->duplicate);
            sum += (int64_t)one->sent < most ? (int64_t)one->sent : most;
        }
    }
    pawl_delivery_stats_free(stats);
    return sum;
}

void exchange_await(exchange *self, int destinations, int64_t total)
{
    int64_t wanted = total * destinations, before = -1, now;
    double moved = seconds_now();

    while ((now = acknowledged(self, destinations, total)) < wanted) {
        if (now != before)
            moved = seconds_now();
        else if (seconds_now() - moved > PATIENCE_S)
            die("pawl: %lld of %lld messages are delivered, and no more", (long long)now,
                (long long)wanted);
        before = now;
        nanosleep(&moment, NULL);
    }
}

static int64_t stored(exchange *self)
{
    const pawl_topic_stats *one;
    pawl_outbox_stats *stats = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    int64_t sum = 0;

    exchange_expect(pawl_outbox_get_stats(self->sender, &stats, &err), &err);
    for (size_t i = 0; (one = pawl_outbox_stats_at(stats, i)); i++)
        sum += one->total_done;
    pawl_outbox_stats_free(stats);
    return sum;
}

void exchange_await_stored(exchange *self, int64_t total)
{
    double begin = seconds_now();

    while (stored(self) < total) {
        if (seconds_now() - begin > PATIENCE_S)
            die("pawl: the acknowledgements are not stored");
        nanosleep(&moment, NULL);
    }
}

void exchange_close(exchange *self)
{
    if (self->runs) {
        pawl_delivery_request_stop(self->delivery);
        pawl_delivery_request_stop(self->delivery); /* at once */
        pthread_join(self->thread, NULL);
    }
    pawl_delivery_free(self->delivery);
    if (self->slow)
        pawl_receiver_cancel_handlers(self->slow);
    pawl_receiver_free(self->slow);
    pawl_receiver_free(self->receiver);
    pawl_services_unref(self->services);
    pawl_store_close(self->sender);
    pawl_store_close(self->receiver_store);
    if (self->dead_socket >= 0)
        close(self->dead_socket);
    if (self->options.over_unix)
        rmdir(self->socket_directory);
}
