"""MATLAB's files of format 5 to 7, and the regions and laws in them."""
