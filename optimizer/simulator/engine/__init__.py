"""The event loop: compiled kernels over the tables of `optimizer.simulator.types`."""
