/* tests/fault/life_timer.c - the calls of a life of timers: schedule, look, take back. */
#include "life.h"
#include "life_steps.h"

#define TIMER kit_id(77)

static pawl_status with_scheduler(life *l, pawl_scheduler **ret_scheduler, pawl_error *err)
{
    return pawl_scheduler_new_on_store(l->store, ret_scheduler, err);
}

static pawl_status schedule(life *l, pawl_error *err)
{
    pawl_outgoing batch[2] = {kit_message("timers", "a"), kit_message("timers", "b")};
    pawl_scheduler *scheduler = NULL;
    pawl_status st = with_scheduler(l, &scheduler, err);

    batch[0].id = TIMER;
    batch[1].id = kit_id(78);
    batch[0].correlation_id = "1";
    batch[1].correlation_id = "2";
    batch[0].delay_ms = batch[1].delay_ms = DAY_MS;
    if (st == PAWL_OK)
        st = pawl_timer_schedule_batch(scheduler, batch, 2, NULL, err);
    pawl_scheduler_free(scheduler);
    return st;
}

static pawl_status look_at_timers(life *l, pawl_error *err)
{
    pawl_timer_query query = PAWL_TIMER_QUERY_INIT;
    pawl_scheduler *scheduler = NULL;
    pawl_messages *list = NULL;
    pawl_timer_total total;
    pawl_status st = with_scheduler(l, &scheduler, err);

    query.with_payload = true;
    query.topic = "timers";
    query.limit = 1; /* a full page, and one more row than it has */
    if (st == PAWL_OK)
        st = pawl_timer_pending(scheduler, &query, &list, NULL, err);
    pawl_messages_free(list);
    if (st == PAWL_OK)
        st = pawl_timer_count(scheduler, &query, &total, err);
    pawl_scheduler_free(scheduler);
    return st;
}

static pawl_status take_back(life *l, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_message_id id = TIMER;
    pawl_status st = with_scheduler(l, &scheduler, err);

    if (st == PAWL_OK)
        st = pawl_timer_cancel(scheduler, &id, 1, NULL, err);
    pawl_scheduler_free(scheduler);
    return st;
}

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition

static const life_step steps[] = {
    {"open", NULL, life_open, NULL, NULL, 0},
    {"schedule", NULL, schedule, NULL, COUNT_WHERE("state = 0 AND due_at > created_at"), 2},
    {"look at timers", NULL, look_at_timers, NULL, NULL, 0},
    {"unschedule", NULL, take_back, NULL, COUNT_WHERE("state = 5"), 1},
    {NULL, NULL, NULL, NULL, NULL, 0},
};

const life_story life_timer = {steps, "1:5/0 2:0/0"};
