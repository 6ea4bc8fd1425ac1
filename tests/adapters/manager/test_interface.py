"""The manager answers over HTTP as its description says, whatever it is asked."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS

from headworks_local.http_server import HttpServer
from headworks_local.private_files import SecretFile, read_or_make_secret
from headworks_manager.database.history import Author
from headworks_manager.openapi import described
from headworks_manager.opening import Stores
from headworks_manager.rules.indication import Trigger
from headworks_manager.web import application
from patience import PATIENCE

SCHEMA = schemathesis.openapi.from_dict(described())
LOOSER = CHECKS.get_by_names(["positive_data_acceptance", "negative_data_rejection"])
"""Names have rules that no schema says, and a client leaves out the keys of a query that have no value."""


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    """A manager's address, its token, and what makes sure that it has a topology with a source."""
    folder = tmp_path_factory.mktemp("interface")
    stores, token = Stores(), folder / "token"
    secret, database = read_or_make_secret(token), str(folder / "p.sqlite")
    app = application(lambda: stores.use(database), SecretFile(token), lambda done: None)

    def make(name):
        with stores.use(database) as store:
            store.set(name, {"priority": 3}, Author(who="ann"))
            store.trigger(Trigger(topology=name, on=True, source="s"), Author(who="ann"))

    with HttpServer(app, ("127.0.0.1", 0)) as server:
        yield server.url, secret, make
    stores.close()


def aim(place, keys):
    """Let most requests mean something that is there: names that are made up are hardly ever any."""
    for key in keys:
        if isinstance(place, dict) and isinstance(text := place.get(key), str) and len(text) % 3:
            place[key] = "s" if key == "source" else "a"


@SCHEMA.parametrize()
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_each_operation_answers_as_it_is_described(case, near):
    url, secret, make = near
    make("a")
    aim(case.path_parameters, ("name", "source"))
    aim(case.query, ("topology",))
    aim(case.body, ("topology", "source"))
    head = {"Authorization": f"Bearer {secret}"}
    case.call_and_validate(base_url=url, headers=head, excluded_checks=LOOSER, timeout=PATIENCE)
