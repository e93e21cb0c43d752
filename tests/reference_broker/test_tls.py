"""TLS and mutual TLS, with foreign clients and with our own suite."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pika
import pytest

from reference_broker import ReferenceBroker
from reference_broker.__main__ import main
from reference_broker.tls import BadTls, Tls, certificate, distinguished

RULES = ("TAG-*", "ERR-*", "CNF-00*", "TX-*")


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a server's certificate and a client's, both signed by it."""
    folder = tmp_path_factory.mktemp("tls")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req",
        "-x509",
        *key,
        "-days",
        "2",
        "-subj",
        "/CN=authority",
        "-keyout",
        f"{folder}/ca.key",
        "-out",
        f"{folder}/ca.pem",
    )
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name, subject in (("server", "/CN=localhost"), ("client", "/O=Club/CN=alice")):
        openssl("req", *key, "-subj", subject, "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr")
        openssl(
            "x509",
            "-req",
            "-in",
            f"{folder}/{name}.csr",
            "-CA",
            f"{folder}/ca.pem",
            "-CAkey",
            f"{folder}/ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            f"{folder}/names",
            "-out",
            f"{folder}/{name}.pem",
        )
    return folder


def tls(folder: Path, verify: str = "none", external: bool = False) -> Tls:
    return Tls(f"{folder}/server.pem", f"{folder}/server.key", f"{folder}/ca.pem", verify, external)


@pytest.fixture
def mutual(folder: Path) -> Iterator[ReferenceBroker]:
    with ReferenceBroker(tls=tls(folder, "required", external=True), users={"alice": "secret"}) as broker:
        yield broker


def parameters(broker: ReferenceBroker, folder: Path, shown: bool, **how: object) -> pika.ConnectionParameters:
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    if shown:
        context.load_cert_chain(f"{folder}/client.pem", f"{folder}/client.key")
    return pika.ConnectionParameters(
        "127.0.0.1",
        broker.tls_port,
        ssl_options=pika.SSLOptions(context, "localhost"),
        connection_attempts=1,
        **how,
    )


def test_pika_by_certificate(mutual: ReferenceBroker, folder: Path) -> None:
    by_certificate = pika.credentials.ExternalCredentials()
    with pika.BlockingConnection(parameters(mutual, folder, True, credentials=by_certificate)) as connection:
        channel = connection.channel()
        channel.queue_declare("q")
        channel.basic_publish("", "q", b"x" * 300_000)
        assert channel.basic_get("q", auto_ack=True)[2] == b"x" * 300_000


def test_pika_without_one_where_it_is_required(mutual: ReferenceBroker, folder: Path) -> None:
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        pika.BlockingConnection(parameters(mutual, folder, False))


def test_plain_and_secure_ports_lead_to_the_same_queues(folder: Path) -> None:
    opened = pika.BlockingConnection
    with ReferenceBroker(tls=tls(folder, "optional")) as broker, opened(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_declare("q")
        with opened(parameters(broker, folder, False)) as secure:
            assert secure.channel().queue_declare("q", passive=True).method.queue == "q"


def test_the_suite_passes_over_tls(folder: Path, tmp_path: Path) -> None:
    """Some families; `amqp-conformance run` with an amqps URL runs them all."""
    with ReferenceBroker(tls=tls(folder), clock="elastic", http_port=0) as broker:
        rules = [word for rule in RULES for word in ("--rules", rule)]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "conformance.cli",
                "run",
                broker.tls_url,
                "--broker-admin",
                broker.admin_url,
                "--depth",
                "smoke",
                *rules,
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GATE OPEN" in done.stdout


def test_the_doctor_by_certificate(mutual: ReferenceBroker, folder: Path) -> None:
    files = f"cacertfile={folder}/ca.pem&certfile={folder}/client.pem&keyfile={folder}/client.key"
    url = f"amqps://nobody:wrong@127.0.0.1:{mutual.tls_port}/%2F?{files}"
    assert conformance("doctor", f"{url}&auth_mechanism=external").returncode == 0
    assert "login" in conformance("doctor", url).stdout


def conformance(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "conformance.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (("none.pem", None), "no certificate and key in"),
        (("server.pem", "client.key"), "no certificate and key in"),
        (("server.pem", "server.key", "none.pem"), "no authorities in"),
        (("server.pem", "server.key", None, "required"), "--tls-ca"),
        (("server.pem", "server.key", "ca.pem", "none", "external"), "--tls-verify"),
    ],
)
def test_files_that_do_not_do(folder: Path, files: tuple[str | None, ...], says: str) -> None:
    paths = [name and (f"{folder}/{name}" if name.endswith(("pem", "key")) else name) for name in files]
    with pytest.raises(BadTls, match=says):
        Tls(*paths).context()  # type: ignore[arg-type]


def test_the_command_says_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", "0", "--tls-cert", f"{folder}/none.pem"]) == 2
    assert "no certificate and key in" in capsys.readouterr().err


def test_subjects_are_written_as_rabbitmq_does() -> None:
    subject = ((("countryName", "DE"),), (("organizationName", "A, B"),), (("commonName", "alice"),))
    assert distinguished(subject) == "CN=alice,O=A\\, B,C=DE"
    assert certificate({"subject": subject}).common_name == "alice"  # type: ignore[union-attr]
    assert certificate({}) is None
