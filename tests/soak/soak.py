#!/usr/bin/env python3
"""soak.py ENGINE - everything at once under constant load, and what grows: docs/internals/growth.md.

PAWL_SOAK_SECONDS is how long the load lasts (default 60).
"""

import os
import sys

from scenario import Scenario


def main():
    engine = sys.argv[1]
    seconds = float(os.environ.get("PAWL_SOAK_SECONDS", "60"))
    scenario = Scenario(engine, seconds, say=lambda text: print(f"# {text}", flush=True))
    checks = scenario.play()
    for number, (name, wrong) in enumerate(checks.items(), 1):
        for text in wrong[:5]:
            print(f"# {name}: {text}")
        if len(wrong) > 5:
            print(f"# {name}: {len(wrong)} times in all; the last: {wrong[-1]}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
    print(f"1..{len(checks)}", flush=True)
    return 1 if any(checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
