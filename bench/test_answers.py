"""Tests of the comparison of answers: `python -m unittest discover bench`."""

import unittest

from answers import SAME, TIES, compare, without_limit


class AnswersTest(unittest.TestCase):
    def check(self, found, expected, verdict, order=(), whole=None, approximate=False):
        got = compare(_rows(found), _rows(expected), order, lambda: _rows(whole or expected), approximate)
        self.assertTrue(got == verdict if verdict in (SAME, TIES) else verdict in got, got)

    def test_rows_without_an_order_may_stand_in_any(self):
        self.check("a 1,b 2", "b 2,a 1", SAME)

    def test_rows_with_an_order_must_follow_it(self):
        self.check("b 1,a 2", "a 2,b 1", "row 1 is", order=[2])

    def test_another_of_equal_rows_is_right_only_if_it_exists(self):
        self.check("a 2,c 1", "a 2,b 1", TIES, order=[2], whole="a 2,b 1,c 1")
        self.check("a 2,d 1", "a 2,b 1", "d | 1 does not belong", order=[2], whole="a 2,b 1,c 1")

    def test_a_row_may_not_be_repeated_more_often_than_it_exists(self):
        self.check("b 1,b 1", "b 1,c 1", "b | 1 does not belong", order=[2], whole="a 1,b 1,c 1")

    def test_missing_rows_are_seen(self):
        self.check("a 1", "a 1,b 1", "1 rows, not 2")

    def test_sums_of_floats_may_differ_in_their_last_digits_and_integers_may_not(self):
        self.check("0.30000000000000004", "0.3", SAME)
        self.check("5.0", "5", SAME)
        self.check("9007199254740993", "9007199254740992", "does not belong")
        self.check("9007199254740993", "9.007199254740992e15", SAME, approximate=True)

    def test_the_limit_is_taken_off_the_end_alone(self):
        inner = "SELECT a FROM (SELECT a FROM t LIMIT 3)"
        self.assertEqual(without_limit(f"{inner} LIMIT 10 OFFSET 5"), inner)
        self.assertEqual(without_limit(inner), inner)


def _rows(text):
    return [row.split(" ") for row in text.split(",")]


if __name__ == "__main__":
    unittest.main()
