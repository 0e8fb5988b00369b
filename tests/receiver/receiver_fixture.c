/* tests/receiver/receiver_fixture.c - a receiver on a fresh database, and the shop that sends to
 * it. */
#include "receiver_fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "inbox_fixture.h"
#include "signature.h"
#include "envelope.h"

#define SHOP_SECRET "PAWL_TEST_SHOP_SECRET"
#define OLD_SECRET "PAWL_TEST_OLDSHOP_SECRET"

static void set_secrets(void)
{
    setenv(SHOP_SECRET, "shop-secret-of-some-length", 1);
    setenv(OLD_SECRET, "old-shop-secret-of-some-length", 1);
    setenv("PAWL_TEST_OTHER_SECRET", "another-secret-of-some-length", 1);
}

pawl_services *receiver_services(const char *shop_secret)
{
    const char *old_secret = "env:" OLD_SECRET;
    pawl_service_options options[] = {PAWL_SERVICE_OPTIONS_INIT, PAWL_SERVICE_OPTIONS_INIT,
                                      PAWL_SERVICE_OPTIONS_INIT};
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    set_secrets();
    options[0].name = "shop";
    options[0].secrets = &shop_secret;
    options[0].secret_count = 1;
    options[1].name = "oldshop";
    options[1].secrets = &old_secret;
    options[1].secret_count = 1;
    options[1].scheme = PAWL_SCHEME_1;
    options[2].name = "nosecret";
    assert_ok(pawl_services_new(options, 3, NULL, &services, &err), &err);
    return services;
}

static void close_receiver_fixture(void *context)
{
    receiver_fixture *s = context;

    pawl_receiver_free(s->receiver);
    pawl_services_unref(s->services);
    free(s);
}

receiver_fixture *receiver_open(const pawl_receiver_options *opts)
{
    return receiver_open_store(NULL, opts);
}

receiver_fixture *receiver_open_store(const pawl_store_options *store,
                                      const pawl_receiver_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    fixture *f = inbox_fixture(store);
    receiver_fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->f = f;
    test_defer(close_receiver_fixture, s);
    s->services = receiver_services("env:" SHOP_SECRET);
    assert_ok(pawl_receiver_new(fixture_store(f), s->services, opts, &s->receiver, &err), &err);
    return s;
}

void receiver_start(receiver_fixture *s)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_receiver_listen(s->receiver, "127.0.0.1:0", NULL, NULL, &s->port, &err), &err);
    assert_ok(pawl_receiver_start(s->receiver, &err), &err);
}

static pawl_result accept_all(pawl_receive_task *reception, void *context)
{
    (void)reception;
    (void)context;
    return PAWL_DONE;
}

receiver_fixture *receiver_open_accepting(const pawl_receiver_options *opts)
{
    receiver_fixture *s = receiver_open(opts);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, accept_all, NULL, NULL,
                                   &err),
              &err);
    receiver_start(s);
    return s;
}

/* ---- sent messages ---- */

/* The sender's store may know the id with other content: that is the receiver's to notice. */
static void forget_record(receiver_fixture *s, pawl_uuid id)
{
    pawl_messages *one = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_outbox_find(fixture_store(s->f), id, &one, &err) != PAWL_OK)
        return;
    pawl_work_id old = pawl_message_work_id(pawl_messages_at(queue_keep(one), 0));
    assert_ok(pawl_outbox_cancel(fixture_store(s->f), &old, 1, NULL, &err), &err);
    assert_ok(pawl_outbox_purge(fixture_store(s->f), &old, 1, NULL, &err), &err);
}

/* As the sender would have it. */
static const pawl_message *store_message(receiver_fixture *s, const sample *what)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    message.topic = what->topic ? what->topic : "order";
    message.payload = what->payload ? what->payload : "{\"n\":1}";
    message.payload_size = strlen(message.payload);
    message.destination = "http://127.0.0.1/";
    if (what->id) {
        assert_ok(pawl_uuid_parse(what->id, &message.id, &err), &err);
        forget_record(s, message.id);
    }
    return queue_get(s->f, queue_send(s->f, &message).work_id);
}

static pawl_wall wall_before(int64_t age_ms)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (pawl_wall){(now.tv_sec * INT64_C(1000) - age_ms) * 1000};
}

const char *sample_text(receiver_fixture *s, const sample *what)
{
    pawli_envelope_options options = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawli_secrets *secrets = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    const char *source = what->source ? what->source : "shop";
    const char *own = strcmp(source, "oldshop") == 0 ? "env:" OLD_SECRET : "env:" SHOP_SECRET;
    pawl_envelope *envelope = NULL;
    const char *text;

    assert_ok(pawli_secrets_new(&secrets, &err), &err);
    assert_ok(pawli_secrets_load(secrets, what->secret ? what->secret : own, &err), &err);
    options.source = source;
    options.secrets = what->is_unsigned ? NULL : secrets;
    options.scheme = what->scheme ? what->scheme : PAWL_SCHEME_2;
    options.now = wall_before(what->age_ms);
    assert_ok(pawli_envelope_encode(store_message(s, what), &options, &envelope, &err), &err);
    text = test_note("%s", pawl_envelope_text(envelope, NULL));
    pawl_envelope_free(envelope);
    pawli_secrets_free(secrets);
    return text;
}

/* ---- records and rows ---- */

size_t inbox_count(receiver_fixture *s)
{
    pawl_inbox_records *list = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    size_t count;

    assert_ok(pawl_inbox_list(fixture_store(s->f), NULL, &list, NULL, &err), &err);
    count = pawl_inbox_records_count(list);
    pawl_inbox_records_free(list);
    return count;
}

/* ---- a handler that the test leads ---- */

static void close_go(void *fd)
{
    close((int)(intptr_t)fd);
}

void controlled_handler_init(controlled_handler *p, receiver_fixture *s)
{
    *p = (controlled_handler){.s = s, .result = PAWL_DONE};
    sem_init(&p->there, 0, 0);
    p->go = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (p->go < 0)
        test_fail("no file descriptor for a handler");
    test_defer(close_go, (void *)(intptr_t)p->go);
}

void controlled_await(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (sem_timedwait(semaphore, &until) != 0)
        test_fail("what the test waits for did not happen in a minute");
}

/* `go`, or what cancels it. */
static void wait_for_go(controlled_handler *p, const pawl_receive_task *reception)
{
    struct pollfd fds[] = {{p->go, POLLIN, 0}, {pawl_receive_task_cancel_fd(reception), POLLIN, 0}};
    eventfd_t one;

    while (eventfd_read(p->go, &one) != 0) {
        if (poll(fds, 2, -1) > 0 && fds[1].revents != 0) {
            p->cancelled++;
            return;
        }
    }
}

void controlled_go(controlled_handler *p)
{
    if (eventfd_write(p->go, 1) != 0)
        test_fail("a handler cannot be told to go on");
}

pawl_result controlled_handle(pawl_receive_task *reception, void *context)
{
    controlled_handler *p = context;
    pawl_error err = PAWL_ERROR_INIT;

    p->calls++;
    p->last_attempt = pawl_receive_task_attempt(reception);
    if (p->writes &&
        !inbox_write(p->s->f, pawl_receive_task_tx(reception), "INSERT INTO {orders} VALUES (1)"))
        return PAWL_FAIL;
    if (p->waits) {
        sem_post(&p->there);
        wait_for_go(p, reception);
    }
    pawl_receive_task_set_error(reception, p->error);
    if (p->response &&
        pawl_receive_task_respond(reception, p->response, strlen(p->response), &err) != PAWL_OK)
        return PAWL_RETRY;
    return p->result;
}
