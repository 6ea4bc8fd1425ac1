"""What engines' tests share: caches, and a server that speaks S3."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from caches import own_cache

SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""
"""A server that speaks S3: it prints its address, and ends with its standard input, as who started it does."""


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The value of `XDG_CACHE_HOME` for this test alone: no standing cluster, and all that is slow to make."""
    folder = Path(own_cache(tmp_path)["XDG_CACHE_HOME"])
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def endpoint():
    """The address of a server that speaks S3, in a process of its own."""
    pytest.importorskip("obstore")
    pytest.importorskip("moto.server")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", SERVER], text=True, **pipes) as server:
        yield server.stdout.readline().strip()


@pytest.fixture
def s3(endpoint, monkeypatch):
    """A client that is not ours, on an empty bucket `results`."""
    own = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
    own |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    client = pytest.importorskip("boto3").client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="results")
    yield client
    for each in client.list_objects_v2(Bucket="results").get("Contents", []):
        client.delete_object(Bucket="results", Key=each["Key"])
    client.delete_bucket(Bucket="results")
    client.close()
