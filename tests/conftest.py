"""How long Hypothesis searches: the profile that HYPOTHESIS_PROFILE names, `default` or `thorough`."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("default", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
