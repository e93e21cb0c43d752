"""--alluredir: one test for each rule, none for a check, and the project's own tests stay as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_a_folder_of_allure_holds_rules_and_the_project_s_own_tests(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n", encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--pyargs",
            "conformance",
            "test_mine.py",
            "--mutant",
            "tags.start-at-zero",
            "--rules",
            "TAG-001",
            "--depth",
            "smoke",
            "--alluredir",
            "allure",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "allure").glob("*-result.json")]
    tests = {str(test["name"]).split()[0]: test for test in found}
    assert tests["TAG-001"]["status"] == "failed"
    assert tests["test_mine"]["status"] == "passed"
    assert not [name for name in tests if name.startswith("test_") and name != "test_mine"]
    (attachment,) = tests["TAG-001"]["attachments"]
    assert "observed:" in (tmp_path / "allure" / attachment["source"]).read_text("utf-8")
    kept = {path.name for path in (tmp_path / "allure").glob("*-attachment*")}
    assert kept == {test["attachments"][0]["source"] for test in found if test.get("attachments")}
    left = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "allure").glob("*-container.json")]
    assert all(child in {test["uuid"] for test in found} for one in left for child in one.get("children", ()))
