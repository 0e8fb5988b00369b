"""What happens in a soak: docs/internals/growth.md."""

import pathlib
import shutil
import socket
import tempfile
import time

import ending
from deaths import CHECK, Deaths
from load import (AUDIT_EVERY_S, COMPARE_FROM_S, EVERY_S, HOARD_EVERY_S, KILL_EVERY_S, LOAD, MEASURED_SCALE, PURGE_AGE_S,
                  PURGE_EVERY_S, SNAPSHOT_EVERY_S, SNAPSHOT_MAX_S, STEADY, USERS)
from measure import LONG_S, compare
from processes import HELPERS, await_end
from side import Side
from watch import Watch

TICK_S = 0.25
HOARD_CLAIMS = 300  # more than one reap takes


class Scenario:
    """`breakage` is what is wrong on purpose (broken.py); such a run has a light load and shorter times."""

    def __init__(self, engine, seconds, say, breakage=None):
        self.engine = engine
        self.seconds = seconds
        self.say = say
        self.breakage = breakage
        self.once = breakage == "reap"  # one process reaps, once a second, and does not repeat
        self.retention = 1 if breakage else 5
        self.idle = 1 if breakage else 5  # an empty lane stays so long
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
        self.checks = {}                # by name: what was wrong
        self.sides = []
        self.keeper = None              # maintenance that is wrong on purpose
        self.watch = Watch(self)
        self.deaths = Deaths(self, 1000 if self.once else HOARD_CLAIMS, 6,
                             0 if self.once else EVERY_S)
        self.scale = MEASURED_SCALE if breakage else 0.5  # of the load
        self.snapshot = None
        self.snapshot_began = self.snapshot_ended = 0
        self.times = {}                 # when something is due again
        self.began = time.monotonic()

    def check(self, name, good, text=""):
        wrong = self.checks.setdefault(name, [])
        if not good:
            wrong.append(text)
        return good

    def now(self):
        return time.monotonic() - self.began

    def spans(self):
        """When the load is the same at the beginning and at the end, so that costs can be compared. The beginning of a long
        run is when five minutes have passed, for which claims remember lanes and deliveries remember destinations."""
        length = min(0.2 * self.seconds, 120)
        first = 330 if self.seconds >= LONG_S else 0.25 * self.seconds
        return (first, first + length), (self.seconds - length, self.seconds)

    def is_measured(self):
        return self.seconds >= COMPARE_FROM_S and any(first - 3 <= self.now() < last for first, last in self.spans())

    # ---- the beginning ----

    def set_up(self):
        for name, peer in (("left", "right"), ("right", "left")):
            self.sides.append(Side(self.engine, self.folder, name, peer, self.retention))
        left, right = self.sides
        if self.breakage in ("claim", "lane"):
            left.store.keep(self.breakage)
        for side in self.sides:
            self.watch.check_schema(side)
            side.start_daemon(preload=HELPERS / "soak_leak.so" if self.breakage == "leak" else None,
                              maintenance=not self.once)
        left.workers = [left.start_worker(self.deaths.every_s) for _ in range(3)]
        right.workers = [right.start_worker()]
        if self.once:
            self.keeper = left.helper("use", "once", 1, name="maintenance")
        self.began = time.monotonic()
        for kind, rate, batch in LOAD:
            more = {"cross": [right.name], "url": [f"unix://{right.socket}:/_rf/receive"]}.get(kind, [])
            left.start_sender(kind, rate, batch, *more, scale=self.scale)
        right.start_sender("cross", 60, 5, left.name, scale=self.scale)
        for role, rate in USERS:
            left.start_user(role, rate)

    # ---- what happens ----

    def purge(self):
        """Dead letters go when an operator says so; here only when their handler has been called."""
        left = self.sides[0]
        waiting = left.store.rows(
            "SELECT count(*) FROM {body} b WHERE b.topic = 'soak.dead'"
            f" AND b.created_at <TIME> <= <NOW> - {PURGE_AGE_S - 2}"
            " AND (b.id IN (SELECT id FROM {dead}) OR b.id IN (SELECT id FROM {queue}))")[0][0]
        if waiting == 0:
            left.pawl("purge", "--topic", "soak.dead", "--state", "failed", "--older-than", f"{PURGE_AGE_S}s", "--yes")

    def connect(self):
        """Short connections, as health checks make them."""
        for side in self.sides:
            for _ in range(40 if self.breakage == "leak" else 5):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(60)
                    connection.connect(str(side.socket))
                    connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    while connection.recv(65536):
                        pass

    def hold_a_snapshot(self):
        """For a while, now and then, never while costs are compared."""
        first = 240 if self.seconds >= LONG_S else 0.5 * self.seconds
        length = min(0.2 * self.seconds, SNAPSHOT_MAX_S)
        wanted = (self.now() >= first and (self.now() - first) % SNAPSHOT_EVERY_S < length and not self.is_measured())
        if wanted and not self.snapshot:
            self.snapshot = self.sides[0].store.hold_snapshot()
            self.snapshot_began, self.snapshot_ended = self.now(), float("inf")
        elif self.snapshot and not wanted:
            self.snapshot.close()
            self.snapshot = None
            self.snapshot_ended = self.now()

    def snapshot_age(self, side):
        """For how long it has been held; what it kept goes soon after its end."""
        if side is not self.sides[0] or self.now() > self.snapshot_ended + 5 + self.watch.lag():
            return 0
        return self.now() - self.snapshot_began

    def set_pace(self, wait):
        """As much as this machine can do: messages wait for a second or so at most."""
        if wait > 1:
            self.scale = max(0.02, self.scale * (0.7 if wait < 2 else 0.4))
        elif wait < 0.5:
            self.scale = min(1.0, self.scale * 1.1 + 0.01)
        scale = min(self.scale, MEASURED_SCALE if self.is_measured() or self.breakage else 1.0)
        for side in self.sides:
            for kind, sender in side.senders.items():
                if kind not in STEADY:
                    sender.say(f"{sender.target * scale:.2f}")

    def check_alive(self):
        for side in self.sides:
            for child in side.children():
                self.check("every process stays up", child.alive(), "" if child.alive() else child.words())
        self.deaths.check_alive()
        for line in self.sides[0].senders["inbox"].take_lines():
            self.check("a second arrival is a duplicate", False, line)

    # ---- all of it ----

    def due(self, name, every, first=None):
        """Whether it is time again."""
        if self.now() < self.times.get(name, first or every):
            return False
        self.times[name] = self.now() + every
        return True

    def turn(self):
        self.deaths.kill_hoard()
        self.deaths.follow()
        self.hold_a_snapshot()
        if self.due("sample", 1):
            self.set_pace(self.watch.sample())
            self.check_alive()
            self.connect()
            for side in self.sides:
                side.age(self.idle)
        if self.due("kill", KILL_EVERY_S):
            self.deaths.kill_a_worker()
        if self.due("hoard", HOARD_EVERY_S, first=2) and not self.is_measured():
            self.deaths.start_hoard()
        if self.due("purge", PURGE_EVERY_S):
            self.purge()
        if self.due("audit", AUDIT_EVERY_S):
            ending.audit(self)

    def go_on(self, until=None):
        """Until the time is over, or this check has failed."""
        while self.now() < self.seconds and not self.checks.get(until):
            began = self.now()
            self.turn()
            rest = max(0, TICK_S - (self.now() - began))
            before = self.now()
            if not await_end(rest):
                self.watch.note_lag(self.now() - before - rest)

    def find(self, check):
        """Only until this check fails; answers everything that was wrong."""
        try:
            self.set_up()
            self.watch.sample()
            self.go_on(until=check)
        finally:
            self.close()
        return {name: wrong for name, wrong in self.checks.items() if wrong}

    def play(self):
        """Answers what was checked, and what was wrong each time."""
        try:
            self.set_up()
            self.watch.sample()
            self.go_on()
            if self.seconds >= COMPARE_FROM_S:
                compare(self)
            ending.drain(self)
            ending.stop(self)
            ending.check_leases(self)
            ending.check_effects(self)
            self.watch.check_page()
            self.check(CHECK, True)
            ending.report(self)
        finally:
            self.close()
        return self.checks

    def close(self):
        if self.snapshot:
            self.snapshot.close()
        self.deaths.close()
        if self.keeper:
            self.keeper.kill()
        for side in self.sides:
            side.close()
        shutil.rmtree(self.folder, ignore_errors=True)
