"""The irredundant lattice of all outputs, lowered together: monotone expressions of components, few neurons."""
