"""Fewer pieces for the same function: pieces of one law whose union is convex become one."""
