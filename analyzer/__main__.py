"""``python -m analyzer`` is the command ``analyzer``."""

from analyzer.cli.app import main

main()
