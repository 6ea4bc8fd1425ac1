from __future__ import annotations

import pytest

from headworks.model import Scores
from headworks.report.format import SCORE_COLUMNS, percent, quantity, score_cells


@pytest.mark.parametrize(
    ("amount", "text"),
    [(None, "-"), (0.0, "0"), (12345.6, "12,346"), (999.9, "1,000"), (123.4, "123"), (0.4567, "0.457"), (7, "7")],
)
def test_numbers_are_written_as_people_read_them(amount, text):
    assert quantity(amount) == text


def test_shares_are_percentages():
    assert percent(0.1234) == "12.3%"


def test_there_is_a_cell_for_every_column():
    assert len(score_cells(Scores())) == len(SCORE_COLUMNS)
