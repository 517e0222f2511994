"""Strips: fewer neurons than pieces for functions of two inputs on bounded domains, in four hidden layers."""
