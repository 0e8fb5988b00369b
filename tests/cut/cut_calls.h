/* tests/cut/cut_calls.h - the calls of the cut scenario that no other suite makes so. */
#ifndef PAWL_CUT_CALLS_H
#define PAWL_CUT_CALLS_H

#include "scenario.h"

/* Sending, alone and in the application's transaction. */
pawl_status cut_send_one(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_send_again(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_send_wrapped(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_resolve_wrapped(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_send_undone(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_schedule(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_unschedule(scenario *s, size_t *ret_changed, pawl_error *err);

/* Claiming: what to do when it is not known what was given. */
pawl_status cut_resolve_claim_four(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_resolve_claim_rest(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_ack_and_claim(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_resolve_ack_and_claim(scenario *s, size_t *ret_changed, pawl_error *err);

pawl_status cut_lease_guard(scenario *s, size_t *ret_changed, pawl_error *err);

/* Only reading; each returns PAWL_E_STORE when a result is not whole. */
pawl_status cut_list(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_stats(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_read_messages(scenario *s, size_t *ret_changed, pawl_error *err);

/* Receiving: atomic, and around a call. */
pawl_status cut_receive(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_call(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_call_done(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_call_again(scenario *s, size_t *ret_changed, pawl_error *err);

/* Jobs. */
pawl_status cut_job_put(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_put_another(scenario *s, size_t *ret_changed, pawl_error *err);
void cut_job_three_minutes(scenario *s);
pawl_status cut_job_tick(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_trigger(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_resolve_trigger(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_claim(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_resolve_claim(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_ack(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_disable(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status cut_job_delete(scenario *s, size_t *ret_changed, pawl_error *err);

#endif
