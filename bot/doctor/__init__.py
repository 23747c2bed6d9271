"""Is everything well, and what to do where it is not: `auto-improve doctor` and `/doctor`."""
