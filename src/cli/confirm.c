/* src/cli/confirm.c - asking before something is changed. */
#include <stdio.h>
#include <strings.h>
#include <string.h>
#include <unistd.h>

#include "confirm.h"
#include "fail.h"
#include "output.h"

pawl_status cli_confirm_possible(const char *verb, pawl_error *err)
{
    if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1)
        return PAWL_OK;
    return cli_fail(err, PAWL_E_INVALID,
                    "%s asks before it changes anything, and this is not a terminal; add --yes (or "
                    "--dry-run to look first)",
                    verb);
}

bool cli_confirm(const char *question)
{
    char answer[16] = "";

    fflush(stdout);
    fprintf(stderr, "%s%s [y/N]%s ", cli_style(stderr, CLI_BOLD), question,
            cli_style(stderr, CLI_PLAIN));
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin)) {
        fputc('\n', stderr);
        return false;
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}
