"""Finds out what a capture is about without reading all of it: which brokers, and what they say of themselves.

A run is what was captured of one broker, because each broker has its own profile. Its header is that of a recording,
as far as a capture can tell. If a broker's connection.start was not captured, the broker is judged by the texts alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import codec
from codec import values
from conformance import __version__
from conformance.catalogue import profiles
from reports.capture.files import CaptureFile
from reports.capture.frames import MAGIC, START
from reports.capture.links import LINKS, ends, place, segment

PORTS = frozenset({5672})
FRAME_END = 0xCE


def headers(name: str, files: Sequence[Path], ports: Collection[int] = PORTS) -> dict[str, dict[str, Any]]:
    """The header of each run in this capture. Raises BadCapture where a file is none."""
    servers: dict[tuple[str, int], Mapping[str, Any]] = {}
    met: set[bytes] = set()
    for file in files:
        for _, _, link, octets in CaptureFile(file).packets():
            part = segment(link, octets) if link in LINKS else None
            if part is None or not part[4]:
                continue
            key, data = part[0], part[4]
            first = START.match(data)
            if not first and (key in met or not _interesting(data)):
                continue
            met.add(key)
            source, destination = ends(key)
            if first:
                servers[source] = servers.get(source) or _client_properties(data)
            elif data[:4] == MAGIC:
                servers.setdefault(destination, {})
            else:
                for end in {source, destination}:
                    if end[1] in ports:
                        servers.setdefault(end, {})
    return {run_name(name, place(server)): _header(name, place(server), said) for server, said in servers.items()}


def run_name(capture: str, server: str) -> str:
    """What was captured of one broker."""
    return f"{capture} {server}"


def _interesting(data: bytes) -> bool:
    """May these octets begin with a frame or a protocol header?"""
    return data[:4] == MAGIC or (data[0] in (1, 2, 3, 8) and data[-1] == FRAME_END)


def _client_properties(data: bytes) -> Mapping[str, Any]:
    try:
        frames = codec.FrameReader(0).feed(data)
    except codec.MalformedFrame as problem:
        frames = problem.frames
    first = frames[0] if frames else None
    if not isinstance(first, codec.methods.ConnectionStart):
        return {}
    plain: dict[str, Any] = json.loads(json.dumps(values.plain(first.server_properties), default=str))
    return plain


def _header(name: str, server: str, said: Mapping[str, Any]) -> dict[str, Any]:
    product = " ".join(str(said[key]) for key in ("product", "version") if said.get(key))
    return {
        "run": run_name(name, server),
        "started": "",
        "suite": __version__,
        "seed": None,
        "server_properties": said,
        "broker": f"{product} at {server}" if product else server,
        "profile": profiles.detect(said).name,
    }
