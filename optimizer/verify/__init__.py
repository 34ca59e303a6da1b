"""The exact check of a layout: an independent witness that knows nothing of Pyomo or HiGHS.

Written from docs/formulation.md alone; it shares only the value types with `optimizer.formulation`.
"""

from optimizer.verify.certificate import Activity, Certificate, Row, Sense, Violation
from optimizer.verify.check import check

__all__ = ["Activity", "Certificate", "Row", "Sense", "Violation", "check"]
