"""The folder of a URL, by its scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headworks.samples.remote import hdfs
from headworks.samples.remote.hdfs import HdfsFolder
from headworks.samples.remote.objects import ObjectFolder

if TYPE_CHECKING:
    from headworks.samples.remote.folder import RemoteFolder


def remote_folder(url: str) -> RemoteFolder:
    """Open a folder on other machines.

    Args:
        url: Such as `hdfs://NAMENODE:PORT/FOLDER`, or `s3://BUCKET/PREFIX` and what else obstore knows.

    Raises:
        EngineError: The library for it is missing, or the URL is of no store that is known.
    """
    return HdfsFolder.of(url) if urlsplit(url).scheme == hdfs.SCHEME else ObjectFolder.of(url)
