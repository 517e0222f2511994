"""Networks in the making: affine forms in neurons that read each other across layers, and the chain they become."""
