"""A folder of Markdown files and the entries of an actor, kept the same in both directions."""
