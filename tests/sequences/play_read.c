/* tests/sequences/play_read.c - get, find and list. */
#include "play.h"

pawl_filter play_filter(const model *m, const step *s)
{
    pawl_filter filter = PAWL_FILTER_INIT;

    filter.states = s->states;
    filter.topic = s->topic == NOBODY ? NULL : model_topics[s->topic];
    filter.correlation_id = model_correlation(s->correlation);
    if (s->before != NOBODY)
        filter.before.value = m->messages[s->before].work_id;
    filter.limit = s->limit;
    filter.with_payload = true;
    return filter;
}

static void play_one(player *p, const step *s)
{
    int number = s->picks[0].number;
    const model_message *x = &p->m.messages[number];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;
    pawl_status expected = x->present ? PAWL_OK : PAWL_E_NOT_FOUND;
    pawl_status st;

    if (s->kind == STEP_GET)
        st = pawl_outbox_get(player_store(p, s), (pawl_work_id){x->work_id}, &one, &err);
    else
        st = pawl_outbox_find(player_store(p, s), model_id(&p->m, number), &one, &err);
    if (st != expected)
        finding_say(&p->wrong, "it answered %s instead of %s", pawl_status_name(st),
                    pawl_status_name(expected));
    else if (st == PAWL_OK)
        compare_message(&p->m, x, pawl_messages_at(one, 0), true, &p->wrong);
    pawl_messages_free(one);
}

static void play_list(player *p, const step *s)
{
    pawl_filter filter = play_filter(&p->m, s);
    pawl_work_id ids[MODEL_MESSAGES];
    size_t expected = model_matching(&p->m, &filter, ids);
    size_t page = expected < (size_t)s->limit ? expected : (size_t)s->limit;
    int64_t expected_next = expected > page ? ids[page - 1].value : 0;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_work_id next = {-1};

    if (pawl_outbox_list(player_store(p, s), &filter, &list, &next, &err) != PAWL_OK)
        finding_say(&p->wrong, "list answered: %s", err.message);
    else if (pawl_messages_count(list) != page)
        finding_say(&p->wrong, "%zu are listed, should be %zu", pawl_messages_count(list), page);
    else if (next.value != expected_next)
        finding_say(&p->wrong, "the next page is said to be before %lld, should be %lld",
                    (long long)next.value, (long long)expected_next);
    for (size_t i = 0; !p->wrong.found && i < page; i++) {
        const model_message *x = model_by_work_id(&p->m, ids[i].value);

        compare_message(&p->m, x, pawl_messages_at(list, i), true, &p->wrong);
    }
    pawl_messages_free(list);
}

void play_read(player *p, const step *s)
{
    p->covered.effective[s->kind]++;
    if (s->kind == STEP_LIST)
        play_list(p, s);
    else
        play_one(p, s);
}
