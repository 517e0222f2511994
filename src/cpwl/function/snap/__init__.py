"""A nearby exactly consistent function for float data."""
