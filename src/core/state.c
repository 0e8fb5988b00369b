/* src/core/state.c - the states of a message and the moves between them: one table. */
#include <pawl/message.h>

#define MAY(to) (1u << PAWL_STATE_##to)

/* Row: from. The SQL constraint on outcome.state says the same of the final ones. */
static const unsigned moves[PAWL_STATE_COUNT] = {
    [PAWL_STATE_READY] = MAY(IN_PROGRESS) | MAY(EXPIRED) | MAY(CANCELLED),
    [PAWL_STATE_IN_PROGRESS] = MAY(READY) | MAY(DONE) | MAY(FAILED) | MAY(CANCELLED),
    [PAWL_STATE_DONE] = 0,
    [PAWL_STATE_FAILED] = MAY(READY) | MAY(EXPIRED),
    [PAWL_STATE_EXPIRED] = MAY(READY),
    [PAWL_STATE_CANCELLED] = MAY(READY),
};

bool pawl_state_may_become(pawl_state from, pawl_state to)
{
    if ((unsigned)from >= PAWL_STATE_COUNT || (unsigned)to >= PAWL_STATE_COUNT)
        return false;
    return (moves[from] & (1u << to)) != 0;
}

const char *pawl_state_name(pawl_state state)
{
    static const char *const names[PAWL_STATE_COUNT] = {"ready",  "in_progress", "done",
                                                        "failed", "expired",     "cancelled"};

    return (unsigned)state < PAWL_STATE_COUNT ? names[state] : "unknown";
}

const char *pawl_type_name(pawl_type type)
{
    static const char *const names[] = {"signal", "command", "push_call", "response"};

    return (unsigned)type < 4 ? names[type] : "unknown";
}
