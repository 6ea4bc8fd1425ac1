"""`python -m headgate`: the command line, where no script is on the path."""

from headgate.cli.main import main

main()
