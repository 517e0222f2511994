"""Gate networks in every dimension: a number of neurons linear in the complex (docs/theory/local_gates.md)."""
