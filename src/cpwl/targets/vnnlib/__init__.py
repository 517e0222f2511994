"""Verification benchmarks whose answers are known exactly."""
