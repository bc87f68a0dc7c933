"""What is read from the table of a run."""

from __future__ import annotations

from pathlib import Path

from pitgeo.workflows.compare.process import epoch_errors, epoch_seconds


def test_epoch_seconds_of_one_thread_are_those_of_the_processor(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    assert epoch_seconds(table) == []
    table.write_text("epoch,seconds,cpu_seconds\n1,9.0,3.0\n2,4.0,5.0\n")
    assert epoch_seconds(table, threads=1) == [3.0, 4.0]
    assert epoch_seconds(table, threads=2) == epoch_seconds(table) == [9.0, 4.0]


def test_errors_are_those_of_validation_where_there_are_any(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,train_loss,val_error\n1,0.5,0.6\n2,0.4,0.5\n")
    assert epoch_errors(table) == ("val_error", [0.6, 0.5])
    table.write_text("epoch,train_loss,val_error\n1,0.5,\n2,0.4,\n")
    assert epoch_errors(table) == ("train_loss", [0.5, 0.4])
