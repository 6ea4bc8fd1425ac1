"""The program for `spark-submit`: `headworks pipeline run` in the session that it is given.

    spark-submit --master yarn --deploy-mode client FILE SAMPLES -O DIR [OPTIONS]

FILE is this file; the options are those of `headworks pipeline run`, but that master, memory and packages are those of
spark-submit.
"""

from __future__ import annotations

import sys

from headworks.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["pipeline", "run"]
    main()
