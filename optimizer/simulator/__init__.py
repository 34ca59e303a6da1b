"""The feasibility simulator: requests replayed through a layout, and a verdict."""

from optimizer.simulator.simulation import Disturbance, simulate
from optimizer.simulator.types import Failing, Law, Verdict

__all__ = ["Disturbance", "Failing", "Law", "Verdict", "simulate"]
