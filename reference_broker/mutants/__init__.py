"""Brokers that are wrong on purpose: each mutant replaces one decision, and names the rules that must catch it.

A mutant is applied once, to the `Parts` a broker is made from: one method of one class, or one
handler, is replaced. Nothing of it is on the path of a broker without mutants. Several may be applied
together; each builds on what the earlier ones left. The files of this folder are found, one for each field of
mutants, in folders of the areas that their rules belong to.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import ENTERED, Mutant

for _file in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_file.name)
_files = sorted(ENTERED, key=lambda module: module.rpartition(".")[2])
MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for file in _files for mutant in ENTERED[file]}
"""All mutants, by name, in the order of the files' names."""

ALSO_CALLED = {"confirms.multiple-spans-nacked": "confirms.multiple-over-refused"}
"""Earlier names."""


class UnknownMutant(ValueError):
    """A name that is not in `MUTANTS`."""


def near(name: str) -> list[str]:
    """The names that are most like this one."""
    return get_close_matches(name, MUTANTS, n=3, cutoff=0.0)


def parts_with(names: Iterable[str], parts: Parts | None = None) -> Parts:
    """The broker's parts, or these, with these mutants applied, in the order given."""
    parts = parts or Parts()
    for called in names:
        name = ALSO_CALLED.get(called, called)
        if name not in MUTANTS:
            raise UnknownMutant(f"no mutant is called '{name}'; did you mean {' or '.join(near(name))}?")
        MUTANTS[name].apply(parts)
        parts.mutants = (*parts.mutants, called)
    return parts
