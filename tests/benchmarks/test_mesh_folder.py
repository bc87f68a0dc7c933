"""The measurement of many mesh files reads them as training does."""

from benchmarks.speed.mesh_folder import STEPS, format_mesh_folder, read, write_plates
from pitgeo.mesh import read_mesh


def test_files_are_read_and_counted(tmp_path):
    write_plates(tmp_path, 10, points=300)
    assert read_mesh(tmp_path / "plate_0003.vtu").cells[0][0] == "triangle"
    found = read(tmp_path, 1)
    assert found["transformed"] == 7 and found["cache_bytes"] > 10_000 and found["read_seconds"] > 0
    assert found["load_seconds"] > 0 and found["peak_mb"] > found["growth_mb"] >= 0
    machine, times = {"processor": "one", "cores": 2}, {"imported": 4.0, "begins": 6.0, "first_step": 6.25}
    table = format_mesh_folder(
        {
            "files": 10,
            "points": 300,
            "threads": 1,
            "reading": [found],
            "training": dict.fromkeys(STEPS, times),
            "machine": machine,
        }
        | {"date": "today"}
    )
    assert "| 4.0 | 4.0 |" in table and "| 6.2 | 6.2 |" in table
