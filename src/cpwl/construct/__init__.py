"""From function to network: one construction a file, named after the mathematics."""
