"""`python -m tools.release.allure`: a wrong broker's Allure export, opened by Allure 3.

Allure is installed from npm at the version below, into build/. Its site must have each rule under its name with the
status that the export gave it, the count that follows, and the exchange of each broken rule as an attachment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tools.release.built import ROOT, Unfit
from tools.release.images import ran

VERSION = "3.18.0"
FOLDER = ROOT / "build" / "allure"
WRONG = ["--mutant", "tags.start-at-zero", "--rules", "TAG-00*", "--depth", "smoke"]


def documents(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob(pattern))]


def opened(results: Path, site: Path) -> str:
    """What Allure made of the results, in words; raises Unfit where that is something else."""
    ran("npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund", "--silent", f"allure@{VERSION}")
    ran(FOLDER / "node_modules" / ".bin" / "allure", "generate", results, "-o", site)
    given = {test["name"]: test["status"] for test in documents(results, "*-result.json")}
    shown = {test["name"]: test["status"] for test in documents(site / "data" / "test-results", "*.json")}
    if given != shown:
        raise Unfit(f"Allure shows {shown} where {given} was exported")
    counted = json.loads((site / "widgets" / "statistic.json").read_text("utf-8"))
    total = counted.pop("total")
    if (total, counted) != (len(given), dict(Counter(given.values()))):
        raise Unfit(f"Allure counts {counted} of {total} where {Counter(given.values())} was exported")
    texts = sorted(path.read_text("utf-8") for path in results.glob("*-attachment.*"))
    if texts != sorted(path.read_text("utf-8") for path in (site / "data" / "attachments").iterdir()):
        raise Unfit("Allure's attachments are not those that were exported")
    return f"{total} rules, {len(texts)} exchanges attached: " + ", ".join(f"{n} {of}" for of, n in counted.items())


def main() -> int:
    if shutil.which("npm") is None:
        print("no npm here, so no Allure 3: the export was not opened", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as name:
        words = [sys.executable, "-m", "conformance.cli", "run", *WRONG, "--report", name]
        subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
        try:
            said = opened(Path(name, "allure-results"), Path(name, "site"))
        except Unfit as unfit:
            print(unfit, file=sys.stderr)
            return 1
    print(f"Allure {VERSION} opened the export: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
