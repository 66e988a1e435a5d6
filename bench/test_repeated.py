"""Tests of how runs are repeated: `python -m unittest discover bench`."""

import unittest
from unittest import mock

import repeated


class Host:
    """Stands for the host: how much of each turn it takes, in order, and nothing after these."""

    def __init__(self, *parts):
        self.parts = list(parts)

    def __call__(self):
        self.part = self.parts.pop(0) if self.parts else 0.0
        return self

    def __enter__(self):
        return mock.Mock(part=self.part)

    def __exit__(self, *_):
        pass


class FastestTest(unittest.TestCase):
    def fastest(self, host, works, *limits):
        """The fastest runs, and which work ran when. Works are lists of what their runs take."""
        order = []

        def work(name):
            left = iter(works[name])

            def run():
                order.append(name)
                return next(left)

            return run

        with mock.patch.object(repeated.machine, "LostTime", host):
            runs = repeated.fastest({name: work(name) for name in works}, *limits)
        return {name: run.seconds for name, run in runs.items()}, "".join(order)

    def test_works_take_turns(self):
        works = {"a": [3, 2, 4], "b": [1, 5, 6]}
        self.assertEqual(self.fastest(Host(), works, 3), ({"a": 2, "b": 1}, "ababab"))

    def test_a_turn_that_the_host_disturbs_is_taken_again(self):
        works = {"a": [3, 2], "b": [9, 8, 1]}
        self.assertEqual(self.fastest(Host(0, 0.5), works, 2), ({"a": 2, "b": 1}, "ababb"))

    def test_a_host_that_disturbs_all_turns_is_not_waited_for(self):
        count = 2 + repeated.MORE_TURNS
        self.assertEqual(self.fastest(Host(*[0.5] * 9), {"a": [1] * 9}, 2), ({"a": 1}, "a" * count))

    def test_what_takes_long_is_done_once(self):
        works = {"a": [70], "b": [20, 10]}
        self.assertEqual(self.fastest(Host(), works, 2, 60), ({"a": 70, "b": 10}, "abb"))

    def test_what_is_short_is_done_more_often(self):
        self.assertEqual(self.fastest(Host(), {"a": [0.02] * 9}, 1), ({"a": 0.02}, "a" * 5))


if __name__ == "__main__":
    unittest.main()
