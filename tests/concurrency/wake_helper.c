/*
 * tests/concurrency/wake_helper.c - a process that sends one message for every byte it is given.
 *
 * wake_helper URL SCHEMA PREFIX. Ends with its standard input; exit status 0: all were sent.
 */
#include <unistd.h>

#include "helper.h"

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_store *store = argc == 4 ? helper_open(argv) : NULL;
    pawl_status st = PAWL_OK;
    char byte;

    if (!store)
        return 1;
    message.topic = "t";
    message.payload = "x";
    message.payload_size = 1;
    while (st == PAWL_OK && read(STDIN_FILENO, &byte, 1) == 1)
        st = pawl_outbox_enqueue(store, &message, NULL, &err);
    pawl_store_close(store);
    return st == PAWL_OK ? 0 : helper_complain("send", &err);
}
