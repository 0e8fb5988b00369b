"""One store of a soak with its workers, senders and its daemon."""

import os
import subprocess

from engine import STORES
from load import EFFECTS, EVERY_S, LEASE_S
from processes import HELPERS, PAWL, Child

SECRET = "correct-horse-battery-staple"

# In one statement, so that all of it is true at one moment.
COUNTS = """SELECT (SELECT count(*) FROM {meta}), (SELECT count(*) FROM {topic}), (SELECT count(*) FROM {lane}),
    (SELECT count(*) FROM {body}), (SELECT count(*) FROM {queue}), (SELECT count(*) FROM {queue} WHERE fence <> 0),
    (SELECT count(*) FROM {claim}), (SELECT count(*) FROM {outcome}),
    (SELECT count(*) FROM {outcome} WHERE state IN (3, 4)), (SELECT count(*) FROM {dead}),
    (SELECT count(*) FROM {topic_stats}), (SELECT count(*) FROM {lease}), (SELECT count(*) FROM {inbox_record}),
    (SELECT count(*) FROM {job}), (SELECT count(*) FROM {job_run}),
    (SELECT coalesce(max(<NOW> - run_at <TIME>), 0) FROM {queue} WHERE fence = 0 AND run_at <TIME> <= <NOW>)"""
NAMES = ("meta", "topic", "lane", "body", "queue", "running", "claim", "outcome", "dead_letters", "dead", "topic_stats",
         "lease", "inbox_record", "job", "job_run", "wait")


class Side:
    def __init__(self, engine, folder, name, peer, retention):
        self.name = name
        self.retention = retention  # of done messages and ended leases, by the workers
        self.peer = peer
        self.folder = folder / name
        self.folder.mkdir()
        self.socket = folder / f"{name}.sock"
        self.peer_socket = folder / f"{peer}.sock"
        self.store = STORES[engine](folder, name)
        self.senders = {}
        self.workers = []
        self.daemon = None
        self.started = 0
        self.lows = dict.fromkeys(EFFECTS, 0)  # every number below was found once, and its row removed
        self.pawl("init")
        for kind in EFFECTS:
            self.store.run(f"CREATE TABLE soak_{kind} (value bigint NOT NULL)")
            self.store.run(f"CREATE INDEX soak_{kind}_value ON soak_{kind} (value)")
        self.store.run("CREATE TABLE soak_control (value bigint NOT NULL)")
        self.store.run("INSERT INTO soak_control VALUES (0)")

    def pawl(self, *args):
        done = subprocess.run([PAWL, "--db", self.store.url, *args], capture_output=True, check=False,
                              env={key: text for key, text in os.environ.items() if not key.startswith("PAWL_")})
        assert done.returncode == 0, (args, done)

    # ---- processes ----

    def helper(self, program, *args, **options):
        url = self.store.probe_url if "probe" in args else self.store.url
        return Child([HELPERS / f"soak_{program}_helper", url, "", "", *args], **options)

    def start_worker(self, every_s=EVERY_S):
        self.started += 1
        worker = self.helper("work", self.folder, f"{self.name}-{self.started}", f"lease={LEASE_S * 1000}",
                             f"retention={self.retention * 1000}", f"every={int(every_s * 1000)}",
                             name=f"{self.name}-{self.started}")
        worker.hear("ready")
        return worker

    def start_daemon(self, preload=None, maintenance=True):
        secret = self.folder / "secret"
        secret.write_text(SECRET)
        secret.chmod(0o600)
        config = self.folder / "pawl.ini"
        often = "1s" if maintenance else "1h"
        config.write_text(
            f"[server]\nlisten = none\nsocket = {self.socket}\nservice_id = {self.name}\n[log]\nlevel = info\n"
            f"[service {self.peer}]\nurl = unix://{self.peer_socket}\nsecret = file:{secret}\n"
            f"retry_base = 50ms\nretry_max = 1s\nretry_jitter = 50ms\n"
            f"[service *]\nsecret = file:{secret}\nallow_private = on\nretry_base = 50ms\nretry_max = 1s\n"
            f"[receive *]\nenqueue = *\n[delivery]\nlease = {LEASE_S}s\nbreaker_base = 100ms\nbreaker_max = 1s\n"
            f"[inbox]\nretention = 1m\nretry_window = 30s\nreplay_window = 30s\ncleanup = {often}\nlease = {LEASE_S}s\n"
            f"[worker]\nretention = 1m\nreap = {often}\nexpire = {often}\ncleanup = {often}\n")
        self.daemon = Child([PAWL, "--db", self.store.url, "serve", "--config", config], preload=preload,
                            name=f"daemon {self.name}")
        self.daemon.hear("ready")

    def start_sender(self, kind, rate, batch, *more, scale=1.0):
        self.senders[kind] = self.helper("send", kind, rate * scale, batch, *more, name=f"sender {kind}")
        self.senders[kind].target = rate

    def start_user(self, role, rate):
        self.senders[role] = self.helper("use", role, rate, name=f"user {role}")
        self.senders[role].target = rate

    def children(self):
        return [*self.senders.values(), *self.workers, *([self.daemon] if self.daemon else [])]

    # ---- what it looks like ----

    def sample(self):
        own = "".join(f", (SELECT count(*) FROM {{{name}}})" for name in self.store.own_tables)
        return dict(zip(NAMES + self.store.own_tables, self.store.rows(COUNTS + own)[0]))

    def held_by(self, owner_name):
        """What a worker holds: [(id, fence, lease_until)]."""
        return self.store.rows(
            "SELECT q.id, q.fence, q.lease_until <TIME> FROM {claim} c JOIN {queue} q ON q.fence = c.fence"
            f" WHERE c.owner_name = '{owner_name}'")

    def oldest_wait(self, others_than):
        """For how long the oldest message that is due has been waiting, those aside."""
        listed = ", ".join(map(str, others_than))
        return self.store.rows("SELECT coalesce(max(<NOW> - run_at <TIME>), 0) FROM {queue} WHERE fence = 0"
                               f" AND run_at <TIME> <= <NOW> AND id NOT IN ({listed})")[0][0]

    def age(self, idle):
        """What has a time of its own that cannot be set: an empty lane goes after `idle` seconds instead of five
        minutes."""
        self.store.age_lanes(300 - idle)

    def unfinished(self, ids):
        """{id: fence} of those that have not ended."""
        listed = ", ".join(map(str, ids))
        return dict(self.store.rows(f"SELECT id, fence FROM {{queue}} WHERE id IN ({listed})"))

    # ---- the application's rows ----

    def audit(self, kind, missing=lambda number: False):
        """Look at the rows of effects from the lowest on: each number once. Removes what was checked, up to the first
        that is missing; answers what is doubled."""
        table = f"soak_{kind}"
        low = self.lows[kind]
        values = [row[0] for row in self.store.rows(f"SELECT value FROM {table} ORDER BY value")]
        doubled = {b for a, b in zip(values, values[1:]) if a == b} | {value for value in values if value < low}
        there = set(values)
        while low in there or missing(low):
            low += 1
        self.store.run(f"DELETE FROM {table} WHERE value < {low}")
        self.lows[kind] = low
        return sorted(doubled)

    def marks(self, kind, count):
        """The numbers below `count` that no handler was called for."""
        path = self.folder / f"{kind}.marks"
        data = b""
        if path.exists():
            with path.open("rb") as file:
                data = file.read(count)
        data += bytes(count - len(data))
        return [number for number, calls in enumerate(data) if calls == 0] if b"\0" in data else []

    def close(self):
        for child in self.children():
            child.kill()
        self.store.close()
