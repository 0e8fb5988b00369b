/* src/cli/ward.h - running a command while a lease is owned. */
#ifndef CLI_WARD_H
#define CLI_WARD_H

#include <stdint.h>

#include <pawl/lease_runner.h>

typedef struct cli_ward {
    char *const *argv; /* argv[0] is searched in PATH */
    char *const *environment;
    pawl_lease_runner *runner; /* started */
    int64_t grace_ms;          /* between TERM and KILL */
} cli_ward;

/*
 * Runs it in a process group of its own until it ends. Signals are forwarded to the group; it gets
 * the terminal if we have it. When the lease is lost the group gets TERM, and KILL after grace_ms.
 * *ret_exit is the exit code to use: the command's, or 128 plus the number of its signal.
 * PAWL_E_LOST: the lease was lost before the command had ended. PAWL_E_NOT_FOUND: it cannot be run.
 */
pawl_status cli_ward_run(const cli_ward *ward, int *ret_exit, pawl_error *err);

#endif
