"""What one may ask a function: exact answers, each with a witness."""
