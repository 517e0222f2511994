"""The explorer: one HTML page on a function, a network, or two of them, drawn in the browser."""
