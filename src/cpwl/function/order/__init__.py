"""Which components stay above, and which below, the function on each piece; which rows of a max-min form are valid."""
