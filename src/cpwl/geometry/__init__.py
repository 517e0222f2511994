"""Polyhedra by the thousand, small linear programs, facets and adjacency."""
