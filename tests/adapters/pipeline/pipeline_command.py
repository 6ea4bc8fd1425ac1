"""The pipeline as a user runs it: the console command, Spark embedded in the process that it starts."""

from __future__ import annotations

from patience import PATIENCE
from shell import headworks

LOCAL = ("--master", "local[2]", "--driver-memory", "700m")


def pipeline_here(samples, output, *words):
    """Run `headworks pipeline run` to its end, without a JVM."""
    done = headworks("pipeline", "run", samples, "-O", output, "--backend", "duckdb", "--json", *words)
    assert done.returncode == 0, done.stderr
    return done


def pipeline(samples, output, *words):
    """Run `headworks pipeline run` to its end."""
    done = headworks("pipeline", "run", samples, "-O", output, *LOCAL, "--json", *words, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done
