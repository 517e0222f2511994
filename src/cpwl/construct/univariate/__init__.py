"""Functions on a line, and those that bend in one direction only: one hidden layer, or more with far fewer neurons."""
