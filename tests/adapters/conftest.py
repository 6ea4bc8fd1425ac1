"""What engines' tests share: JVMs that find their classes in an archive, caches, and a server that speaks S3."""

from __future__ import annotations

import contextlib
import fcntl
import functools
from pathlib import Path

import pytest

from caches import own_cache
from headworks.errors import EngineError
from headworks_local.private_files import cache_folder


def pytest_runtest_setup(item):
    for marker, prepare in (("spark", prepare_spark), ("storm", prepare_storm)):
        if item.get_closest_marker(marker) and (problem := prepare()):
            pytest.fail(f"no class data archive could be made: {problem}", pytrace=False)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The value of `XDG_CACHE_HOME` for this test alone: no standing cluster, and all that is slow to make."""
    folder = Path(own_cache(tmp_path)["XDG_CACHE_HOME"])
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def told(make):
    """What went wrong, "" if nothing did: it is tried once, and every test of the engine fails for it."""

    @functools.cache
    def prepare():
        with one_process(make.__name__):
            try:
                return "" if make() else "its JVM ended without writing it, or its time was over"
            except EngineError as error:
                return str(error)

    return prepare


@told
def prepare_spark():
    from headworks_spark.driver.jar import spark_home
    from headworks_spark.driver.jvm import make_class_data

    return make_class_data(spark_home())


@told
def prepare_storm():
    from headworks_storm.local.cds_training import make_class_data
    from storm_cluster import RELEASE

    return make_class_data(RELEASE)


@contextlib.contextmanager
def one_process(name):
    """While one of the processes that share the tests makes an archive, those that need it wait for it."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def endpoint():
    """A server that speaks S3, in this process."""
    pytest.importorskip("obstore")
    server = pytest.importorskip("moto.server")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


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
