"""Settings shared by all tests."""

from hypothesis import settings

# Times vary on shared machines; a deadline would test the machine. `make test` takes the same examples each time, so
# that a failure comes from the change under test; `make test-all` takes new ones (`--hypothesis-profile=random`), and
# says how to repeat what fails.
settings.register_profile("cpwl", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=60, derandomize=False, print_blob=True)
settings.load_profile("cpwl")
