"""Ways to make a function: pieces, simplices, breakpoints, max-min expressions, an oracle, a hidden layer."""
