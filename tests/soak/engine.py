"""The two databases of a soak: SQL that is written once for both engines."""

import os
import re
import sqlite3
import subprocess
import time

POSTGRES = os.environ.get("PAWL_TEST_POSTGRES", "")
BUSY_S = 60


class SqliteStore:
    """Tables are written as {queue}; times are seconds since 1970."""

    engine = "sqlite"
    states = 1              # rows of topic_stats per lane
    own_tables = ("lane_stats",)  # that the other engine has not

    def __init__(self, folder, name):
        self.file = folder / f"{name}.db"
        self.url = f"sqlite:{self.file}"
        self.probe_url = self.url
        self.connection = None

    def connect(self):
        return sqlite3.connect(self.file, timeout=0, isolation_level=None)

    def text(self, sql):
        return re.sub(r"\{(\w+)\}", r"pawl_\1", sql).replace("<TIME>", "/ 1e6").replace("<NOW>", repr(time.time()))

    def rows(self, sql):
        self.connection = self.connection or self.connect()
        end = time.monotonic() + BUSY_S
        while True:
            try:
                return self.connection.execute(self.text(sql)).fetchall()
            except sqlite3.OperationalError as error:
                # SQLite's own waiting tries ever more rarely, and gets no turn beside those that try often.
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.001)

    def run(self, sql):
        self.rows(sql)

    def tables(self):
        return {row[0].removeprefix("pawl_") for row in self.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'pawl\\_%' ESCAPE '\\'")}

    def indexes(self):
        """But those of primary keys."""
        return {row[0].removeprefix("pawl_") for row in self.rows(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'pawl\\_%' ESCAPE '\\'")}

    def hold_snapshot(self):
        """A reader that keeps what it sees until it is closed."""
        reader = self.connect()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pawl_meta").fetchall()
        return reader

    def bytes(self):
        """The size of its files, by name."""
        wal = self.file.with_name(self.file.name + "-wal")
        return {"file": self.file.stat().st_size, "wal": wal.stat().st_size if wal.exists() else 0}

    def keep(self, table):
        """Wrong on purpose: rows of this table are never removed any more, and claim rows are never due."""
        table = {"lane": "lane_stats"}.get(table, table)  # without its row there a lane would stay and not be found
        hide = f"UPDATE {{{table}}} SET check_at = 1 << 60 WHERE fence = OLD.fence; " if table == "claim" else ""
        self.run(f"CREATE TRIGGER soak_keep BEFORE DELETE ON {{{table}}} BEGIN {hide}SELECT RAISE(IGNORE); END")

    def age_lanes(self, seconds):
        """As if so much time had passed since the last use of each."""
        self.run(f"UPDATE {{lane_stats}} SET used_at = used_at - {seconds} * 1000000"
                 f" WHERE used_at / 1e6 > <NOW> - {seconds}")

    def fences(self):
        """SQLite has one writer: no claim's row outlives its messages."""
        return 0

    def server_cpu(self):
        return 0.0

    def session_cpu(self, name):
        return 0.0

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None


class Psql:
    """One session of psql that answers one statement after the other."""

    def __init__(self, url):
        self.process = subprocess.Popen(["psql", "-qXAt", "-F", "\t", url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def rows(self, sql):
        self.process.stdin.write(sql + ";\n\\echo =end=\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "=end=\n":
                break
            lines.append(line.rstrip("\n"))
        if any(line.startswith("ERROR:") for line in lines):
            raise RuntimeError(f"{sql}: {lines}")
        return [tuple(map(value, line.split("\t"))) for line in lines]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def value(text):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text or None


class PostgresStore:
    engine = "postgres"
    states = 6
    own_tables = ("topic_stats_delta", "idle_worker", "lane_use", "mutex", "clock_watch")

    def __init__(self, folder, name):
        self.name = f"soak_{name}"
        admin = Psql(POSTGRES)
        admin.rows(f"DROP DATABASE IF EXISTS {self.name}")
        admin.rows(f"CREATE DATABASE {self.name}")
        # A minute has to show what a day would.
        admin.rows("ALTER SYSTEM SET autovacuum_naptime = '1s'")
        admin.rows("SELECT pg_reload_conf()")
        admin.close()
        self.url = re.sub(r"dbname=\w+", f"dbname={self.name}", POSTGRES)
        self.probe_url = self.url + " application_name=soak_probe"
        self.session = None
        self.postmaster = None

    def text(self, sql):
        sql = re.sub(r"\{(\w+)\}", r"pawl.\1", sql)
        sql = re.sub(r"([\w.()]+) <TIME>", r"extract(epoch FROM \1)", sql)
        return sql.replace("<NOW>", "extract(epoch FROM clock_timestamp())")

    def rows(self, sql):
        self.session = self.session or Psql(self.url)
        return self.session.rows(self.text(sql))

    def run(self, sql):
        self.rows(sql)

    def tables(self):
        return {row[0] for row in self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'pawl'")}

    def indexes(self):
        return {row[0] for row in self.rows("SELECT indexname FROM pg_indexes WHERE schemaname = 'pawl'"
                                            " AND indexname NOT LIKE '%\\_pkey'")}

    def hold_snapshot(self):
        reader = Psql(self.url)
        reader.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.rows("SELECT count(*) FROM pawl.meta")
        return reader

    def bytes(self):
        return {name: size for name, size in self.rows(
            "SELECT relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = relnamespace WHERE nspname = 'pawl' AND relkind = 'r'")}

    def keep(self, table):
        hide = "UPDATE pawl.claim SET check_at = $x$infinity$x$ WHERE fence = OLD.fence; " if table == "claim" else ""
        self.run("CREATE FUNCTION soak_keep() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
                 f" $$BEGIN {hide}RETURN NULL; END$$")
        self.run(f"CREATE TRIGGER soak_keep BEFORE DELETE ON {{{table}}} FOR EACH ROW EXECUTE FUNCTION soak_keep()")

    def age_lanes(self, seconds):
        self.run(f"UPDATE {{lane_use}} SET used_at = used_at - interval '{seconds} s'"
                 f" WHERE used_at > clock_timestamp() - interval '{seconds} s' AND epoch IS NULL")

    def fences(self):
        """How many were given out: every claim draws one."""
        return self.rows("SELECT last_value FROM pawl.fence")[0][0]

    def hoard(self, first, count, lease, name):
        """A worker in SQL takes `count` claims at once, and is never heard of again: the process would need longer
        beside workers that have nothing else to do."""
        self.run(f"""DO $$
            BEGIN
                FOR number IN {first} .. {first + count - 1} LOOP
                    PERFORM pawl.enqueue(topic => 'soak.hoard', payload => number::text, max_attempts => 1000);
                    PERFORM pawl.claim(owner => '00000000-0000-4000-8000-000000000001', max_rows => 1,
                                       lease => interval '{lease} s', topics => ARRAY['soak.hoard'],
                                       owner_name => '{name}');
                END LOOP;
            END
            $$""")

    def server_pids(self):
        """The server's processes; the first is the one that started the others."""
        if not self.postmaster:
            backend, = self.rows("SELECT pg_backend_pid()")[0]
            self.postmaster = stat(backend)[1]
        found = [self.postmaster]
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    if stat(int(name))[1] == self.postmaster:
                        found.append(int(name))
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return found

    def server_cpu(self):
        """Seconds of all its processes since it was started, also of those that have ended."""
        pids = self.server_pids()
        own = sum(cpu(pid) for pid in pids)
        fields = stat(self.postmaster)
        return own + (fields[13] + fields[14]) / TICKS

    def session_cpu(self, name):
        """Seconds of the sessions that say this name, to the nanosecond."""
        pids = [row[0] for row in self.rows(f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'")]
        total = 0
        for pid in pids:
            try:
                with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                pass
        return total / 1e9

    def close(self):
        if self.session:
            self.session.close()
            self.session = None


TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid):
    """The numbers of /proc/PID/stat from the fourth on (ppid is at 1)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return [0 if i == 0 else int(field) for i, field in enumerate(fields[:20])]


def cpu(pid):
    """Seconds of processor time of a process; 0 if it has ended."""
    try:
        fields = stat(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (fields[11] + fields[12]) / TICKS


STORES = {"sqlite": SqliteStore, "postgres": PostgresStore}
