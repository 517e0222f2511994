"""Formulas: text to expressions, expressions to functions and to networks."""
