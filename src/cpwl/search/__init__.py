"""Choosing few among many: covers, and small binary programs. The same answer every time."""
