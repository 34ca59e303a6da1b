"""Cash flows of one purchase or contract, discounted, by component of the bill. USD before tax.

`Money` prices parts (`prices.py`), chooses the cost lines in force (`lines.py`) and writes the bill
(`bill.py`); `remarks.py` says what a planner has to know about it, `ownership.py` holds it against
published figures.
"""

from optimizer.instance.money.bill import Bill, Money
from optimizer.instance.money.parts import Part, Things
from optimizer.instance.money.prices import DRAM_REFERENCE, NVME_REFERENCE, YEAR

__all__ = ["DRAM_REFERENCE", "NVME_REFERENCE", "YEAR", "Bill", "Money", "Part", "Things"]
