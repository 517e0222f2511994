"""Multiparametric programs: solved exactly, with a proof that no region is missing; model predictive control."""
