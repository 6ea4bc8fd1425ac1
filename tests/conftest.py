"""How long Hypothesis searches (HYPOTHESIS_PROFILE: `default` or `thorough`), and that Ctrl-C works in every test."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("default", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# a run that was started in the background ignores Ctrl-C, and so would every process that a test starts; nohup likewise
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
