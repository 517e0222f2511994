"""Pieces of a network with two or more hidden layers: the layers come back."""
