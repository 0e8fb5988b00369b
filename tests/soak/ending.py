"""The end of a soak: everything was handled, once where that is promised, and nothing is leased."""

import time

from load import EFFECTS, LOAD, RUN_AGAIN_S, STUCK_S, is_cancelled
from processes import await_end

ENDS_WELL = "every process ends well"
NOT_LEASED = "nothing is leased at the end"


def audit(scenario):
    """The rows of effects: none twice."""
    for side in scenario.sides:
        for kind in EFFECTS:
            doubled = side.audit(kind, is_cancelled if kind == "timer" else lambda number: False)
            scenario.check(f"nothing doubled: {kind}", not doubled,
                           f"{side.name}: {len(doubled)} numbers have their row more than once: {doubled[:10]}")


def drain(scenario):
    """No more load; wait until everything is handled, as long as there is progress."""
    for side in scenario.sides:
        for sender in side.senders.values():
            sender.close_input()
        for sender in side.senders.values():
            code = sender.wait()
            scenario.check(ENDS_WELL, code == 0, sender.words())
    scenario.deaths.kill_hoard(wait=True)
    progress, left = time.monotonic(), None
    while (left != 0 or scenario.deaths.holdings) and time.monotonic() - progress < STUCK_S:
        scenario.watch.control()
        scenario.deaths.follow()
        counts = [side.sample() for side in scenario.sides]
        unfinished = sum(count["queue"] + count["dead"] + count["claim"] for count in counts)
        if unfinished != left:
            progress, left = time.monotonic(), unfinished
        await_end(0.1)
    scenario.check("everything is handled at the end", left == 0,
                   f"{left} messages or claims are unfinished, and nothing changed for {STUCK_S} s: {counts}")


def stop(scenario):
    if scenario.keeper:
        scenario.keeper.close_input()
        scenario.keeper.wait()
    for side in scenario.sides:
        for child in [*side.workers, side.daemon]:
            code = child.stop()
            scenario.check(ENDS_WELL, code == 0, child.words())


def check_leases(scenario):
    for side in scenario.sides:
        counts = side.sample()
        scenario.check(NOT_LEASED, counts["running"] == 0 and counts["claim"] == 0,
                       f"{side.name}: {counts['running']} messages, {counts['claim']} claim rows")
        held = [row for row in side.store.rows(
            "SELECT name, owner_name FROM {lease} WHERE expires_at <TIME> > <NOW> AND name NOT LIKE 'soak-%'")
                if row[1] not in scenario.deaths.victims]  # what those had ends by itself
        scenario.check(NOT_LEASED, not held, f"{side.name}: leases {held}")


def check_effects(scenario):
    """Each number that was sent has its row. The first that is missing is known from the audits."""
    audit(scenario)
    left, right = scenario.sides
    sent = {(side.name, kind): sender.sent for side in scenario.sides for kind, sender in side.senders.items()}
    for side, kind, sender in ((left, "single", "left"), (left, "flaky", "left"), (left, "timer", "left"),
                               (left, "inbox", "left"), (left, "cross", "right"), (right, "cross", "left"),
                               (right, "url", "left")):
        count, low = sent[sender, kind], side.lows[kind]
        if kind == "timer" and low == count + 1 and is_cancelled(count):
            low = count  # the next one would have been cancelled
        scenario.check(f"nothing lost: {kind}", low == count,
                       f"{side.name}: {count} were sent, the first whose row is missing is {low}")
    for kind, count in (("batch", sent["left", "batch"]), ("topic", sent["left", "topic"]),
                        ("dead", sent["left", "dead"]), ("hoard", scenario.deaths.hoarded)):
        lost = left.marks(kind, count)
        scenario.check(f"nothing lost: {kind}", not lost,
                       f"{len(lost)} of {count} were sent and no handler was called for them: {lost[:10]}")


def report(scenario):
    left, deaths, seconds = scenario.sides[0], scenario.deaths, scenario.seconds
    reached = ", ".join(f"{kind} {left.senders[kind].sent / seconds:.0f} of {target}" for kind, target, _ in LOAD)
    scenario.say(f"{scenario.engine}: {seconds:.0f} s; reached per second, by the target: {reached}")
    recovered = sorted(deaths.recovered) or [0]
    soon = sum(1 for late in recovered if late <= RUN_AGAIN_S)
    scenario.say(f"{len(deaths.kills)} workers killed, {len(deaths.hoards)} processes with up to {deaths.claims} claims "
                 f"each, {sum(deaths.held)} messages in all; those of {soon} of {len(recovered)} processes ran again within "
                 f"{RUN_AGAIN_S} s after the lease, of half within {recovered[len(recovered) // 2]:.2f} s, of all within "
                 f"{recovered[-1]:.2f} s")
    for (who, name), (count, limit) in sorted(scenario.watch.highest.items()):
        scenario.say(f"{who}: {name} {count} at most, allowed were {limit:.0f}")
