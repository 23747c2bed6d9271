"""The analysts: implementations of `core.ports.Analyst` (learning.md 4). None of them decides anything."""
