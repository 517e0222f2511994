"""Settings shared by all tests."""

from hypothesis import settings

# Times vary on shared machines; a deadline would test the machine. The same examples each time, so that a failure comes
# from the change under test.
settings.register_profile("cpwl", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("cpwl")
