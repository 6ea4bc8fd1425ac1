"""The same samples in a bucket and in a topic, on servers of this machine, and the commands that read them there."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyarrow import parquet

from headworks.samples.store import SampleTopic, TopicAddress
from headworks_local.kafka.broker import LocalKafka
from headworks_local.maven import resolve_locked

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 5000
"""Rows of a message."""
LOCKS = Path(__file__).parents[3] / "tests" / "adapters" / "pipeline"
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""
S3A = ("path.style.access=true", "endpoint.region=us-east-1", "input.stream.type=classic")
KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}


@contextlib.contextmanager
def bucket(samples: Path) -> Iterator[list[str]]:
    """Words of `headworks pipeline run` for the samples in a bucket."""
    # It comes with the tests alone.
    import boto3

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", SERVER], text=True, **pipes) as server:
        os.environ |= KEYS | {"AWS_ENDPOINT_URL": server.stdout.readline().strip()}
        client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
        client.create_bucket(Bucket="samples")
        for file in filter(Path.is_file, samples.rglob("*")):
            client.upload_file(str(file), "samples", f"raw/{file.relative_to(samples).as_posix()}")
        conf = [_jars("s3a-3.5.0.txt"), *(f"spark.hadoop.fs.s3a.{each}" for each in S3A)]
        yield ["s3a://samples/raw", "-O", "s3a://samples/learnt", *(word for each in conf for word in ("--conf", each))]
        server.stdin.close()


@contextlib.contextmanager
def topic(samples: Path, folder: Path) -> Iterator[list[str]]:
    """Words of `headworks pipeline receive` for the samples in a topic."""
    with LocalKafka() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("samples", 1)])["samples"].result(60)
        sink = SampleTopic(TopicAddress(broker.bootstrap, "samples"))
        for number, file in enumerate(sorted(samples.rglob("*.parquet"))):
            table = parquet.read_table(file, partitioning=None)
            for begin in range(0, table.num_rows, ROWS):
                content = io.BytesIO()
                parquet.write_table(table.slice(begin, ROWS), content)
                hour = file.parent.relative_to(samples).as_posix()
                sink.put([(f"{hour}/samples-{number:016x}-{begin}.parquet", content.getvalue())])
        sink.close()
        yield [f"kafka://{broker.bootstrap}/samples", str(folder), "--conf", _jars("kafka-4.2.0.txt")]


def _jars(lock: str) -> str:
    return f"spark.jars={','.join(map(str, resolve_locked(LOCKS / lock)))}"
