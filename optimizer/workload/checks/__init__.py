"""What input is refused though every value of it is well-formed: one check per function.

The list `CHECKS` is the documentation. A check yields the faults it finds in a validated workload; each
fault stands at the keys that would have to change.
"""

from optimizer.errors import Problem
from optimizer.files import Document
from optimizer.workload.checks import facility, money, sizes, traffic
from optimizer.workload.checks.fault import Check, Fault
from optimizer.workload.schema import Workload

CHECKS: tuple[Check, ...] = (*traffic.CHECKS, *facility.CHECKS, *money.CHECKS, *sizes.CHECKS)

__all__ = ["CHECKS", "Check", "Fault", "problems"]


def problems(workload: Workload, document: Document) -> list[Problem]:
    """Every fault that any check finds, in the order of the file."""
    faults = [fault for check in CHECKS for fault in check(workload)]
    faults.sort(key=lambda fault: document.locate(fault.keys))
    return [document.problem(*fault) for fault in faults]
