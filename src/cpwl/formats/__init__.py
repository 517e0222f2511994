"""One file for each thing people hold or want: readers and writers, outside of what they read and write."""
