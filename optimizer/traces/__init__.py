"""Recorded traffic: reading traces, and what their reuse says."""

from optimizer.traces.formats import Format
from optimizer.traces.read import read_trace
from optimizer.traces.types import Chains, Fault, Trace

__all__ = ["Chains", "Fault", "Format", "Trace", "read_trace"]
