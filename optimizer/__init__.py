"""tierplan: the layout of least total cost for an LLM facility, across HBM, DRAM, CXL and NVMe."""

__version__ = "0.1.0"
