"""ONNX: networks out in one exact dialect, and in from that and the common ones."""
