"""`python -m headworks`: the command line, where no script is on the path."""

from headworks.cli.script import main

main()
