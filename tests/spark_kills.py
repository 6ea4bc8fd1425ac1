"""Deaths of a local Spark cluster's Workers."""

from __future__ import annotations

import signal

from headworks_local.process import end


def kill_worker(cluster, host):
    """Kill a Worker and its executors at once, as a machine that loses power."""
    daemon = cluster._daemons.pop(host)
    daemon.signal(signal.SIGKILL)
    end([daemon], grace=0)
