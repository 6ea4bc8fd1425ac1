"""A process that dies in the middle of its work, in a module that other processes can import."""

import os

from headworks_spark.replay.verdict import Verdict


def dies_at(log, lost):
    """A verdict on any log but one."""
    if log == lost:
        os._exit(9)
    return Verdict(log=log)
