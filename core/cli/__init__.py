"""The command line of core: `group.root()` is the click group, `border.run` its edge to the shell."""
