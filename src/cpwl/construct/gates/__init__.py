"""Gates: networks of linear size, right on every function; in the plane line gates, beyond it local functions."""
