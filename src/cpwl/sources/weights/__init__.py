"""Networks given by their weights alone: lists, .npz and .safetensors files."""
