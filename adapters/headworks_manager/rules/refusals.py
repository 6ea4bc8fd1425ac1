"""Documents that fit their schema, and are refused for what there is: callers of HTTP are told them apart."""

from __future__ import annotations

from headworks.errors import DocumentError


class UnknownError(DocumentError):
    """A topology or a source that there is not."""


class ConflictError(DocumentError):
    """A change that the cluster, as it was seen last, does not allow."""


class StaleError(DocumentError):
    """A change of something that is no longer as its author saw it."""
