"""Programs that stand alone: each reads a function, a network and a proof, and decides. Standard library only."""
