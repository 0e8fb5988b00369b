/* src/cli/ward.h - a command that runs only while a lease is held. */
#ifndef CLI_WARD_H
#define CLI_WARD_H

#include <stdint.h>

#include <pawl/lease_runner.h>

typedef struct cli_ward {
    char *const *argv; /* argv[0] is looked for in PATH */
    char *const *environment;
    pawl_lease_runner *runner; /* started */
    int64_t grace_ms;          /* between TERM and KILL */
} cli_ward;

/*
 * Run it in a process group of its own until it ends. Signals are passed on to the group; it gets
 * the terminal if we have it. When the lease is lost the group gets TERM, and KILL after grace_ms.
 * *ret_exit is the exit code to end with: the command's, or 128 and the number of its signal.
 * PAWL_E_LOST: it was lost before the command had ended. PAWL_E_NOT_FOUND: it cannot be run.
 */
pawl_status cli_ward_run(const cli_ward *ward, int *ret_exit, pawl_error *err);

#endif
