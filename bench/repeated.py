"""The time of what is done again and again: the least of several runs."""

# What takes less than this share of it is done more often: the first runs of a short query pay for
# code and memory that nobody touched before.
SECONDS_MIN = 0.1


def best(seconds, repeats):
    """The least of `repeats` calls of `seconds`, and of as many more as fit into a tenth of a second."""
    times = [seconds() for _ in range(repeats)]
    left = SECONDS_MIN - sum(times)
    while left > 0:
        times.append(seconds())
        left -= max(times[-1], SECONDS_MIN / 1000)
    return min(times)
