/*
 * tests/concurrency/wake_helper.c - a process that sends one message for every byte it is given.
 *
 * wake_helper URL SCHEMA PREFIX. Ends with its standard input; exit status 0: all were sent.
 */
#include <stdio.h>
#include <unistd.h>

#include <pawl/pawl.h>

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_outgoing message = PAWL_OUTGOING_INIT;
    pawl_store *store = NULL;
    char byte;

    if (argc != 4) {
        fprintf(stderr, "usage: wake_helper URL SCHEMA PREFIX\n");
        return 64;
    }
    opts.schema = *argv[2] ? argv[2] : NULL;
    opts.table_prefix = *argv[3] ? argv[3] : NULL;
    message.topic = "t";
    message.payload = "x";
    message.payload_size = 1;
    pawl_status st = pawl_store_open(argv[1], &opts, &store, &err);
    while (st == PAWL_OK && read(STDIN_FILENO, &byte, 1) == 1)
        st = pawl_outbox_enqueue(store, &message, NULL, &err);
    if (st != PAWL_OK)
        fprintf(stderr, "wake_helper: %s\n", err.message);
    pawl_store_close(store);
    return st == PAWL_OK ? 0 : 1;
}
