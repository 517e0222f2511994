"""From weights to documents: each prover guesses a proof of one kind."""
