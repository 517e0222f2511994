"""The whole complex of a network, cut by one neuron at a time: vertices, faces, cells and their signs."""
