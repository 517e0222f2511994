"""Proofs that a network computes a function: provers guess, stand-alone checkers decide."""
