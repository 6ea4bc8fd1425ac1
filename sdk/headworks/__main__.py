"""The script `headworks`, and `python -m headworks`: a Ctrl-C ends it from the first line on."""

from __future__ import annotations

import signal
from typing import NoReturn


def end_at_ctrl_c() -> None:
    """Let a Ctrl-C end the process as the system does, until something handles signals.

    Python drops the exception of one that comes in a callback of an import, of which there is one for each module.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> NoReturn:
    """Run the command line, whose imports may be interrupted."""
    end_at_ctrl_c()
    # Imports are the moments at which it would be lost.
    from headworks.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
