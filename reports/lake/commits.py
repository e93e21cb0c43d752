"""The lake: Delta tables, written by several workers, committed by one process, on a local disk or in an object store.

    ROOT/TABLE/run=RUN/...      Parquet: written under new names, by workers or here
    ROOT/TABLE/_delta_log/      commits, by deltalake: a file that must not exist yet, so it is there or it is not

A commit removes what a table had of some runs, and names the files that hold them now. Readers see all of it or
nothing. Two jobs may write at once; the second one reads the new state and tries again. A commit also says what each
run was *made* from, as a Delta transaction of an application. So a killed job has done a step or not, and a finished
step is not done again. Files that no commit names do not count, and are deleted a week later (`sweep`), when no job
can still commit them.

Objects are sent whole, and a commit is a conditional put. Neither Hadoop nor Java takes part.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from reports import objects
from reports.lake.columns import TABLES, Table
from reports.lake.files import File, batches, written
from reports.objects import Place
from reports.pipeline.inputs import BadLake

__all__ = ["BadLake", "File", "Lake"]

_TRIES, _AT_ONCE = 60, 8
_PART = "partition."
_LIMITS = {"connect_timeout": "5s", "timeout": "300s", "max_retries": "3"}


class Lake:
    """One lake. Tables are made where they are missed."""

    def __init__(self, root: Place) -> None:
        self.root = root if objects.is_address(root) else Path(root).resolve()
        if isinstance(self.root, Path) and (self.root / "manifest").is_dir():
            raise BadLake(
                f"{self.root} was written by a version whose tables were not Delta tables: check the same "
                "recordings and captures again, into another directory"
            )

    def place(self, table: str, file: File | None = None) -> Place:
        """Where a table is, or a file of it."""
        return objects.join(self.root, table, *([file.path] if file else []))

    def files(self, table: str, runs: Collection[str] | None = None) -> list[File]:
        """The files that are believed, of all runs or some (or of what else a table is laid apart by)."""
        return _files(self._known(table), TABLES[table], runs)

    def made(self, table: str) -> Callable[[str], int | None]:
        """What a run of this table was made of, if it is there."""
        known = self._known(table)
        return lambda run: known.transaction_version(run) if known else None

    def version(self, table: str) -> int:
        """How many commits there were after the table was made."""
        known = self._known(table)
        return known.version() if known else 0

    # -- writing

    def publish(self, table: str, files: Sequence[File], made: Mapping[str, int]) -> None:
        """Makes these files the truth about the runs that are made of this. A run without a file is empty."""
        self._commit(TABLES[table], lambda known: ([*_gone(_files(known, TABLES[table], made))], files), made)

    def append(self, table: str, files: Sequence[File], application: str, number: int) -> bool:
        """Adds these files as this step of an application, unless it was done; was it done now? Its first step begins
        the table anew."""
        done = False

        def once(known: DeltaTable) -> tuple[list[RemoveAction], Sequence[File]] | None:
            nonlocal done
            last = known.transaction_version(application)
            done = last is None or last < number
            old = [] if number else _files(known, TABLES[table])
            return ([*_gone(old)], files) if done else None

        self._commit(TABLES[table], once, {application: number})
        return done

    def write(self, table: str, rows: pa.Table, made: Mapping[str, int]) -> None:
        """Rows of these runs, written here."""
        self.publish(table, self._here(TABLES[table], rows), made)

    def change(self, table: str, change: Callable[[pa.Table], pa.Table], made: Mapping[str, int]) -> None:
        """A table of all runs, as it is with this change; tried again where somebody else changed it meanwhile."""

        def changed(known: DeltaTable) -> tuple[list[RemoveAction], list[File]]:
            files = _files(known, TABLES[table])
            return [*_gone(files)], self._here(TABLES[table], change(self._read(TABLES[table], files)))

        self._commit(TABLES[table], changed, made)

    def replace(self, table: str, rows: pa.Table) -> None:
        """A table of all runs is these rows from now on."""
        self.change(table, lambda _: rows, {})

    def _here(self, table: Table, rows: pa.Table) -> list[File]:
        told = rows.select(table.arrow.names).cast(table.arrow)
        ordered = told.sort_by([(name, "ascending") for name in table.order]) if table.order else told
        return list(written(ordered.to_batches(), self.place(table.name), table))

    def _commit(
        self,
        table: Table,
        plan: Callable[[DeltaTable], tuple[list[RemoveAction], Sequence[File]] | None],
        made: Mapping[str, int],
    ) -> None:
        said = CommitProperties(app_transactions=[Transaction(name, number) for name, number in sorted(made.items())])
        for _ in range(_TRIES):
            known = self._known(table.name) or self._begun(table)
            planned = plan(known)
            if planned is None:
                return
            gone, files = planned
            try:
                known.create_write_transaction(
                    [*gone, *map(_added, files)],
                    mode="append",
                    schema=table.commented,
                    partition_by=list(table.parts),
                    commit_properties=said,
                )
            except CommitFailedError:
                if not self._arrived(table, files):
                    continue
            return
        raise BadLake(f"{self.place(table.name)}: others wrote there {_TRIES} times while this was to be committed")

    def _arrived(self, table: Table, files: Sequence[File]) -> bool:
        """Are these files committed, though the answer was that they are not? Their names are nobody else's."""
        return bool(files) and {file.path for file in files} <= {file.path for file in self.files(table.name)}

    def _begun(self, table: Table) -> DeltaTable:
        """A new table; somebody else's, if they were quicker."""
        place = self.place(table.name)
        if isinstance(place, Path):
            place.mkdir(parents=True, exist_ok=True)
        try:
            DeltaTable.create(
                str(place),
                table.commented,
                mode="error",
                partition_by=list(table.parts),
                name=table.name,
                description=f"A row is {table.row}.",
                storage_options=_LIMITS,
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except DeltaError:
            if (known := self._known(table.name)) is None:
                raise
            return known
        found = self._known(table.name)
        assert found is not None
        return found

    def _known(self, table: str) -> DeltaTable | None:
        """The table as it is now, if there is one."""
        place = self.place(table)
        if isinstance(place, Path) and not place.exists():
            return None
        try:
            known = DeltaTable(str(place), storage_options=_LIMITS)
            names = [one.name for one in known.schema().fields]
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as problem:
            raise BadLake(f"{place}: this table cannot be read: {objects.why(problem)}") from None
        if sorted(names) != sorted(TABLES[table].arrow.names):
            raise BadLake(f"{place}: its columns are those of another version. Use that, or another directory")
        return known

    # -- reading

    def read(self, table: str, runs: Collection[str] | None = None) -> pa.Table:
        """The rows of a table, of all runs or some."""
        return self._read(TABLES[table], self.files(table, runs))

    def _read(self, table: Table, files: Sequence[File]) -> pa.Table:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(lambda file: list(batches(self.place(table.name, file), table, file.part)), files))
        return pa.Table.from_batches([batch for own in found for batch in own], table.arrow)

    def sweep(self) -> None:
        """Removes what no commit has named for a week, and what has been replaced for as long."""
        for table in TABLES:
            known = self._known(table)
            if known is not None:
                with suppress(CommitFailedError):
                    known.vacuum(dry_run=False, full=True)


def _files(known: DeltaTable | None, table: Table, among: Collection[str] | None = None) -> list[File]:
    """The files of a table, or those of some runs, by path."""
    if known is None:
        return []
    found = []
    for one in pa.table(known.get_add_actions(flatten=True)).to_pylist():
        part = {name.removeprefix(_PART): str(value) for name, value in one.items() if name.startswith(_PART)}
        if among is None or part[table.parts[0]] in among:
            found.append(File(unquote(one["path"]), part, one["num_records"], one["size_bytes"]))
    return sorted(found, key=lambda file: file.path)


def _gone(files: Iterable[File]) -> Iterator[RemoveAction]:
    for file in files:
        yield RemoveAction(file.path, True, _now(), file.bytes, dict(file.part))


def _added(file: File) -> AddAction:
    return AddAction(file.path, file.bytes, dict(file.part), _now(), True, json.dumps({"numRecords": file.rows}))


def _now() -> int:
    return time.time_ns() // 1_000_000
