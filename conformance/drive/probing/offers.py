"""What a broker was found to offer, put into the profile by which it is examined, and into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.features import CROWD, DECLARATIONS, FEATURES, LARGE, MEANS_OF_ALL, OPTIONAL
from conformance.drive.probing.probes import IN_ORDER, NOBODY, QUEUE_TYPE
from conformance.drive.probing.questioned import OFFERED, REFUSED, Answer

NOT_IMPLEMENTED = " 540 "
"""So who has no gets, or no deletions, says so as the text wants it; what else comes of them is for the judge."""


def adapted(profile: Profile, answers: Sequence[Answer], *, known: bool) -> Profile:
    """The profile, with what this broker was found to offer. `known`: the profile is made for this very product, so
    that its queue types need only not be contradicted; else they are those that were found."""
    states = {answer.feature: answer for answer in answers}
    lawful = OPTIONAL.keys() | DECLARATIONS.keys()
    refused = {
        one.feature: one.words
        for one in answers
        if one.state == REFUSED
        and (one.feature in lawful or (one.feature in MEANS_OF_ALL and NOT_IMPLEMENTED in one.words))
    }
    shunned = {
        one.feature: one.words
        for one in answers
        if one.feature in FEATURES and one.state != OFFERED and one.feature not in refused
    }
    crowd = next((one.most - 1 or 1 for one in answers if one.feature == CROWD and one.most), None)
    overtaken = any(one.feature == IN_ORDER and one.state == REFUSED for one in answers)
    queues = {name: replace(one, same_channel_order=False) for name, one in profile.queues.items()}
    return replace(
        profile,
        queues=queues if overtaken else profile.queues,
        crowd=crowd,
        body=next((one.most for one in answers if one.feature == LARGE), None),
        refused=refused,
        shunned=shunned,
        queue_types=_types(profile, states, known=known),
    )


def _types(profile: Profile, states: Mapping[str, Answer], *, known: bool) -> tuple[str, ...]:
    quorum, nobody = (states.get(f"{QUEUE_TYPE} {name}") for name in ("quorum", NOBODY))
    if quorum is None or nobody is None:
        return profile.queue_types
    if known and quorum.state == OFFERED:
        return profile.queue_types
    found = quorum.state == OFFERED and nobody.state == REFUSED and "quorum" in profile.queues
    return tuple(name for name in ("classic", "quorum") if name == "classic" or found)


def describe_answers(answers: Sequence[Answer]) -> list[str]:
    """What was found, in a few lines: what is offered, and what is not, with the broker's words."""
    plain = [one for one in answers if not one.feature.startswith(QUEUE_TYPE)]
    offered = [one.feature for one in plain if one.state == OFFERED]
    lines = [f"offers {', '.join(offered)}"] if offered else []
    return lines + [f"{one.feature}: {one.state} ({one.words})" for one in plain if one.state != OFFERED]
