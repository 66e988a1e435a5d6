"""The time of what is done again and again: the least of several runs, of several engines in turns."""

from dataclasses import dataclass

import machine

# Shorter work is repeated until this time is over: the first runs of a short query pay for code and memory that
# nobody touched before.
SECONDS_MIN = 0.1
# A turn does not count if the host took more than this share of the processors' work. It is repeated, up to this
# many times.
LOST_MAX = 0.02
MORE_TURNS = 5


@dataclass
class Run:
    """A run that was measured."""

    seconds: float
    # The part of the processors' time that the host took meanwhile.
    lost: float


def fastest(works, repeats, seconds_enough=float("inf")):
    """The fastest `Run` of each of `works`, calls that return seconds, by name.

    Each has `repeats` turns, or as many as take `seconds_enough`, one of each work after the other, so that all
    see the same minutes of the machine. In a turn it runs once, and as often as fits into a tenth of a second
    divided by the turns.
    """
    runs = {name: _Turns(work) for name, work in works.items()}
    for _ in range(repeats + MORE_TURNS):
        for turns in runs.values():
            if not turns.are_enough(repeats, seconds_enough):
                turns.take(SECONDS_MIN / repeats)
    return {name: turns.fastest for name, turns in runs.items()}


def best(work, repeats, seconds_enough=float("inf")):
    """The fastest `Run` of one work."""
    return fastest({"": work}, repeats, seconds_enough)[""]


class _Turns:
    """The turns of one work."""

    def __init__(self, work):
        self.work = work
        self.fastest = None
        # Those in which the host took little.
        self.quiet = 0
        self.quiet_seconds = 0.0

    def are_enough(self, repeats, seconds):
        return self.quiet >= repeats or self.quiet_seconds >= seconds

    def take(self, seconds_min):
        taken, fastest = 0.0, float("inf")
        with machine.LostTime() as lost:
            while not taken or taken < seconds_min:
                seconds = self.work()
                fastest = min(fastest, seconds)
                taken += max(seconds, seconds_min / 1000)
        if lost.part <= LOST_MAX:
            self.quiet += 1
            self.quiet_seconds += taken
        if self.fastest is None or fastest < self.fastest.seconds:
            self.fastest = Run(fastest, lost.part)
