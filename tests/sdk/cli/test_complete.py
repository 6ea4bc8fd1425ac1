"""What a shell completes: the names of whatever is installed."""

from __future__ import annotations

import json

import pytest

from shell import called


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("plan dstorm:linear -s reso", ["resource-aware"]),
        ("compare x -s hetero-", ["hetero-plus"]),
        ("simulate x -s sps-", ["sps-v2"]),
        ("plan dstorm:wordc", ["dstorm:wordcount"]),
        ("why dstorm:wordc", ["dstorm:wordcount"]),
        ("sweep -w dstorm:wordc", ["dstorm:wordcount"]),
        ("run --engine si", ["sim"]),
        ("conform resource", ["resource-aware"]),
        ("reproduce het", ["hetero", "hetero-plus"]),
        ("conform --explain mono", ["monotone"]),
        ("schema requ", ["request"]),
        ("workl", ["workloads"]),
    ],
)
def test_names_of_plugins_and_of_what_they_have_are_completed(typed, names):
    words = ["headworks", *typed.split()]
    done = called(COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1), _HEADWORKS_COMPLETE="bash_complete")
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == names, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_for_what_it_completes(shell):
    done = called("completion", shell)
    assert (done.returncode, f"_HEADWORKS_COMPLETE={shell}_complete" in done.stdout) == (0, True)
    assert json.loads(called("completion", shell, "--json").stdout) == done.stdout.removesuffix("\n")


def test_a_shell_without_completion_is_refused():
    assert called("completion", "tcsh").returncode == 2


def test_a_request_that_is_no_workload_is_a_file():
    words = "headworks plan req"
    done = called(COMP_WORDS=words, COMP_CWORD="2", _HEADWORKS_COMPLETE="bash_complete")
    assert done.stdout == "file,\n"
