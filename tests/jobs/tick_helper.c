/*
 * tests/jobs/tick_helper.c - a process that is a scheduler: it looks once for every byte it is
 * given.
 *
 * tick_helper URL SCHEMA PREFIX. Says "looked" or "failed" each time. Ends with its standard input.
 */
#include <stdio.h>
#include <unistd.h>

#include "helper.h"

static bool tick_all(pawl_store *store)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    do {
        st = pawl_job_tick(store, &result, &err);
    } while (st == PAWL_OK && result.more);
    if (st != PAWL_OK)
        helper_complain("tick", &err);
    return st == PAWL_OK;
}

int main(int argc, char **argv)
{
    pawl_store *store = argc == 4 ? helper_open(argv) : NULL;
    char byte;

    if (!store)
        return 1;
    helper_say("ready");
    while (read(STDIN_FILENO, &byte, 1) == 1)
        helper_say(tick_all(store) ? "looked" : "failed");
    pawl_store_close(store);
    return 0;
}
