"""`headworks metrics`: alert rules and a dashboard for what `--metrics` shows."""

from __future__ import annotations

import json
from importlib import resources

import click

FILES = {"alerts": "alerts.yaml", "dashboard": "dashboard.json"}


@click.command("metrics")
@click.argument("file", metavar="alerts|dashboard", type=click.Choice([*FILES]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON (the dashboard always is).")
def command(*, file: str, as_json: bool) -> None:
    """Print alert rules for Prometheus, or a dashboard for Grafana.

    Both are for the metrics that `--metrics` of `run` and `serve storm` shows. Name the scrape job `headworks`.
    """
    text = (resources.files("headworks.report") / "monitoring" / FILES[file]).read_text(encoding="utf-8")
    if as_json and file == "alerts":
        import yaml  # costs 30 ms, which the list of commands does not need

        text = json.dumps(yaml.safe_load(text), indent=2) + "\n"
    click.echo(text, nl=False)
