"""The tables of the comparison: where their rows come from and how each engine declares them."""
