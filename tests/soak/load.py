"""What a soak does, in numbers."""

# Kind of message, target per second, most per call.
LOAD = (("single", 300, 1), ("batch", 3000, 200), ("flaky", 30, 5), ("dead", 20, 5), ("timer", 50, 10),
        ("topic", 60, 10), ("cross", 60, 5), ("url", 30, 5))
MESSAGES = tuple(kind for kind, *_ in LOAD)
USERS = (("lease", 30), ("inbox", 40), ("job", 1), ("probe", 10))
EFFECTS = ("single", "flaky", "timer", "cross", "url", "inbox")  # rows of the application, each once
STEADY = ("job", "probe")                                        # the same at any load
MEASURED_SCALE = 0.15   # of the load while costs are compared: any machine can do it

LEASE_S = 3             # of workers and deliveries
EVERY_S = 1             # maintenance
KILL_EVERY_S = 4
HOARD_EVERY_S = 10
RUN_AGAIN_S = 2         # after the lease
PURGE_EVERY_S = 2
PURGE_AGE_S = 10
AUDIT_EVERY_S = 5
SNAPSHOT_EVERY_S = 600
SNAPSHOT_MAX_S = 20
COMPARE_FROM_S = 40     # a shorter run has no beginning and end that could be compared
STUCK_S = 60            # without any progress when the load has ended

# What the workers and the daemons were told, or have as their default.
PROCESSES = {"pool": 10, "concurrency": 4, "handlers": 16, "server_threads": 2, "in_flight": 64}


def is_cancelled(number):
    """Of timers: soak_send_helper.c takes these back."""
    return number % 10 == 0
