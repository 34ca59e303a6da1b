"""The feasibility simulator: requests replayed through a layout, and a verdict."""
