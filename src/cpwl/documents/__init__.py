"""Functions and networks as JSON documents: written, validated, read; nothing here touches a file."""
