"""What a person asks on the command line: a module for each command, or for two of one subject."""
