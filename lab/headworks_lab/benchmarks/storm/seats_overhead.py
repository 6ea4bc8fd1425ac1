"""What seats cost where nothing moves: a topology with seats, beside the same one without.

With `--monitor` workers report in both: by Storm's task hooks without seats, and with them by the wrapped components
themselves. WordCount over a text, acked, at full speed; with `--bare` bolts that do nothing but count what they
receive, unacked, so that the cost of a seat is as large a part as it can be.
"""

from headworks_lab.benchmarks.storm.beside import compare, parser
from headworks_storm.service import HOOKS

VALIDATOR = {"nimbus.topology.validator": "headworks.storm.seats.Validator"}
BARE = {"headworks.seats.movable": "count=fields:counts; sink=fields:counts"}
WORDS = {"headworks.seats.movable": "split=stateless; count=fields:counts,words"}


def main() -> None:
    """Print the table."""
    options = parser(__doc__, pairs=6)
    options.add_argument("--monitor", action="store_true", help="workers report in both")
    asked = options.parse_args()
    plain = HOOKS if asked.monitor else {"headworks.collector": ""}
    compare("seats", asked, plain, {**plain, **(BARE if asked.bare or asked.rate else WORDS)}, **VALIDATOR)


if __name__ == "__main__":
    main()
