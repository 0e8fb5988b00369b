/*
 * tests/process/receive_helper.c - a service whose handler writes a row of its own in the inbox's
 * transaction.
 *
 * receive_helper URL SCHEMA PREFIX TABLE SECRET SOCKET [block=before|written|outside]: takes
 * messages of the service "shop" on the unix socket SOCKET; the number in the payload becomes a row
 * of TABLE. It says "ready", and "done NUMBER" or "again STATUS" for every call that ends. block:
 * the first call says "blocked NUMBER" before it writes its row, or when that is written and not
 * committed, and waits until a byte comes in at the standard input. outside is "written" and wrong
 * deliberately: the row is written in a transaction of its own. It ends when it is killed.
 */
#include <pawl/net.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "application_sql.h"
#include "helper.h"

typedef struct service {
    const char *url;
    const char *table;
    const char *block_where; /* "": nowhere */
    atomic_int calls;
} service;

static void block_call(long number)
{
    char byte;

    helper_say("blocked %ld", number);
    if (read(STDIN_FILENO, &byte, 1) != 1)
        _exit(1);
}

static bool write_row(const service *s, pawl_tx *tx, long number)
{
    if (strcmp(s->block_where, "outside") == 0)
        return application_insert_outside(s->url, s->table, number);
    return application_insert(tx, s->table, number);
}

static pawl_result handle_delivery(pawl_receive_task *reception, void *context)
{
    service *s = context;
    const pawl_envelope *envelope = pawl_receive_task_envelope(reception);
    size_t size = 0;
    const char *payload = pawl_envelope_payload(envelope, &size);
    char digits[32] = "";
    bool first = atomic_fetch_add(&s->calls, 1) == 0;

    memcpy(digits, payload, size < sizeof digits ? size : sizeof digits - 1);
    long number = strtol(digits, NULL, 10);
    if (first && strcmp(s->block_where, "before") == 0)
        block_call(number);
    if (!write_row(s, pawl_receive_task_tx(reception), number)) {
        helper_say("again %ld", number);
        return PAWL_RETRY;
    }
    if (first && (strcmp(s->block_where, "written") == 0 || strcmp(s->block_where, "outside") == 0))
        block_call(number);
    helper_say("done %ld", number);
    return PAWL_DONE;
}

static pawl_status know_the_shop(const char *secret, pawl_services **ret_services, pawl_error *err)
{
    pawl_service_options shop = PAWL_SERVICE_OPTIONS_INIT;

    shop.name = "shop";
    shop.secrets = &secret;
    shop.secret_count = 1;
    return pawl_services_new(&shop, 1, NULL, ret_services, err);
}

static pawl_status start_receiver(pawl_store *store, service *s, char **arguments, pawl_error *err)
{
    pawl_services *services = NULL;
    pawl_receiver *receiver = NULL;
    pawl_status st = know_the_shop(arguments[5], &services, err);

    if (st == PAWL_OK)
        st = pawl_receiver_new(store, services, NULL, &receiver, err);
    pawl_services_unref(services);
    if (st == PAWL_OK)
        st = pawl_receiver_handle(receiver, NULL, PAWL_RECEIVE_ATOMIC, handle_delivery, s, NULL,
                                  err);
    if (st == PAWL_OK)
        st = pawl_receiver_listen_unix(receiver, arguments[6], err);
    if (st == PAWL_OK)
        st = pawl_receiver_start(receiver, err);
    return st;
}

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    service s = {.block_where = argc > 7 ? helper_option(argv[7], "block") : ""};
    pawl_store *store;

    if (argc < 7 || !s.block_where) {
        fprintf(stderr,
                "usage: receive_helper URL SCHEMA PREFIX TABLE SECRET SOCKET [block=WHERE]\n");
        return 64;
    }
    s.url = argv[1];
    s.table = argv[4];
    store = helper_open(argv);
    if (!store)
        return 1;
    if (start_receiver(store, &s, argv, &err) != PAWL_OK)
        return helper_complain("receive", &err);
    helper_say("ready");
    for (;;)
        pause();
}
