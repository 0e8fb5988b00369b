"""Workers that are killed, and what becomes of the messages that they held."""

import signal
import time

from load import EVERY_S, RUN_AGAIN_S

CHECK = "a killed worker's messages run again within lease + 2 s"


class Holding:
    """What a process held when it was killed."""

    def __init__(self, side, who, rows):
        self.side = side
        self.who = who
        self.fences = {item: fence for item, fence, _ in rows}
        self.lease_end = max(end for *_, end in rows)


class Deaths:
    def __init__(self, scenario, claims, lease, every_s=EVERY_S):
        self.scenario = scenario
        self.claims = claims    # of a hoard
        self.lease = lease      # of a hoard
        self.every_s = every_s  # maintenance of the workers
        self.kills = []         # when
        self.hoards = []
        self.hoarded = 0        # numbers that the hoards have sent
        self.holdings = []
        self.victims = []       # names
        self.held = []          # messages of each that was killed
        self.recovered = []     # seconds after the end of the lease

    def kill_a_worker(self):
        side = self.scenario.sides[0]
        place = 1 + len(self.kills) % 2  # the first one stays from the beginning to the end
        victim = side.workers[place]
        victim.kill()
        self.kills.append(self.scenario.now())
        self.remember(side, victim.name)
        side.workers[place] = side.start_worker(self.every_s)

    def remember(self, side, who):
        rows = side.held_by(who)
        self.victims.append(who)
        self.held.append(len(rows))
        if rows:
            self.holdings.append(Holding(side, who, rows))

    def start_hoard(self):
        """A process that takes many claims."""
        if self.hoards and self.hoards[-1].alive():
            return  # this machine is slow
        name = f"hoard-{len(self.hoards)}"
        side = self.scenario.sides[0]
        if self.scenario.breakage == "reap" and self.scenario.engine == "postgres":
            side.store.hoard(self.hoarded, self.claims, self.lease, name)
            self.hoarded += self.claims
            self.remember(side, name)
            return
        self.hoards.append(side.helper("hoard", self.hoarded, self.claims, self.lease * 1000, name, name=name))

    def kill_hoard(self, wait=False):
        """When it has what it wanted."""
        child = self.hoards[-1] if self.hoards else None
        if child and child.alive() and wait:
            child.hear("holding")
        if child and child.alive() and "holding" in child.lines:
            child.kill()
            self.hoarded = child.sent
            self.remember(self.scenario.sides[0], child.name)

    def check_alive(self):
        """None ends by itself."""
        child = self.hoards[-1] if self.hoards else None
        self.scenario.check("every process stays up", not child or child.process.returncode in (None, -signal.SIGKILL),
                            child.words() if child else "")

    def sent(self):
        return max([self.hoarded] + [child.sent for child in self.hoards[-1:]])

    def recent(self):
        """Processes that were killed in the last 90 seconds."""
        return sum(1 for at in self.kills if at > self.scenario.now() - 90) + min(len(self.hoards), 10)

    def follow(self):
        self.holdings = [holding for holding in self.holdings if not self.is_over(holding)]

    def is_over(self, holding):
        """Everything runs again, or it is too late for that."""
        side, lag = holding.side, self.scenario.watch.lag()
        late = time.time() - holding.lease_end
        if late < 0:
            return False
        there = side.unfinished(holding.fences)
        old = sum(1 for item, fence in there.items() if fence == holding.fences[item])
        ready = sum(1 for fence in there.values() if fence == 0)
        limit = RUN_AGAIN_S + lag
        held = f"{side.name}: %d of {len(holding.fences)} messages that {holding.who} held when it was killed"
        if old:
            return late > limit and not self.scenario.check(
                CHECK, False, f"{held % old} are still leased to it {late:.1f} s after the end of the lease (allowed: "
                f"{RUN_AGAIN_S} s, and {lag:.1f} s by which this machine runs late)")
        if ready:
            wait = max(self.scenario.watch.wait(side), side.oldest_wait(holding.fences))
            return late > limit + wait and not self.scenario.check(
                CHECK, False, f"{held % ready} are ready and not claimed {late:.1f} s after the end of the lease "
                f"(allowed: {limit:.1f} s, and {wait:.1f} s for which others wait, too)")
        self.recovered.append(late)
        return True

    def close(self):
        for child in self.hoards:
            child.kill()
