"""How fast and how large: `python -m benchmarks.simulator`. Not part of the package that is installed."""
