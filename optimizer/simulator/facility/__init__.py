"""The bought facility as numbers: pools, machines, places, roads, routes and plans of a layout."""
