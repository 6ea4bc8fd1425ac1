import sys

import pytest

from headworks.errors import EngineError
from headworks_local.maven import Artefact, resolve
from headworks_storm.release.artefacts import SERVER_TESTS

NOWHERE = Artefact("example.headworks", "nothing", "0.0.1")


def test_a_file_in_the_local_repository_is_found_without_a_network(tmp_path):
    folder = tmp_path / "org/apache/storm/storm-server/2.8.3"
    folder.mkdir(parents=True)
    jar = folder / "storm-server-2.8.3-tests.jar"
    jar.write_bytes(b"")
    assert resolve(SERVER_TESTS, tmp_path) == jar


def test_an_unreachable_repository_is_an_engine_error(tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(EngineError, match=r"example\.headworks:nothing:0\.0\.1 cannot be downloaded \(ProxyError\)"):
        resolve(NOWHERE, tmp_path)


def test_without_jgo_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    with pytest.raises(EngineError, match="pip install 'jgo>=3,<4'"):
        resolve(NOWHERE, tmp_path)


@pytest.mark.network
def test_an_artefact_that_does_not_exist_is_an_engine_error(tmp_path):
    with pytest.raises(EngineError, match="not found in Maven Central"):
        resolve(NOWHERE, tmp_path)
