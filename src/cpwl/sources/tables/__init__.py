"""Tables and interpolants: SciPy's, NumPy's, and those in text files."""
