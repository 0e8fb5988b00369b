/* tests/leases/lease_model.c - the rules of leases, independent of the SQL. */
#include "lease_model.h"

bool model_leased(const model *m, int name)
{
    const model_lease *lease = &m->leases[name];

    return lease->known && !lease->released && lease->expires_at > m->now;
}

static bool leased_under(const model *m, int name, int64_t fence)
{
    return model_leased(m, name) && m->leases[name].fence == fence;
}

static void lease_model_expect(pawl_status expected, pawl_status st, const char *what,
                               finding *wrong)
{
    if (st != expected)
        finding_say(wrong, "%s answered %s instead of %s", what, pawl_status_name(st),
                    pawl_status_name(expected));
}

/* ---- from the results alone ---- */

static void check_token(model *m, int64_t fence, finding *wrong)
{
    if (fence <= m->highest)
        finding_say(wrong, "token %lld was drawn after %lld", (long long)fence,
                    (long long)m->highest);
    m->highest = fence;
}

static void check_one_holder(const model *m, int name, int owner, finding *wrong)
{
    for (int other = 0; other < MODEL_OWNERS; other++)
        if (other != owner && m->beliefs[name][other].expires_at > m->now)
            finding_say(wrong, "owner %d got the lease while it is owner %d's until %lld", owner,
                        other, (long long)m->beliefs[name][other].expires_at);
}

/* ---- the calls ---- */

static void check_grant(const model *m, const pawl_lease_grant *grant, int64_t expires_at,
                        finding *wrong)
{
    if (grant->now.us != m->now)
        finding_say(wrong, "it was %lld by the answer's clock, not %lld", (long long)grant->now.us,
                    (long long)m->now);
    if (grant->expires_at.us != expires_at)
        finding_say(wrong, "it ends at %lld instead of %lld", (long long)grant->expires_at.us,
                    (long long)expires_at);
}

static int64_t lease_model_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void model_acquired(model *m, int name, int owner, int64_t ttl_ms, pawl_status st,
                    const pawl_lease_grant *grant, finding *wrong)
{
    model_lease *lease = &m->leases[name];
    bool leased = model_leased(m, name);
    bool extends = leased && lease->owner == owner;
    int64_t end = m->now + ttl_ms * 1000;

    lease_model_expect(leased && !extends ? PAWL_E_HELD : PAWL_OK, st, "acquire", wrong);
    if (st != PAWL_OK)
        return;
    check_one_holder(m, name, owner, wrong);
    if (grant->taken) {
        check_token(m, grant->fence, wrong);
        for (int other = 0; other < MODEL_OWNERS; other++)
            m->beliefs[name][other].expires_at =
                0; /* ended by that clock, whatever it shows later */
    }
    if (grant->taken == extends)
        finding_say(wrong, extends ? "an owner got a new token" : "a new owner has an old token");
    if (extends && grant->fence != lease->fence)
        finding_say(wrong, "an extension has another token");
    check_grant(m, grant, extends ? lease_model_later(lease->expires_at, end) : end, wrong);
    *lease = (model_lease){true,         owner,
                           grant->fence, extends ? lease_model_later(lease->expires_at, end) : end,
                           false,        lease->known ? lease->forced_fence : 0};
    m->latest[name] = grant->fence;
    m->beliefs[name][owner] = (belief){grant->fence, grant->expires_at.us};
}

void model_renewed(model *m, int name, int owner, int64_t fence, int64_t ttl_ms, pawl_status st,
                   const pawl_lease_grant *grant, finding *wrong)
{
    model_lease *lease = &m->leases[name];
    bool mine = leased_under(m, name, fence) && lease->owner == owner;

    lease_model_expect(mine ? PAWL_OK : PAWL_E_LOST, st, "renew", wrong);
    if (st != PAWL_OK) {
        if (m->beliefs[name][owner].fence == fence)
            m->beliefs[name][owner].expires_at = 0;
        return;
    }
    check_one_holder(m, name, owner, wrong);
    lease->expires_at = lease_model_later(lease->expires_at, m->now + ttl_ms * 1000);
    check_grant(m, grant, lease->expires_at, wrong);
    m->beliefs[name][owner] = (belief){fence, grant->expires_at.us};
}

void model_released(model *m, int name, int owner, int64_t fence, pawl_status st, finding *wrong)
{
    model_lease *lease = &m->leases[name];
    bool mine = leased_under(m, name, fence) && lease->owner == owner;

    lease_model_expect(mine ? PAWL_OK : PAWL_E_LOST, st, "release", wrong);
    if (m->beliefs[name][owner].fence == fence)
        m->beliefs[name][owner].expires_at = 0;
    if (mine) {
        lease->released = true;
        lease->expires_at = m->now;
    }
}

/* Forced by an administrator: owners that still believe in it no longer count as owners. */
void model_forced(model *m, int name, int64_t fence, pawl_status st, finding *wrong)
{
    model_lease *lease = &m->leases[name];
    bool takes = model_leased(m, name) && (fence == 0 || lease->fence == fence);

    lease_model_expect(!lease->known ? PAWL_E_NOT_FOUND : (takes ? PAWL_OK : PAWL_E_LOST), st,
                       "force_release", wrong);
    if (!takes)
        return;
    lease->released = true;
    lease->expires_at = m->now;
    lease->forced_fence = lease->fence;
    for (int owner = 0; owner < MODEL_OWNERS; owner++)
        m->beliefs[name][owner].expires_at = 0;
}

void model_guarded(const model *m, int name, int64_t fence, pawl_status st, finding *wrong)
{
    if (st == PAWL_OK && fence < m->latest[name])
        finding_say(wrong, "token %lld passed the guard after %lld was given out", (long long)fence,
                    (long long)m->latest[name]);
    lease_model_expect(leased_under(m, name, fence) ? PAWL_OK : PAWL_E_LOST, st, "guard", wrong);
}

void model_cleaned(model *m, int64_t keep_ms, size_t removed, finding *wrong)
{
    size_t expected = 0;

    for (int name = 0; name < MODEL_NAMES; name++) {
        if (!m->leases[name].known || m->leases[name].expires_at > m->now - keep_ms * 1000)
            continue;
        m->leases[name] = (model_lease){0};
        for (int owner = 0; owner < MODEL_OWNERS && m->forgets_time; owner++)
            m->beliefs[name][owner].expires_at = 0;
        expected++;
    }
    if (removed != expected)
        finding_say(wrong, "clean removed %zu instead of %zu", removed, expected);
}

void model_claimed(model *m, int64_t fence, finding *wrong)
{
    check_token(m, fence, wrong);
}

void model_check_read(const model *m, int name, const pawl_lease *lease, finding *wrong)
{
    const model_lease *should = &m->leases[name];

    if ((lease != NULL) != should->known) {
        finding_say(wrong, "the lease is %sthere", lease ? "" : "not ");
        return;
    }
    if (!lease)
        return;
    if (lease->owned != model_leased(m, name) || lease->fence != should->fence ||
        lease->expires_at.us != should->expires_at ||
        (lease->released_at.us != 0) != should->released ||
        lease->forced_fence != should->forced_fence)
        finding_say(wrong,
                    "it shows owned %d, token %lld, end %lld, released %d, taken away %lld instead "
                    "of %d, %lld, %lld, %d, %lld",
                    lease->owned, (long long)lease->fence, (long long)lease->expires_at.us,
                    lease->released_at.us != 0, (long long)lease->forced_fence,
                    model_leased(m, name), (long long)should->fence, (long long)should->expires_at,
                    should->released, (long long)should->forced_fence);
}
