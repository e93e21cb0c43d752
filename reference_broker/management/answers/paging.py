"""What RabbitMQ lets one ask of any list: its order, some members only, a page of it, names that fit.

Some members can also be had of a single thing. Of a member inside a member RabbitMQ gives all of the outer one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from reference_broker.management.route import bad_request

MOST = 500


def listed(found: Any, query: Mapping[str, str]) -> Any:
    """A list as it was asked for; anything else as it is. Raises Refusal."""
    columns = [column.partition(".")[0] for column in query["columns"].split(",")] if "columns" in query else None
    if isinstance(found, dict) and columns is not None:
        return some(found, columns)
    if not isinstance(found, list):
        return found
    if "name" in query:
        fits = fitting(query)
        found = [one for one in found if fits(str(one.get("name", "")))]
    if "sort" in query:
        backwards = query.get("sort_reverse") == "true"
        found = sorted(found, key=lambda one: str(one.get(query["sort"], "")), reverse=backwards)
    total = found
    if "page" in query:
        page, size = number(query, "page", 1, len(found) + 1), number(query, "page_size", 100, MOST)
        found = found[(page - 1) * size : page * size]
    if columns is not None:
        found = [some(one, columns) for one in found]
    if "page" not in query:
        return found
    return {
        "items": found,
        "item_count": len(found),
        "total_count": len(total),
        "filtered_count": len(total),
        "page": page,
        "page_size": size,
        "page_count": max(1, -(-len(total) // size)),
    }


def some(one: Mapping[str, Any], columns: list[str]) -> dict[str, Any]:
    return {name: one[name] for name in columns if name in one}


def fitting(query: Mapping[str, str]) -> Callable[[str], object]:
    if query.get("use_regex") != "true":
        return lambda name: query["name"].lower() in name.lower()
    try:
        return re.compile(query["name"]).search
    except re.error as problem:
        raise bad_request(f"name is no regular expression: {problem}") from None


def number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise bad_request(f"{name} is a number from 1 to {most}, not {text[:20]!r}")
    return int(text)
