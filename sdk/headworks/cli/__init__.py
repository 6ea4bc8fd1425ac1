"""The command line: data on stdout, messages on stderr, `--json` everywhere."""
