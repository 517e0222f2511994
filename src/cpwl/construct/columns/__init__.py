"""Columns: tables on Kuhn grids in any dimension, with far terms that are exactly 0 in floats."""
