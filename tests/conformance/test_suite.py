"""The directed checks are complete, provoke what they promise, and expose the bugs their rules are about."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import conformance.suite
from conformance import profiles, rules
from conformance.drivers.raw import Target
from conformance.recorder import Recorder
from conformance.stage import SceneOver, Stage
from conformance.verdicts import Judgement
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS

JUDGED = [rule.id for rule in rules.CATALOGUE.values() if rule.status == "judged"]


@dataclass(frozen=True)
class Scene:
    """One directed check, with the cases it is parametrised by."""

    name: str
    play: Any
    rules: tuple[str, ...]
    queue_types: tuple[str, ...]
    cases: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, function: Any) -> Scene | None:
        marks = {mark.name: mark for mark in getattr(function, "pytestmark", ())}
        if "rule" not in marks:
            return None
        cases: tuple[dict[str, Any], ...] = ({},)
        if "parametrize" in marks:
            name, given = marks["parametrize"].args
            cases = tuple({name: value} for value in given)
        mark = marks["rule"]
        return cls(function.__name__, function, mark.args, mark.kwargs["queue_types"], cases)

    def run(self, url: str, queue_type: str) -> Judgement:
        """Every case on a stage of its own, all judged together."""
        total = Judgement()
        for case in self.cases:
            stage = Stage(
                Target.parse(url), profiles.load("documented"), Recorder("test", "reference"), self.name,
                self.rules, queue_type, deadline=0.5,
            )
            try:
                with contextlib.suppress(SceneOver):
                    self.play(stage, **case)
                total.add(stage.finish())
            finally:
                stage.cleanup()
        return total


def scenes() -> Iterator[Scene]:
    for module in pkgutil.iter_modules(conformance.suite.__path__, "conformance.suite."):
        if ".test_" in module.name:
            for _, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
                scene = Scene.of(function)
                if scene is not None:
                    yield scene


SCENES = list(scenes())
BY_RULE = {rule: scene for scene in SCENES for rule in scene.rules}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ReferenceBroker() as broker:
        yield broker.url


def test_every_judged_rule_has_exactly_one_scene() -> None:
    directed = sorted(rule for scene in SCENES if "machine" not in scene.name for rule in scene.rules)
    assert directed == sorted(JUDGED)


def test_a_scene_lives_in_the_module_of_its_family() -> None:
    for scene in SCENES:
        family = inspect.getmodule(scene.play).__name__.rpartition("test_")[2]  # type: ignore[union-attr]
        assert family == "machines" or {rule.split("-")[0].lower() for rule in scene.rules} == {family}


def test_a_scene_is_offered_where_its_rule_applies() -> None:
    for rule, scene in BY_RULE.items():
        assert set(scene.queue_types) <= set(rules.get(rule).queue_types), rule


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_on_the_reference_broker_a_scene_exercises_its_rule_and_nothing_is_wrong(scene: Scene, url: str) -> None:
    if "classic" not in scene.queue_types:
        pytest.skip("the reference broker has classic queues only")
    judgement = scene.run(url, "classic")
    assert not judgement.findings
    for rule in scene.rules:
        assert judgement.exercised[rule] >= rules.get(rule).needed, judgement.exercised


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_caught_by_the_scene_of_its_rule(name: str) -> None:
    broken: set[str] = set()
    wanted = [rule for rule in MUTANTS[name].rules if rule in JUDGED]
    if not wanted:
        pytest.skip("its rules are not judged yet")
    with ReferenceBroker(mutants=(name,)) as broker:
        for rule in wanted:
            judgement = BY_RULE[rule].run(broker.url, "classic")
            broken |= {finding.rule for finding in judgement.findings}
    assert broken & set(wanted)
