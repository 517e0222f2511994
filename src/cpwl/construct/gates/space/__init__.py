"""Gate networks in every dimension: a number of neurons linear in the complex, right on every input (THEORY 7)."""
