/* tests/crash/life_lease.c - taking, renewing and giving back leases. */
#include "life.h"

static void check_end(life *l, const step *s, const pawl_lease_grant *grant)
{
    if (grant->expires_at.us / 1000 != step_now_ms(l->at) + s->ms)
        life_wrong(l, "the lease ends at another time");
}

static void check_token(life *l, const pawl_lease_grant *grant)
{
    if (!grant->taken || grant->fence <= l->highest_fence)
        life_wrong(l, "the lease's token is %lld after %lld", (long long)grant->fence,
                   (long long)l->highest_fence);
    l->highest_fence = grant->fence;
}

/* An owner that lost the answer to its take would ask again, too. */
static pawl_status learn_token(life *l, const char *name, int64_t *ret_fence, pawl_error *err)
{
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(l->store, name, &one, err);

    if (st == PAWL_OK)
        *ret_fence = pawl_leases_at(one, 0)->fence;
    if (st == PAWL_OK && *ret_fence > l->highest_fence)
        l->highest_fence = *ret_fence;
    pawl_leases_free(one);
    return st;
}

static pawl_status clean(life *l, pawl_error *err)
{
    const model *before = scenario_model(l->at), *after = scenario_model(l->at + 1);
    size_t removed = 0, expected = 0;
    pawl_status st = pawl_lease_clean(l->store, 0, &removed, NULL, err);

    for (int i = 0; i < MODEL_LEASES; i++)
        expected += before->leases[i].fence != 0 && after->leases[i].fence == 0;
    if (st == PAWL_OK && removed != expected)
        life_wrong(l, "forgot %zu leases instead of %zu", removed, expected);
    return st;
}

static pawl_status change(life *l, const step *s, const char *name, pawl_error *err)
{
    pawl_owner owner = model_owner(s->owner);
    pawl_lease_grant grant;
    int64_t fence = 0;
    pawl_status st = learn_token(l, name, &fence, err);

    if (st != PAWL_OK)
        return st;
    if (s->verb == LEASE_RENEW) {
        st = pawl_lease_renew(l->store, name, owner, fence, s->ms, &grant, err);
        if (st == PAWL_OK)
            check_end(l, s, &grant);
        return st;
    }
    if (s->verb == LEASE_RELEASE)
        return pawl_lease_release(l->store, name, owner, fence, NULL, err);
    st = pawl_lease_release(l->store, name, owner, fence - 1, NULL, err);
    if (st == PAWL_OK)
        life_wrong(l, "a token that is not the holder's gave the lease back");
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

pawl_status life_lease(life *l, const step *s, pawl_error *err)
{
    const char *name = model_lease_name(s->first);
    pawl_lease_grant grant;

    if (s->verb == LEASE_CLEAN)
        return clean(l, err);
    if (s->verb != LEASE_TAKE)
        return change(l, s, name, err);
    pawl_status st =
        pawl_lease_acquire(l->store, name, model_owner(s->owner), s->ms, "worker", &grant, err);
    if (st == PAWL_OK) {
        check_token(l, &grant);
        check_end(l, s, &grant);
    }
    return st;
}
