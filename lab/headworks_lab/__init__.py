"""The laboratory of Headworks: experiments, reproductions of printed figures, sweeps and benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headworks_lab.sweeps.swept import sweep

__all__ = ["sweep"]


if not TYPE_CHECKING:  # a type checker knows the name above, and would take any other for one

    def __getattr__(name: str) -> Any:
        if name != "sweep":
            raise AttributeError(f"module 'headworks_lab' has no attribute {name!r}")
        # numpy and the reports cost 0.3 s, which commands that import a part of this package do not need.
        from headworks_lab.sweeps.swept import sweep

        return sweep
