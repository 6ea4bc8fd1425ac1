"""The engine contract, on every engine that there is."""

from __future__ import annotations

import pytest

from headworks.testing import EngineContract, EngineTrial


class TestSim(EngineContract):
    @pytest.fixture
    def engine_trial(self):
        return EngineTrial(engine="sim", application=("dstorm:linear",), patience=120.0)
