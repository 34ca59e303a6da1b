"""What stands beside a layout: the same question with one thing changed, a rent, an API bill.

`docs/comparisons.md` says what each number means. `beside` in `compare.py` makes all of them, `result.py` is
their place in result.json and loads no solver.
"""
