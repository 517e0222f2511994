"""Proofs that a network computes a function, and bounds for rounded weights; `checker.py` stands alone."""
