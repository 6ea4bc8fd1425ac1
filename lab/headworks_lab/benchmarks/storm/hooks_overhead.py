"""What counting costs: a topology with the task hooks, beside the same one without.

WordCount over a text, acked, at full speed. With `--bare` bolts do nothing but count what they receive, unacked, so
that the cost of a hook is as large a part as it can be, and with `--rate` they do so at a rate that they can bear.
"""

from headworks_lab.benchmarks.storm.beside import compare, parser
from headworks_storm.service import HOOKS

if __name__ == "__main__":
    compare("hooks", parser(__doc__, pairs=6).parse_args(), {}, HOOKS)
