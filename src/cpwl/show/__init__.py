"""What people look at: the demonstration, and the page on a function or a network."""
