"""Tests of the text tables and the goals of the workload `succinct`: `python -m unittest discover bench`."""

import os
import tempfile
import unittest

import numpy as np

from tables import packages, reviews, text_table
from tables.word_chain import WordChain
from workloads.succinct_goals import Goals

LINES = {name: ["the quick fox jumps.", "a lazy dog sleeps and the fox runs."] * 30 for name in ("wikipedia", "movies")}
LINES |= {"l_comment": ["even deposits"], "email": ["one@example.com", "two@example.com"], "urls2": ["http://a.org/"]}
FIELDS = {"Version": "1.2", "Architecture": "all", "Maintainer": "Somebody", "Section": "net", "Priority": "optional"}
PACKAGE = FIELDS | {"Package": "fox", "Depends": "libc6, zlib1g", "Tag": "a::b, c::d", "Description": "a fox"}
SIZE = 100_000


def sources():
    return LINES, [PACKAGE | {"Package": f"fox{number}"} for number in range(200)]


class TextTableTest(unittest.TestCase):
    def written(self, module, directory):
        with open(module.write(directory, SIZE, sources), "rb") as file:
            return file.read()

    def test_the_same_seed_gives_the_same_bytes(self):
        for module in (packages, reviews):
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                self.assertEqual(self.written(module, one), self.written(module, other))

    def test_rows_have_all_columns_and_keys_of_their_own(self):
        for module in (packages, reviews):
            with tempfile.TemporaryDirectory() as directory:
                text = self.written(module, directory)
                self.assertEqual(len(os.listdir(directory)), 1)
            rows = [line.split(b"\t") for line in text.split(b"\n")[:-1]]
            self.assertTrue(SIZE <= len(text) < SIZE + 10_000)
            self.assertEqual({len(row) for row in rows}, {len(module.FILE_COLUMNS.split(", "))})
            keys = [tuple(row[: len(module.KEY.split(", "))]) for row in rows]
            self.assertEqual(len(set(keys)), len(keys))

    def test_the_stated_share_of_rows_repeats_others(self):
        source = text_table.repeats(np.random.default_rng(1), 1000, 0.2)
        repeated = source != np.arange(1000)
        self.assertEqual(repeated.sum(), 200)
        # What is repeated is no repeat itself, and is repeated once.
        self.assertFalse(repeated[source[repeated]].any())
        self.assertEqual(len(set(source[repeated])), 200)


class WordChainTest(unittest.TestCase):
    def test_lists_keep_the_order_of_the_source(self):
        chain = WordChain(["a, b, c", "b, d"], ", ")
        found = set(chain.lists(np.random.default_rng(1), 100, 10).to_pylist())
        self.assertEqual(found, {"a, b, c", "a, b, d", "b, c", "b, d"})

    def test_texts_have_almost_as_many_words_as_asked_for(self):
        chain = WordChain(LINES["wikipedia"])
        lengths = np.array([30, 5, 400])
        texts = chain.texts(np.random.default_rng(1), lengths, chain.topics(np.arange(3))).to_pylist()
        for text, length in zip(texts, lengths):
            self.assertTrue(length * 0.5 <= len(text.split()) <= length, text)


class GoalsTest(unittest.TestCase):
    def verdicts(self, fill):
        goals = Goals()
        fill(goals)
        return [line[-1] for line in goals.lines]

    def test_a_figure_at_its_target_reaches_the_goal(self):
        self.assertEqual(self.verdicts(lambda goals: goals.at_most("us", 3, 3)), ["yes"])
        self.assertEqual(self.verdicts(lambda goals: goals.at_most("us", 3.1, 3)), ["NO"])
        self.assertEqual(self.verdicts(lambda goals: goals.at_least("rate", 600, 600)), ["yes"])

    def test_a_goal_with_a_peer_is_a_ratio(self):
        self.assertEqual(self.verdicts(lambda goals: goals.at_most("size", 6, 0.6, ("peer", 10))), ["yes"])
        self.assertEqual(self.verdicts(lambda goals: goals.at_least("rate", 29, 3, ("peer", 10))), ["NO"])

    def test_a_missing_figure_decides_nothing(self):
        self.assertEqual(self.verdicts(lambda goals: goals.at_most("us", None, 3)), ["not measured"])
        self.assertEqual(self.verdicts(lambda goals: goals.at_least("rate", 1, 3, ("peer", None))), ["not measured"])


if __name__ == "__main__":
    unittest.main()
