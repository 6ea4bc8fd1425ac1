"""What a round of Nimbus costs beyond the plan itself: 10,000 executors on 1,000 supervisors, through the whole bridge.

Storm's own `Cluster`, the scheduler class that Nimbus loads, and a real Python process that answers with a plan made
before. A round is the snapshot, the way there and back, the check of the answer, and the change of the cluster.
`plan` is what the other process does in place of planning: it parses the round, and takes its answer from a file.

The wall clock of a busy machine measures its other work. Nimbus and Python work by turns, so the sum of the processor
time that both spend beyond the plan is what a round costs on an idle one; the limit is for that sum.
Needs the sources of the tests.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headworks.cli.output import console, table

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
from storm_jvm import run_class

MOST = 0.25
"""Seconds that a round may cost beyond planning."""
CPU = ("median_nimbus_cpu_s", "median_python_cpu_s")
COLUMNS = (
    "executors",
    "question MB",
    "answer MB",
    "first s",
    "median s",
    "plan s",
    "beyond s",
    "Nimbus CPU",
    "Python CPU",
    "both",
)


def main() -> None:
    """Print the table; exit code 1 if a round costs more than it may."""
    rows, over = [], []
    with tempfile.TemporaryDirectory() as folder:
        for each in run_class("RoundBenchmark", folder=Path(folder)):
            sizes = (f"{each[name] / 1e6:.2f}" for name in ("round_bytes", "answer_bytes"))
            names = ("first_s", "median_s", "median_python_s", "median_rest_s", *CPU)
            cost = sum(each[name] for name in CPU)
            rows.append((each["case"], *sizes, *(f"{each[name]:.3f}" for name in names), f"{cost:.3f}"))
            over += [each["case"]] if cost > MOST else []
    out = console()
    out.print(table(f"A round through Nimbus, at most {MOST} s beyond the plan", COLUMNS, rows, numbers=COLUMNS[1:]))
    raise SystemExit(f"over {MOST} s: {', '.join(over)}" if over else 0)


if __name__ == "__main__":
    main()
