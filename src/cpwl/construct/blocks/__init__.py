"""What several constructions are built from."""
