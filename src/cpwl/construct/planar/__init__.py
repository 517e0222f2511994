"""Functions of two inputs: their edges and bends, found by exact sweeps along lines."""
