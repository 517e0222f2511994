"""The function as a value: pieces, laws, components; algebra; what is wrong with it."""

from cpwl.function.cpwl import CPWL

__all__ = ["CPWL"]
