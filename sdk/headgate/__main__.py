"""`python -m headgate`: the command line, where no script is on the path."""

from headgate.cli.script import main

main()
