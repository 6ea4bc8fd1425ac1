from __future__ import annotations

import pytest


@pytest.fixture(scope="package")
def spark():
    """One embedded session for every test of the pipeline."""
    from headgate_pipeline.session import Place, session

    with session(Place(master="local[2]", driver_memory="700m", quick=True)) as made:
        yield made
