"""Calculating with functions: sums, maxima, compositions, restrictions, on common refinements."""
