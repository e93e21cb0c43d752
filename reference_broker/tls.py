"""The server's side of TLS: what the options of the command line and of `ReferenceBroker` ask for, as a context.

With `verify="optional"` a client may show a certificate, with "required" it must; either way one that is shown must be
signed by an authority in `ca`. Only a certificate that was verified can log somebody in.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from reference_broker.core.connections.origin import Certificate

Verify = Literal["none", "optional", "required"]
VERIFY: Mapping[str, ssl.VerifyMode] = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
    "emailAddress": "E",
}


SHORT_TIME = b"\x17"
"""In DER: a time whose year has two digits; \x18 is one of four."""
TIME = rb"\x17\x0d\d{12}Z|\x18\x0f\d{14}Z"
VALIDITY = re.compile(rb"(?:%b)(%b)" % (TIME, TIME))
NO_PASSWORD = "there is none"
"""For a key that wants one: nobody is asked at a terminal."""


class BadTls(ValueError):
    """TLS cannot be had like this; the message says what to change."""


def describe_problem(problem: Exception) -> str:
    """What OpenSSL means."""
    if isinstance(problem, ssl.SSLError):
        if problem.reason == "KEY_VALUES_MISMATCH":
            return "the key is not that of the certificate"
        return "it has no PEM of that kind, or a key that wants a password (a broker takes one that wants none)"
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


class Secure(ssl.SSLContext):
    expires: float | None = None
    """Until when the certificate is good, in seconds since 1970; None: it does not say."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM: the server's certificate, its key (by default in the same file), authorities for clients."""

    cert: str
    key: str | None = None
    ca: str | None = None
    verify: Verify = "none"
    external: bool = False
    """May somebody log in by a certificate alone (SASL EXTERNAL)? RabbitMQ wants a plugin for it."""

    def context(self) -> Secure:
        """Raises BadTls."""
        if self.verify != "none" and self.ca is None:
            raise BadTls("clients' certificates are verified against authorities; name their file with --tls-ca")
        if self.external and self.verify == "none":
            raise BadTls("nobody shows a certificate to log in by; ask for it with --tls-verify")
        context = Secure(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.cert, self.key, NO_PASSWORD)
        except (OSError, ValueError) as problem:
            where = f"{self.cert} and {self.key}" if self.key else f"{self.cert} alone"
            raise BadTls(f"no certificate and key in {where}: {describe_problem(problem)}") from None
        if self.ca is not None:
            try:
                context.load_verify_locations(self.ca)
            except OSError as problem:
                raise BadTls(f"no authorities in {self.ca}: {describe_problem(problem)}") from None
        context.verify_mode = VERIFY[self.verify]
        context.expires = expires(Path(self.cert).read_text())
        return context


def expires(pem: str) -> float | None:
    """The end of the validity of the first certificate: the second of the two times that follow upon one another."""
    begin, end = pem.find(ssl.PEM_HEADER), pem.find(ssl.PEM_FOOTER)
    found = VALIDITY.search(ssl.PEM_cert_to_DER_cert(pem[begin : end + len(ssl.PEM_FOOTER)]))
    if found is None:
        return None
    short, text = found[1][:1] == SHORT_TIME, found[1][2:].decode()
    century = "" if not short else "19" if text >= "50" else "20"
    return datetime.strptime(f"{century}{text}+0000", "%Y%m%d%H%M%SZ%z").timestamp()


def certificate(shown: Mapping[str, Any] | None) -> Certificate | None:
    """What `SSLSocket.getpeercert` says, in short; None when nothing was shown, or nobody verified it."""
    if not shown:
        return None
    subject = shown.get("subject", ())
    return Certificate(distinguished(subject), common_name(subject), distinguished(shown.get("issuer", ())))


def distinguished(names: Iterable[Iterable[tuple[str, str]]]) -> str:
    """In the notation of RFC 4514: the last part first, special characters escaped."""
    parts = ["+".join(f"{SHORT.get(kind, kind)}={escaped(value)}" for kind, value in part) for part in names]
    return ",".join(reversed(parts))


def escaped(value: str) -> str:
    inside = "".join(f"\\{letter}" if letter in ',+"\\<>;' else letter for letter in value)
    return f"\\{inside}" if inside[:1] in ("#", " ") else inside


def common_name(names: Iterable[Iterable[tuple[str, str]]]) -> str:
    return next((value for part in names for kind, value in part if kind == "commonName"), "")
