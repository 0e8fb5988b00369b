"""What is measured while a soak runs, and the bounds of the page."""

import resource
import time

import growth
from load import EVERY_S, LEASE_S, MESSAGES, PROCESSES, PURGE_AGE_S, PURGE_EVERY_S
from measure import Series, fixed_work, peak_rate
from processes import figures

NOT_ROWS = ("running", "dead_letters", "wait")
PEER_RETENTION_S = 60  # [inbox] retention of the daemons
RECENT_S = 20
STEPS_S = 0.1  # of processor time, in several processes, until something is done: longer where they wait for a processor


class Watch:
    def __init__(self, scenario):
        self.scenario = scenario
        self.page = growth.read()
        self.costs = {"wall": Series(), "cpu": Series(), "control_wall": Series(), "control_cpu": Series()}
        self.busy = Series()          # processor seconds in all
        self.handled = Series()       # messages in all
        self.session_busy = Series()  # processor seconds of the probe's sessions
        self.probes = Series()
        self.control_work = Series()
        self.lags = Series()
        self.waits = {}               # by side
        self.sent = {}                # by side and kind
        self.figures = {}             # by process and figure
        self.rows = {}                # by side and file: the most so far
        self.highest = {}             # by whose and what: count and bound

    # ---- how this machine does ----

    def lag(self):
        """By how much it runs late: whatever waits for a processor, the disk or a lock waits so long."""
        return 0.5 + self.slowest()

    def slowest(self):
        return max(self.lags.since(self.scenario.now() - RECENT_S), default=0)

    def note_lag(self, seconds):
        self.lags.add(self.scenario.now(), seconds)

    def wait(self, side):
        """For how long the oldest message that is due has been waiting."""
        return max(self.waits[side.name].since(self.scenario.now() - RECENT_S))

    def control(self):
        """A write of the application's own, and work that is always the same."""
        for side in self.scenario.sides:
            began = time.monotonic()
            side.store.run("UPDATE soak_control SET value = value + 1")
            self.note_lag(time.monotonic() - began)
        used, passed = fixed_work()
        self.control_work.add(self.scenario.now(), used)
        self.note_lag(STEPS_S * (passed / used - 1))

    # ---- rates ----

    def count_sent(self):
        now = self.scenario.now()
        for side in self.scenario.sides:
            for kind, sender in side.senders.items():
                self.sent.setdefault((side.name, kind), Series(0)).add(now, sender.sent)
            self.sent.setdefault((side.name, "fence"), Series(0)).add(now, side.store.fences())
        self.sent.setdefault(("left", "hoard"), Series(0)).add(now, self.scenario.deaths.sent())

    def rate(self, side, *kinds, window=30):
        """The highest number per second in the last `window` samples, and one that has not been told of yet."""
        return 1 + sum(peak_rate(self.sent[side, kind], window) for kind in kinds if (side, kind) in self.sent)

    # ---- bounds ----

    def known(self, side, counts):
        """Every word of the page's formulas; docs/internals/growth.md says what they mean."""
        scenario, here, there = self.scenario, side.name, side.peer
        arriving = self.rate(there, "cross", "url")
        kept = self.rate(there, "cross", "url", window=PEER_RETENTION_S + 30)
        self.waits.setdefault(here, Series(0)).add(scenario.now(), counts["wait"])
        jobs = 11
        return {
            **counts, "wait": self.wait(side), "lag": self.lag(),
            "rate": self.rate(here, *MESSAGES, "probe", "hoard") + arriving + jobs,
            "lease": max(LEASE_S, scenario.deaths.lease), "retention": scenario.retention, "every": EVERY_S, "delay": 3,
            "workers": len(side.workers) + 2, "killed": scenario.deaths.recent(), "in_flight": 200,
            "killed_claims": scenario.deaths.claims * 2, "races": self.rate(here, "fence") - 1, "work_lease": LEASE_S,
            "topics": 20, "named_topics": 1, "new_lanes": self.rate(here, "topic", "url"),
            "idle": scenario.idle,
            "dead_rate": self.rate(here, "dead"), "purge": PURGE_AGE_S + PURGE_EVERY_S,
            "lease_rate": self.rate(here, "lease"), "lease_ttl": 1,
            "inbox_rate": self.rate(here, "inbox"), "inbox_retention": 3,
            "peer_rate": kept, "peer_retention": PEER_RETENTION_S,
            "jobs": jobs, "keep_runs": 3, "states": side.store.states,
            "vacuum": 10, "snapshot": scenario.snapshot_age(side)}

    def check_bound(self, section, name, who, count, known):
        """One formula of the page; `who` has `count` of it."""
        bound = self.page[section][name]
        limit = bound.value(known)
        if count > self.highest.get((who, name), (-1, 0))[0]:
            self.highest[who, name] = (count, limit)
        self.scenario.check(f"bound of {name}", count <= limit,
                            f"{who}, after {self.scenario.now():.0f} s: {count}, allowed are {limit:.0f}: "
                            f"{bound.formula} = {bound.explain(known)}")

    def check_tables(self, side, counts, known):
        for name, bound in self.page["Tables"].items():
            if side.store.engine in bound.engines:
                self.check_bound("Tables", name, side.name, counts[name], known)

    def check_files(self, side, counts, known):
        """A file of SQLite has the rows of all tables, one of PostgreSQL those of its own."""
        rows = {name: count for name, count in counts.items() if name not in NOT_ROWS}
        rows["file"] = sum(rows.values())
        for file, size in side.store.bytes().items():
            most = self.rows[side.name, file] = max(self.rows.get((side.name, file), 0), rows.get(file, 0))
            name = file if file in self.page["Files"] else "relation"
            who = side.name if name == file else f"{side.name} {file}"
            self.check_bound("Files", name, who, size, {**known, "rows": most})

    def check_processes(self, side):
        """Of those that are never killed."""
        for kind, child in (("worker", side.workers[0]), ("daemon", side.daemon)):
            for figure, count in figures(child.pid).items() if child.alive() else ():
                self.figures.setdefault((child.name, figure), Series()).add(self.scenario.now(), count)
                if f"{kind}-{figure}" in self.page["Processes"]:
                    self.check_bound("Processes", f"{kind}-{figure}", child.name, count, PROCESSES)

    def check_schema(self, side):
        missing = (side.store.tables() | side.store.indexes()) - growth.names()
        self.scenario.check("every table and index is on the page", not missing, f"{sorted(missing)}")

    def check_page(self):
        """Every bound was looked at."""
        wanted = {name for section in ("Tables", "Files", "Processes") for name, bound in self.page[section].items()
                  if self.scenario.engine in bound.engines}
        missing = wanted - {name for _, name in self.highest}
        self.scenario.check("every bound of the page was checked", not missing, f"{sorted(missing)}")

    # ---- once a second ----

    def sample(self):
        """How long anything has been waiting, on any side."""
        scenario = self.scenario
        self.control()
        samples = [(side, side.sample()) for side in scenario.sides]
        self.count_sent()
        handled = wait = 0
        for side, counts in samples:
            known = self.known(side, counts)
            self.check_tables(side, counts, known)
            self.check_files(side, counts, known)
            self.check_processes(side)
            handled += sum(side.senders[kind].sent for kind in MESSAGES if kind in side.senders) - counts["queue"]
            wait = max(wait, counts["wait"])
        self.measure(handled)
        return wait

    def measure(self, handled):
        scenario, now = self.scenario, self.scenario.now()
        left = scenario.sides[0]
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.handled.add(now, handled)
        self.busy.add(now, ended.ru_utime + ended.ru_stime + left.store.server_cpu()
                      + sum(child.cpu() for side in scenario.sides for child in side.children()))
        self.session_busy.add(now, left.store.session_cpu("soak_probe"))
        self.probes.add(now, left.senders["probe"].sent)
        for line in left.senders["probe"].take_lines():
            if line.startswith("claim "):
                for name, number in zip(self.costs, map(int, line.split()[1:])):
                    self.costs[name].add(now, number / 1e6)
