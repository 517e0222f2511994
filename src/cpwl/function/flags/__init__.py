"""Exact consistency of pieces by cancellation of flags."""
