"""``python -m journeylab``."""

from journeylab.commands.app import main

main()
