"""Functions of two inputs by gates on lines: two hidden layers, about 1.75 neurons a triangle, ``5 m`` for a grid."""
