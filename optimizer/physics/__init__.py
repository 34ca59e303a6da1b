"""The physics of serving: bytes held, read and written, FLOPs, step times, transfers, waits, money.

Pure functions: numbers and cards in, SI numbers out. No decision is taken here and nothing is read from
disk; `optimizer.instance` turns these into the coefficients of the model. The formulas, their evidence
and the constants are those of `docs/physics.md`, cited where they are used.
"""
