/* src/cli/report.c - what `pawl work` says about messages and the database while it works. */
#include <inttypes.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "output.h"
#include "screen.h"
#include "text.h"
#include "work.h"

static const char *outcome_text(const pawl_settled *what, cli_color *ret_color)
{
    bool last = what->attempt >= pawl_message_max_attempts(what->message);

    switch (what->outcome) {
    case PAWL_OUTCOME_DONE:
        *ret_color = CLI_GREEN;
        return "done";
    case PAWL_OUTCOME_RETRIED:
        *ret_color = last ? CLI_RED : CLI_YELLOW;
        return last ? "failed, no attempts left" : "will be tried again";
    case PAWL_OUTCOME_FAILED:
        *ret_color = CLI_RED;
        return "failed";
    case PAWL_OUTCOME_RELEASED:
        *ret_color = CLI_YELLOW;
        return "released";
    default:
        *ret_color = CLI_MAGENTA;
        return "result dropped";
    }
}

static char *reason(const pawl_settled *what)
{
    if (what->outcome == PAWL_OUTCOME_LOST)
        return cli_copy("the message is no longer ours, or the result could not be stored");
    return what->error ? cli_text_clean(what->error, strlen(what->error), true) : NULL;
}

/* "12 mail: done (attempt 1/10, 35 ms)". A dropped result is always worth a line. */
void cli_report_settled(void *context, const pawl_settled *what)
{
    const cli_work *work = context;
    const char *name = pawl_message_topic(what->message);
    CLI_AUTO_FREE char *topic = NULL;
    CLI_AUTO_FREE char *error = NULL;
    cli_color color;
    const char *text = outcome_text(what, &color);

    if (!work->options->talk && what->outcome != PAWL_OUTCOME_LOST)
        return;
    topic = cli_text_clean(name, strlen(name), true);
    error = reason(what);
    cli_screen_print("%" PRId64 " %s: %s%s%s (attempt %d/%d, %" PRId64 " ms)%s%s\n",
                     pawl_message_work_id(what->message).value, topic, cli_style(stderr, color),
                     text, cli_style(stderr, CLI_PLAIN), what->attempt,
                     pawl_message_max_attempts(what->message), what->took_us / 1000,
                     error ? ": " : "", error ? error : "");
}

void cli_report_store(void *context, const pawl_error *err)
{
    (void)context;
    if (err)
        cli_note("%s; trying again until it works", err->message);
    else
        cli_note("the database answers again");
}
