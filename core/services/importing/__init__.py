"""Read traces from files of other programs: Pi, pi-evolver, Claude Code, plain events (learning.md 5)."""
