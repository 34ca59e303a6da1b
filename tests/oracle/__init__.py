"""An independent oracle: the laws of docs/formulation.md in plain Python, solved by enumeration."""
