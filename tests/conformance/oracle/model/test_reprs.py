"""What knows each other must not print each other: a record's text would grow exponentially with its history.

Tracebacks print arguments, so such a text would be made just when something went wrong.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import conformance.oracle.model

RECORDS = sorted(
    {
        kind
        for module in pkgutil.walk_packages(conformance.oracle.model.__path__, "conformance.oracle.model.")
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if dataclasses.is_dataclass(kind) and kind.__eq__ is object.__eq__
    },
    key=lambda kind: kind.__qualname__,
)


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_with_an_identity_prints_only_that(kind: type) -> None:
    assert kind.__repr__ is object.__repr__
