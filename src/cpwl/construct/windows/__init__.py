"""Windows on a convex lifting: bounded cells in any dimension, with far terms that are exactly 0 in floats."""
