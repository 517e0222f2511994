"""PyTorch modules: networks out as `nn.Sequential`, and in again."""
