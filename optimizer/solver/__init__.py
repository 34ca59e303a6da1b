"""The one door to HiGHS. Knows rows and columns, and nothing of the planning problem."""

from optimizer.solver.arrays import Compiled, LinearProgram, compile
from optimizer.solver.blocks import Blocks, Bound, bound_by_parts
from optimizer.solver.highs import solve
from optimizer.solver.infeasible import Given, Slack, elastic, give_way, is_infeasible
from optimizer.solver.linear import fix, fixed_lp, relaxation
from optimizer.solver.options import EXACTLY, SolveOptions
from optimizer.solver.outcome import Duals, Outcome, Status, relative_gap

__all__ = [
    "EXACTLY",
    "Blocks",
    "Bound",
    "Compiled",
    "Duals",
    "Given",
    "LinearProgram",
    "Outcome",
    "Slack",
    "SolveOptions",
    "Status",
    "bound_by_parts",
    "compile",
    "elastic",
    "fix",
    "fixed_lp",
    "give_way",
    "is_infeasible",
    "relative_gap",
    "relaxation",
    "solve",
]
