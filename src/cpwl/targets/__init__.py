"""What other tools run, solve or verify: C code, mixed-integer programs, verification benchmarks."""
