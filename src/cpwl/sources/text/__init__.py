"""Text files of other programs; decimal numbers are read as decimals."""
