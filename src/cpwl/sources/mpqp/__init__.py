"""Multiparametric programs: regions and laws recomputed in rationals from matrices and active sets."""
