"""Network -> CPWL: every linear region, exactly, by subdivision in few dimensions and by a walk beyond."""
