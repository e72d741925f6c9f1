"""Checks the merged inventory that the agent was asked to write."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("WAREHOUSE", "/app"))
MERGED = ROOT / "output" / "merged.csv"
EXPECTED_TOTAL = 1_204.75


def load_rows(path=MERGED):
    with open(path, newline="", encoding="utf-8") as handle:
        return [dict(row) for row in csv.DictReader(handle)]


@pytest.fixture(scope="module")
def rows():
    assert MERGED.exists(), f"{MERGED} is missing"
    return load_rows()


class TestMerged:
    columns = ("id", "name", "count", "price")

    def test_columns(self, rows):
        for number, row in enumerate(rows, start=1):
            missing = [c for c in self.columns if c not in row]
            assert not missing, f"row {number}: {missing!r} not in {sorted(row)}"

    def test_total(self, rows):
        total = sum(float(r["price"]) * int(r["count"]) for r in rows if r["count"])
        assert abs(total - EXPECTED_TOTAL) < 0.01, f"{total=:.2f}"

    @pytest.mark.parametrize("key, value", [("id", "17"), ("name", "bolt")])
    def test_first_row(self, rows, key, value):
        assert rows[0][key] == value


def test_report_tool():
    done = subprocess.run(
        ["python3", "/app/report.py", "--format=json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["items"] >= 3 and report.get("errors") in (None, [])
    assert {k: v for k, v in report.items() if k.startswith("sum_")} != {}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
