"""Results as data: rows of named columns, alike in every result, and tables of them."""

from __future__ import annotations

from typing import Any

Record = dict[str, str | int | float | bool | None]
"""A row: values by the name of the column."""


class Tabular:
    """A result that is a table: flat rows, a data frame, a line in a prompt, and a table in a notebook."""

    __slots__ = ()

    @property
    def rows(self) -> list[Record]:
        """The rows, each a value by the name of its column; all have the same columns."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The rows as a data frame of pandas.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            # pandas is optional, and costs 0.4 s.
            import pandas
        except ModuleNotFoundError:
            raise ImportError("pandas is not installed: `pip install pandas`; .rows has the same without it") from None
        return pandas.DataFrame(self.rows)
