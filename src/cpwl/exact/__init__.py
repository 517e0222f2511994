"""Exact numbers: rationals, integer arrays, exact linear algebra. Floats propose, these decide."""
