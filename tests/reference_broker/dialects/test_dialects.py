"""Dialects as such: the names they have, what they are made of, and what mutants leave of them.

A dialect replaces decisions of the core, and a mutant replaces some of the same. A mutant must build on what it finds,
or one that is played in a dialect would silently be played without it.
"""

from __future__ import annotations

from inspect import isfunction

import pytest

from codec import values
from conformance.catalogue import profiles
from reference_broker import ReferenceBroker, dialects
from reference_broker.core.parts import Parts
from reference_broker.dialects import BEHAVIOURS
from reference_broker.mutants import MUTANTS
from tests.reference_broker.dialects.speech import REAL


@pytest.mark.parametrize("name", dialects.DIALECTS)
def test_a_dialect_is_held_to_the_profile_of_its_name(name, speaking):
    properties = values.plain(speaking(name).core.server_properties)
    assert profiles.detect(properties).name == name


def test_an_unknown_dialect_is_refused_before_anything_starts():
    with pytest.raises(dialects.UnknownDialect, match=r"rabbitmq-4\.3"):
        ReferenceBroker(dialect="rabbitmq-5")


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_behaviour_is_one_of_some_series_and_says_what_it_is(name):
    behaviour = BEHAVIOURS[name]
    assert [one.name for one in dialects.DIALECTS.values() if behaviour in one.behaviours]
    assert behaviour not in dialects.DOCUMENTED.behaviours
    assert behaviour.says[:1].islower()
    assert behaviour.says[-1] != "."


def test_what_the_texts_say_is_the_core_as_it_is():
    assert dialects.DOCUMENTED.parts() == Parts()


def methods_of(other):
    return {name for name, one in vars(other).items() if isfunction(one)}


class Noted(Parts):
    """Parts that know which of their methods have been replaced, and what was below."""

    def extend(self, part, other):
        vars(self).setdefault("replaced", {}).update({(part, name): getattr(self, part) for name in methods_of(other)})
        super().extend(part, other)

    def override(self, part, **methods):
        vars(self).setdefault("replaced", {}).update({(part, name): getattr(self, part) for name in methods})
        super().override(part, **methods)


THE_DECISION_ITSELF = {
    "restarts.transient-exchanges-kept",
    "slots.slots-in-order",
    "slots.for-one-alone",
    "timeouts.closes-connection",
    "timeouts.early-settlement-hides",
    "timeouts.tick-notifies",
    "timeouts.classic-too",
    "timeouts.from-the-consumer",
    "expiry.never-looks",
    "expiry.look-closes-the-connection",
    "rights.looks-freely",
    "rights.copies-by-any-key",
    "deadletters.limit-rejects",
    "deadletters.copies-kept",
    "deadletters.copies-dropped",
    "together.recovered-as-failed",
}
"""Mutants that decide otherwise, whatever a dialect decides there: they call nothing below."""


@pytest.mark.parametrize("dialect", REAL)
def test_a_mutant_does_not_undo_a_dialect(dialect):
    """Where both replace a method, the mutant calls the one below, and not that of the core."""
    decided = Noted()
    dialects.dialect(dialect).apply(decided)
    met = set()
    for name, mutant in MUTANTS.items():
        parts = Noted()
        dialects.dialect(dialect).apply(parts)
        parts.replaced = {}
        mutant.apply(parts)
        for part, method in decided.replaced.keys() & parts.replaced.keys():
            met.add(name)
            cells = getattr(getattr(parts, part), method).__closure__ or ()
            builds_on = any(cell.cell_contents is parts.replaced[part, method] for cell in cells)
            assert builds_on or name in THE_DECISION_ITSELF, f"{name} undoes {part}.{method}"
    assert "settle.close-overtakes" in met
