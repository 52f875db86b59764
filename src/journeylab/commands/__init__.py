"""What a person asks on the command line: one module per command.

The modules import nothing heavy at the top: the command line loads all of them at every start.
"""
