#!/usr/bin/env python3
"""broken.py ENGINE [FAULT...] - what is wrong on purpose has to be found by the checks of soak.py, for the right reason."""

import sys

from deaths import CHECK as REAP
from scenario import Scenario

SECONDS = 90  # at most: a run ends when the fault is found
# What is broken, which check has to find it, and which others may, too, because of it.
BROKEN = {
    "reap": ("a reap that does not repeat", REAP, ("bound of lane", "bound of topic_stats")),
    "claim": ("claim rows left behind", "bound of claim", ()),
    "lane": ("lanes never removed", "bound of lane", ("bound of topic_stats", "bound of lane_stats")),
    "leak": ("a leak of one descriptor per connection", "bound of daemon-descriptors", ()),
}


def main():
    engine, chosen = sys.argv[1], sys.argv[2:] or list(BROKEN)
    failed = False
    for number, breakage in enumerate(chosen, 1):
        what, expected, others = BROKEN[breakage]
        scenario = Scenario(engine, SECONDS, say=print, breakage=breakage)
        wrong = scenario.find(expected)
        good = expected in wrong and not set(wrong) - {expected, *others}
        for name, texts in wrong.items():
            print(f"# {name}: {texts[0]}")
        print(f"# {'found' if wrong else 'nothing was found'} after {scenario.now():.0f} s")
        print(f"{'ok' if good else 'not ok'} {number} - found: {what}", flush=True)
        failed |= not good
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
