"""What surrounds a stage besides its connections: time, and settings that no frame carries.

Both are written into the history, so monitors need nothing else. A change of a policy or setting is an event, written
once it is in force; the times of the events show how time passes. If the broker's clock is ours (the embedded
reference broker), time passes in steps, up to just before and just after each deadline, so thirty minutes take no
time. Otherwise the driver waits, with round trips all the while, and writes an event only when something is well
overdue.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from conformance.drive.drivers.admin import Admin, AdminRefused
from conformance.drive.pulse import BadRestart
from conformance.drive.waiting import NotOffered
from conformance.history import events

if TYPE_CHECKING:
    from conformance.drive.stage import Stage

SECOND = 1_000_000_000
MARGIN = SECOND // 20
"""This close to a deadline time is stopped, on either side."""
LOOK = 0.3
"""Seconds between two round trips while we wait where the clock is not ours: they prove that we looked, and when."""
ENOUGH = 900
"""Thousandths of a deadline: what is later than that is held to be late."""
Patterns = Mapping[str, str]
EVERYTHING: Patterns = {"configure": ".*", "write": ".*", "read": ".*"}
PASSWORD = "conformance"
"""Of users who live as long as one history."""
SHORTLY = 10.0
"""Deadlines that are further ahead than this many seconds are ignored."""


@dataclass
class Around:
    """Of one broker in one process."""

    admin: Admin | None = None
    advance: Callable[[float], None] | None = None
    kill: Callable[[], None] | None = None
    """Kills the broker and starts it again; it answers when this returns."""
    restart: Callable[[], None] | None = None
    """Shuts the broker down in good order and starts it again; it answers when this returns."""
    alarm: Callable[[str | None], None] | None = None
    """Makes the broker run short of something, for this reason; None: no more."""
    general: int | None = None
    """The broker's own consumer timeout in milliseconds, where it is fixed and we know it."""
    restarts: int = 2
    """So many times more machines may restart the broker in this run, where that takes long."""
    _policies: dict[str, str] = field(default_factory=dict)
    _ruled: dict[tuple[str, str, bool], None] = field(default_factory=dict)
    """Policies by virtual host, name, and whether they are an operator's."""
    _looked: bool = False
    """Has this history looked which policies there were before?"""
    _users: dict[str, dict[str, Patterns | None]] = field(default_factory=dict)
    """What each may do, by vhost."""
    _vhosts: list[str] = field(default_factory=list)
    _changed: bool = False
    _alarmed: bool = False

    @property
    def adjustable(self) -> bool:
        """Can the broker's own settings be changed?"""
        return self.general is None and self.admin is not None and self.admin.settings() is not None

    def enter(self, stage: Stage) -> None:
        """A history begins: what holds in all of it is noted."""
        stage.around = self
        self._looked = False
        if self.admin is not None:
            self.admin = replace(self.admin, vhost=stage.target.vhost)
        if self.general is not None:
            stage.note(events.SETTINGS, consumer_timeout=self.general)

    def policy(self, stage: Stage, queue: str, timeout: int | None) -> None:
        """Gives the queue a consumer timeout by policy, or takes it away, and notes it. Raises NotOffered."""
        admin = self.admin
        assert admin is not None
        if timeout is None and queue not in self._policies:
            return
        name = self._policies.setdefault(queue, f"{queue}.policy")
        try:
            admin.policy(name, queue, None if timeout is None else {"consumer-timeout": timeout})
        except AdminRefused as refused:
            raise NotOffered(f"the policy is refused: {refused}") from None
        until = time.monotonic() + stage.deadline
        while (admin.policy_of(queue) == name) != (timeout is not None) and time.monotonic() < until:
            stage.waiter.pump(0.01)
        if timeout is None:
            del self._policies[queue]
        stage.note(events.POLICY, queue=queue, consumer_timeout=timeout)

    def rule(
        self,
        stage: Stage,
        name: str,
        pattern: str,
        definition: Mapping[str, object],
        *,
        apply_to: str = "queues",
        priority: int = 0,
        operator: bool = False,
        vhost: str | None = None,
    ) -> None:
        """Sets a policy for all that it fits, and waits until the broker shows it. Nothing is under way meanwhile."""
        admin = self.admin
        assert admin is not None
        where = vhost or admin.vhost
        about = {"vhost": where, "name": name, "operator": operator}
        more = {"pattern": pattern, "apply_to": apply_to, "priority": priority, "definition": dict(definition)}
        stage.quiesce()
        self._note_others(stage)
        self._ruled[where, name, operator] = None
        stage.note(events.POLICY, state="setting", **about, **more)
        said = {"pattern": pattern, "apply-to": apply_to, "priority": priority, "definition": dict(definition)}
        try:
            admin.set_policy(where, name, said, operator=operator)
            self._shown(stage, where, name, operator, said)
        except AdminRefused as refused:
            raise NotOffered(f"the policy is refused: {refused}") from None
        stage.note(events.POLICY, state="set", **about, **more)

    def _note_others(self, stage: Stage) -> None:
        """What the virtual host had before: it may hold for the queues of this history, too."""
        if self.admin is None or self._looked:
            return
        self._looked = True
        for operator in (False, True):
            with contextlib.suppress(AdminRefused):
                for name, one in self.admin.policies(self.admin.vhost, operator=operator).items():
                    about = {"pattern": one.get("pattern"), "apply_to": one.get("apply-to")}
                    more = {"priority": one.get("priority"), "definition": one.get("definition")}
                    told = {"vhost": self.admin.vhost, "name": name, "operator": operator, **about, **more}
                    stage.note(events.POLICY, state="set", **told)

    def unrule(self, stage: Stage, name: str, *, operator: bool = False) -> None:
        """Removes a policy, and waits until the broker shows it no more."""
        admin = self.admin
        assert admin is not None
        about = {"vhost": admin.vhost, "name": name, "operator": operator}
        stage.quiesce()
        stage.note(events.POLICY, state="clearing", **about)
        try:
            admin.clear_policy(admin.vhost, name, operator=operator)
            self._shown(stage, admin.vhost, name, operator, {})
        except AdminRefused as refused:
            raise NotOffered(f"a policy cannot be removed: {refused}") from None
        self._ruled.pop((admin.vhost, name, operator), None)
        stage.note(events.POLICY, state="cleared", **about)

    def _shown(self, stage: Stage, vhost: str, name: str, operator: bool, said: Mapping[str, object]) -> None:
        """Waits until the broker shows the policy just so; raises AdminRefused if it does not."""
        until = time.monotonic() + stage.deadline
        while self.admin is not None:
            found = self.admin.policies(vhost, operator=operator).get(name, {})
            if {key: found[key] for key in said if key in found} == said and bool(found) == bool(said):
                return
            if time.monotonic() > until:
                raise AdminRefused(f"the broker does not show policy {name} as it was asked for")
            stage.waiter.pump(0.01)

    def setting(self, stage: Stage, timeout: int | None) -> None:
        """Sets the broker's own consumer timeout, or its default, and notes it."""
        assert self.admin is not None
        self._changed = True
        self.admin.set(consumer_timeout=timeout)
        stage.note(events.SETTINGS, consumer_timeout=timeout)

    def crash(self, stage: Stage) -> None:
        """The broker is killed and started again, and noted; the connections of the history end with it."""
        assert self.kill is not None
        stage.note(events.KILLED)
        try:
            with stage.waiter.standing_still():
                self.kill()
        except BadRestart as bad:
            raise NotOffered(str(bad)) from None
        for connection in stage.connections.values():
            connection.abort()

    def revive(self, stage: Stage) -> None:
        """The broker is shut down in good order and started again, and both are noted; the connections of the history
        end with it. Where it was no such restart, the second is not noted, and nothing will be judged by it."""
        assert self.restart is not None
        stage.quiesce()
        stage.note(events.RESTARTED, state="stopping")
        try:
            with stage.waiter.standing_still():
                self.restart()
        except BadRestart as bad:
            raise NotOffered(str(bad)) from None
        finally:
            for connection in stage.connections.values():
                connection.abort()
        stage.note(events.RESTARTED, state="started")

    @contextlib.contextmanager
    def shortage(self, stage: Stage) -> Iterator[None]:
        """Inside, the broker is short of something; noted before and after, for nobody sees when it begins."""
        assert self.alarm is not None
        stage.note(events.ALARM, state="raising")
        self._alarmed = True
        try:
            self._alarm("low on memory")
            stage.note(events.ALARM, state="raised")
            yield
        finally:
            stage.note(events.ALARM, state="clearing")
            self._alarm(None)
            self._alarmed = False
            stage.note(events.ALARM, state="cleared")

    def _alarm(self, reason: str | None) -> None:
        assert self.alarm is not None
        try:
            self.alarm(reason)
        except BadRestart as bad:
            raise NotOffered(str(bad)) from None

    def user(
        self, stage: Stage, patterns: Patterns | None = EVERYTHING, tags: str = "", *, name: str = ""
    ) -> tuple[str, str]:
        """A user of this history's own, who may do so much in the vhost, with its password; perhaps by the name of one
        that is no more."""
        assert self.admin is not None
        name = name or f"amqpconf-{uuid4().hex[:12]}"
        self._users[name] = {}
        self.admin.make_user(name, PASSWORD, tags)
        if patterns is not None:
            self.permit(stage, name, patterns, tags=tags.split(","))
        return name, PASSWORD

    def permit(
        self,
        stage: Stage,
        user: str,
        patterns: Patterns | None,
        *,
        vhost: str | None = None,
        topics: Mapping[str, Patterns] | None = None,
        **about: object,
    ) -> None:
        """From now on the user may do so much in this vhost, or not enter it. Nothing is under way when it changes."""
        admin, known = self.admin, self._users[user]
        assert admin is not None
        vhost = vhost or admin.vhost
        stage.quiesce()
        if patterns is not None or known.get(vhost) is not None:
            admin.permit(user, patterns, vhost)
        for exchange, keys in (topics or {}).items():
            admin.permit_topics(user, exchange, keys, vhost)
        known[vhost] = patterns
        told = dict.fromkeys(EVERYTHING) if patterns is None else patterns
        more = {"topics": {exchange: dict(keys) for exchange, keys in topics.items()}} if topics else {}
        stage.note(events.RIGHTS, user=user, vhost=vhost, **told, **more, **about)

    def vhost(self, stage: Stage) -> str:
        """A vhost of this history's own, in which the user of the run may do anything."""
        assert self.admin is not None
        name = f"amqpconf.{uuid4().hex[:12]}"
        self._vhosts.append(name)
        self.admin.make_vhost(name, stage.target.user)
        return name

    def delete_vhost(self, name: str) -> None:
        """One of this history is no more."""
        assert self.admin is not None
        self.admin.remove_vhost(name)
        self._vhosts.remove(name)

    def delete_user(self, stage: Stage, user: str) -> None:
        """The user is no more."""
        assert self.admin is not None
        stage.quiesce()
        self.admin.remove_user(user)
        del self._users[user]
        stage.note(events.RIGHTS, user=user, gone=True)

    def forbid(self, stage: Stage, user: str, of: str, queue: str) -> None:
        """The user may read nothing any more, and notes it of its connection and this queue."""
        self.permit(stage, user, {**EVERYTHING, "read": "^$"})
        stage.note(events.RIGHTS, of=of, queue=queue)

    def clean(self) -> None:
        """Leaves the broker as it was."""
        if self._alarmed and self.alarm is not None:
            with contextlib.suppress(BadRestart):
                self.alarm(None)
            self._alarmed = False
        with contextlib.suppress(AdminRefused):
            for queue, name in self._policies.items():
                assert self.admin is not None
                self.admin.policy(name, queue, None)
            for vhost, name, operator in self._ruled:
                assert self.admin is not None
                with contextlib.suppress(AdminRefused):
                    self.admin.clear_policy(vhost, name, operator=operator)
            for user in self._users:
                assert self.admin is not None
                self.admin.remove_user(user)
            for vhost in self._vhosts:
                assert self.admin is not None
                self.admin.remove_vhost(vhost)
            if self._changed and self.admin is not None:
                self.admin.set(consumer_timeout=None)
        self._policies.clear()
        self._ruled.clear()
        self._users.clear()
        self._vhosts.clear()
        self._changed = False


def expire(stage: Stage, within: float = SHORTLY) -> None:
    """Lets time pass until every delivery whose time ends within this many seconds has timed out, or should have."""
    until = stage.recorder.now() + int(within * SECOND)
    while (due := _next(stage)) <= until:
        ours = stage.around.advance is not None
        if not (_leap(stage, due) if ours else _heard(stage, due)):
            waited, slack = (0.0, 0) if ours else (stage.deadline, round(stage.deadline * ENOUGH))
            stage.waiter.comes_late("timeouts", partial(_acted_upon, stage, due), waited, slack_ms=slack)
            if not _acted_upon(stage, due):
                return
    stage.quiesce()


def elapse(stage: Stage, seconds: float) -> None:
    """Lets so much time pass at once where the broker's clock is ours; elsewhere it will pass by itself."""
    if stage.around.advance is not None:
        stage.around.advance(seconds)
        stage.recorder.shift(round(seconds * SECOND))


def wait(stage: Stage, seconds: float) -> None:
    """Lets so much time pass, on any clock."""
    until = stage.recorder.now() + round(seconds * SECOND)
    elapse(stage, seconds)
    stage.waiter.settles(lambda: stage.recorder.now() >= until, seconds)


def _next(stage: Stage) -> int:
    """When the next deadline is over; far away without one."""
    return next(iter(stage.judge.clocks()), 1 << 63)


def _acted_upon(stage: Stage, due: int) -> bool:
    """Has the broker acted upon this deadline, or is nothing expected of it any more?"""
    return _next(stage) > due


def _heard(stage: Stage, due: int) -> bool:
    """Waits for the deadline, and for another one in which it should have been acted upon. Has it been?"""
    until = due + round(stage.deadline * SECOND)
    while (now := stage.recorder.now()) < until:
        if stage.waiter.settles(lambda: _next(stage) > due, min(LOOK, (until - now) / SECOND)):
            return True
        if now > due:
            stage.rounds()
    return _next(stage) > due


def _leap(stage: Stage, due: int) -> bool:
    """Time passes to just before the deadline, and to just after it. Has it been acted upon?"""
    for moment in (due - MARGIN, due + MARGIN):
        ahead = moment - stage.recorder.now()
        if ahead > 0:
            elapse(stage, ahead / SECOND)
        stage.rounds()
        if _next(stage) > due:
            return True
    return False
