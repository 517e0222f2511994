"""Networks as mixed-integer linear programs, with the smallest constants."""
