"""Settings shared by all tests."""

from hypothesis import settings

# Times vary on shared machines; a deadline would test the machine.
settings.register_profile("cpwl", deadline=None, max_examples=60)
settings.load_profile("cpwl")
