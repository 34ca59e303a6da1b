"""Recorded traffic: reading traces, and what their reuse says."""

from optimizer.traces.types import Chains, Fault, Trace

__all__ = ["Chains", "Fault", "Trace"]
