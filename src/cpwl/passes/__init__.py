"""From network to network: the same function with fewer neurons. Each pass is one file; `simplify` runs them all."""
