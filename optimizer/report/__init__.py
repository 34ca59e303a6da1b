"""Reports: everything a reader sees, rendered from result.json, or from the catalogue, alone."""
