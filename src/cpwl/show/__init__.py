"""Pictures: the paper's figures drawn anew, and the report on one function."""
