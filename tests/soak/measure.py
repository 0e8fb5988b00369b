"""Numbers over time, and whether the end is like the beginning."""

import bisect
import statistics
import time

from load import LOAD, MEASURED_SCALE

LONG_S = 600         # from here on there are enough samples for the whole rule
GROWTH_MAX = 1.2     # end by beginning
CLAIM_SHORT_MAX = 1.5  # of a short run: a claim's cost depends on what vacuum has come round to
MEMORY_FACTOR = 1.1  # of resident memory, and what the allocator may keep beside it
MEMORY_KIB = 1024
DESTINATION_KIB = 2  # that a delivery keeps for a destination
DESTINATION_S = 300  # how long it keeps that
DESCRIPTORS = 10


class Series:
    """Numbers with the second at which each was measured."""

    def __init__(self, *first):
        self.times = [0] * len(first)
        self.values = list(first)

    def add(self, at, value):
        self.times.append(at)
        self.values.append(value)

    def at(self, when):
        """The last number that was measured until then."""
        place = bisect.bisect_right(self.times, when)
        return self.values[place - 1] if place else 0

    def since(self, at):
        return self.between(at, float("inf"))

    def between(self, first, last):
        return self.values[bisect.bisect_left(self.times, first):bisect.bisect_left(self.times, last)]


def peak_rate(series, window=30):
    """The highest increase per second from one sample to the next, in the last `window` samples."""
    values, times = series.values[-window:], series.times[-window:]
    return max(((values[i] - values[i - 1]) / max(times[i] - times[i - 1], 1) for i in range(1, len(values))), default=0)


def ratios(top, bottom, span, rate=None, step=3):
    """Increase of `top` per increase of `bottom` over every `step` samples within a span of time; if `rate` is given, where
    `bottom` increased by about that per second: what is fixed weighs more where there is less to do."""
    found = []
    for i in range(step, len(top.times)):
        below = bottom.values[i] - bottom.values[i - step]
        took = top.times[i] - top.times[i - step]
        usual = rate is None or rate / 2 < below / took < rate * 2
        if below > 0 and usual and top.times[i - step] >= span[0] and top.times[i] < span[1]:
            found.append((top.values[i] - top.values[i - step]) / below)
    return found


def fixed_work():
    """Seconds of processor time, and by the clock, for the same work each time: what the machine itself costs just now, and
    how long it lets others wait for a processor."""
    began, clock = time.thread_time(), time.monotonic()
    total = 0
    for number in range(60000):
        total += number * number % 7
    return time.thread_time() - began, time.monotonic() - clock


def growth_of(beginning, end, control, long):
    """How many times as much the end costs, the machine's own change taken out. In a short run a few samples that were
    disturbed by other programs must not decide: its cheapest quarter stands for the end, since what grows raises every
    sample."""
    if len(beginning) < 4 or len(end) < 4:
        return None
    later = statistics.median(end) if long else statistics.quantiles(end, n=4)[0]
    return later / statistics.median(beginning) / max(1.0, control)


def control_ratio(series, first, second):
    return statistics.median(series.between(*second)) / statistics.median(series.between(*first))


def costs_of(scenario, first, second):
    """By name: what it cost at the beginning, at the end, and how the machine itself has changed."""
    watch = scenario.watch
    machine = control_ratio(watch.control_work, first, second)
    rate = MEASURED_SCALE * sum(target for _, target, _ in LOAD)
    costs = {"processor time per message": (*(ratios(watch.busy, watch.handled, span, rate) for span in (first, second)),
                                            machine)}
    if scenario.engine == "sqlite":  # the statement runs in the process that claims
        costs["claim"] = (*(watch.costs["cpu"].between(*span) for span in (first, second)), machine)
    else:  # and here in the server's
        costs["claim"] = (*(ratios(watch.session_busy, watch.probes, span) for span in (first, second)), machine)
    if scenario.seconds >= LONG_S:
        costs["claim latency"] = (*(watch.costs["wall"].between(*span) for span in (first, second)),
                                  control_ratio(watch.costs["control_wall"], first, second))
    return costs


def compare_costs(scenario, first, second):
    for name, (beginning, end, control) in costs_of(scenario, first, second).items():
        check = f"{name}: the end is like the beginning"
        growth = growth_of(beginning, end, control, scenario.seconds >= LONG_S)
        if growth is None:
            scenario.say(f"{name}: this machine was too busy to compare the end with the beginning")
            scenario.check(check, scenario.seconds < LONG_S, "there are too few samples")
            continue
        text = (f"{name}: {statistics.median(beginning) * 1e6:.0f} us at the beginning, {statistics.median(end) * 1e6:.0f} "
                f"at the end; fixed work {control:.2f} times; the end costs {growth:.2f} times as much")
        most = CLAIM_SHORT_MAX if name == "claim" and scenario.seconds < LONG_S else GROWTH_MAX
        scenario.say(text)
        scenario.check(check, growth <= most, f"{text}, allowed are {most}")


def destinations(sent, at):
    """How many destinations were new in the five minutes before: a delivery remembers each for so long."""
    return sent.at(at) - sent.at(at - DESTINATION_S)


def more_destinations(scenario, until, last):
    """How many more destinations the delivery remembers at the end than at any time before `until`."""
    sent = scenario.watch.sent["left", "url"]
    before = max(destinations(sent, at) for at in sent.times if at <= until)
    return max(0, max(destinations(sent, at) for at in sent.times if at >= last[0]) - before)


def compare_processes(scenario, last):
    """The end by the first three quarters, or the first ten minutes. Both have a snapshot in them, after which more is sent at
    once than ever else: what a process needs at the highest load, it keeps."""
    until = min(scenario.seconds * 3 / 4, LONG_S)
    for (process, figure), series in sorted(scenario.watch.figures.items()):
        before = max(series.between(0, until), default=0)
        after = statistics.median(series.between(*last) or [0])
        limit = {"memory": before * MEMORY_FACTOR + MEMORY_KIB, "descriptors": before + DESCRIPTORS,
                 "threads": before}[figure]
        if figure == "memory" and process == "daemon left":
            limit += DESTINATION_KIB * more_destinations(scenario, until, last)
        course = " ".join(f"{series.at(scenario.seconds * tenth / 10):.0f}" for tenth in range(1, 11))
        scenario.say(f"{process}: {figure} {before:.0f} at the beginning, {after:.0f} at the end, allowed were {limit:.0f}; "
                     f"in ten steps {course}")
        scenario.check(f"{figure} flat", after <= limit,
                       f"{process}: {before:.0f} at the beginning, {after:.0f} at the end, allowed are {limit:.0f}")


def compare(scenario):
    """The two spans of equal load."""
    first, second = scenario.spans()
    compare_costs(scenario, first, second)
    compare_processes(scenario, second)
