"""Mistakes that people make with a folder of mesh files: each is answered before any training, in one line."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pitgeo.cli.main import main
from pitgeo.config.config import load_config
from pitgeo.mesh import Mesh, read_mesh, write_mesh, write_series
from tests.pictures import without_pictures

CONFIG = Path(__file__).parents[2] / "configs" / "meshes.toml"
FILES = 6
SMALL = (
    "model.pit.channels=4",
    "model.pit.heads=2",
    "model.pit.layers=1",
    "model.pit.latent.number=8",
    "model.pit.encoder_quantile=0.5",
    "model.pit.decoder_quantile=0.5",
    "training.epochs=1",
    "data.meshes.processes=1",
    "data.meshes.validation=1",
    "data.meshes.test=1",
)
RICH = ("data.meshes.inputs=['load', 'zone', 'mach']", "data.meshes.categories=['zone']")
"""Inputs of the trained model: a field, a category and a parameter."""


def plate(number: int) -> Mesh:
    """30 points in the plane with fields of every kind, other points for every number."""
    random = np.random.default_rng(number)
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(6.0), np.arange(5.0)))
    points = np.stack([x, y], 1) + random.uniform(-0.2, 0.2, (30, 2))
    corners = np.array([row * 6 + column for row in range(4) for column in range(5)])
    quads = np.stack([corners, corners + 1, corners + 7, corners + 6], 1)
    return Mesh(
        points,
        (("quad", quads),),
        point_data={
            "load": random.normal(size=30),
            "zone": np.arange(30) % 3,
            "stress": 2.0 + np.sin(points[:, 0]) + points[:, 1],
            "shift": points[:, ::-1] * 0.1,
        },
        cell_data={"heat": (1.0 + random.random(20),)},
        field_data={"drag": np.array([1.0 + number])},
        point_sets={"hole": np.arange(3)},
    )


def block(number: int) -> Mesh:
    """A volume mesh."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float) * (1 + 0.1 * number)
    order = np.array([[0, 1, 3, 2, 4, 5, 7, 6]])
    return Mesh(corners, (("hexahedron", order),), point_data={"load": corners[:, 0] + 1, "stress": corners[:, 1] + 1})


class Desk:
    """A folder with six mesh files and a table of parameters, and the commands that are given there."""

    def __init__(self, root: Path, trained: Path) -> None:
        self.root, self.trained = root, trained
        self.cases = root / "cases"

    def file(self, number: int) -> Path:
        return self.cases / f"case_{number}.vtu"

    def write(self, number: int, mesh: Mesh) -> None:
        write_mesh(self.file(number), mesh)

    def edit(self, number: int, change: Callable[[Mesh], Mesh]) -> None:
        self.write(number, change(read_mesh(self.file(number))))

    def points(self, number: int, **fields: Any) -> None:
        """Set point fields of one file; None takes one away."""

        def change(mesh: Mesh) -> Mesh:
            data = {name: values for name, values in {**mesh.point_data, **fields}.items() if values is not None}
            return replace(mesh, point_data=data)

        self.edit(number, change)

    def spoil(self, number: int, name: str, value: float) -> None:
        values = np.array(read_mesh(self.file(number)).point_data[name], float)
        values[7] = value
        self.points(number, **{name: values})

    def table(self, text: str | bytes, name: str = "table.csv") -> None:
        (self.root / name).write_bytes(text.encode() if isinstance(text, str) else text)

    def train(self, *changes: str) -> list[str]:
        given = ["data.meshes.inputs=['load']", "data.meshes.targets=['stress']", *SMALL, *changes]
        sets = [part for change in given for part in ("--set", change)]
        return ["train", str(CONFIG), "--output", "run", "--device", "cpu", "--quiet", *sets]

    def predict(self, *meshes: str, more: tuple[str, ...] = ("--parameters", "table.csv")) -> list[str]:
        given = [str(self.trained), *(meshes or ("cases/case_0.vtu",)), "--output", "results"]
        return ["predict", *given, "--quiet", "--device", "cpu", *more]

    def series(self, *changes: str) -> list[str]:
        """Training on the series ``flow_<case>_<step>.vtu``, four steps each unless they are there already."""
        for case in range(FILES):
            mesh = plate(case)
            for step in range(4):
                path = self.cases / f"flow_{case}_{step}.vtu"
                fields = {"stress": mesh.point_data["stress"] * 0.9**step, "load": mesh.point_data["load"]}
                if not path.exists():
                    write_mesh(path, replace(mesh, point_data=fields))
        given = ("data.meshes.files=cases/flow_*.vtu", "data.meshes.series='flow_{case}_{step}.vtu'")
        return self.train(*given, *changes)


Arrange = Callable[[Desk], Any]
CASES: dict[str, tuple[Arrange, tuple[str, ...]]] = {}
"""Name of the mistake; how it is made (gives the command); words that the answer must hold."""


def mistake(name: str, *words: str) -> Callable[[Arrange], Arrange]:
    def add(arrange: Arrange) -> Arrange:
        assert name not in CASES
        CASES[name] = arrange, words
        return arrange

    return add


def after(change: Arrange, *changes: str) -> Arrange:
    """A change to the files, then a training."""

    def arrange(desk: Desk) -> list[str]:
        change(desk)
        return desk.train(*changes)

    return arrange


def options(*changes: str) -> Arrange:
    """A training with other options."""
    return lambda desk: desk.train(*changes)


M = "data.meshes."
HEAD = "file,mach\n"
WORKBOOK = b"PK\x03\x04" + bytes(range(256))
TABLE = HEAD + "".join(f"case_{number}.vtu,0.{number + 1}\n" for number in range(FILES))


def cut(desk: Desk) -> None:
    content = desk.file(3).read_bytes()
    desk.file(3).write_bytes(content[: len(content) // 2])


def two_axes(desk: Desk) -> None:
    desk.write(3, block(3))


def both_places(desk: Desk) -> None:
    for number in range(FILES):
        desk.edit(number, lambda mesh: mesh.with_cell_data("load", np.ones(20)))


def text_field(desk: Desk) -> None:
    codes = " ".join(str(code) for number in range(30) for code in (*f"p{number}".encode(), 0))
    array = f'<DataArray type="String" Name="note" format="ascii">{codes}</DataArray></PointData>'
    for number in range(FILES):
        text = desk.file(number).read_text()
        desk.file(number).write_text(text.replace("</PointData>", array))


def cell_kinds(desk: Desk) -> None:
    for number in range(FILES):
        desk.edit(number, lambda mesh: mesh.with_cell_data("part", np.arange(20) % 3))


def cloud(desk: Desk) -> None:
    for number in range(FILES):
        desk.edit(number, lambda mesh: replace(mesh, cells=(), cell_data={}, cell_sets={}))


def blocks(desk: Desk) -> None:
    for number in range(FILES):
        desk.write(number, block(number))


def one_mesh(desk: Desk) -> None:
    for number in range(FILES):
        desk.edit(number, lambda mesh: replace(mesh, points=plate(0).points))


def remove(desk: Desk, name: str) -> None:
    (desk.root / name).unlink()


def with_list(desk: Desk, text: str) -> None:
    (desk.root / "list.txt").write_text(text)


# --- files --------------------------------------------------------------------------------------------------------
CASES |= {
    "a file is cut in half": (after(cut), ("case_3.vtu", "Expected a mesh file", "save it")),
    "a file is empty": (after(lambda desk: desk.file(3).write_bytes(b"")), ("case_3.vtu", "empty")),
    "a file is no mesh": (
        after(lambda desk: (desk.cases / "notes.txt").write_text("done on Monday"), f"{M}files=cases/*"),
        ("notes.txt", "Expected a mesh file"),
    ),
    "a picture is named .vtu": (
        after(lambda desk: desk.file(3).write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))),
        ("case_3.vtu", "Expected a mesh file"),
    ),
    "nothing matches": (options(f"{M}files=cases/*.vtk"), ("data.meshes.files", "cases/*.vtk", "end in .vtu")),
    "no such folder": (options(f"{M}files=case/*.vtu"), ("data.meshes.files", "case/*.vtu", "there is no folder case")),
    "a folder in place of a pattern": (
        options(f"{M}files=cases"),
        ("data.meshes.files", "'cases'", "take cases/*.vtu"),
    ),
    "an empty list of patterns": (options(f"{M}files=[]"), ("data.meshes.files", "cases/*.vtu")),
    "a mesh in space among those in the plane": (after(two_axes), ("case_3.vtu", "2D", "3D", "one dimension")),
    "a point at NaN": (
        after(lambda desk: desk.file(3).write_text(POINT_AT_NAN)),
        ("case_3.vtu", "finite positions", "point 1)"),
    ),
}
POINT_AT_NAN = """<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian"><UnstructuredGrid>
<Piece NumberOfPoints="3" NumberOfCells="1">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0 nan 0 0 0 1 0</DataArray></Points>
<Cells>
<DataArray type="Int64" Name="connectivity" format="ascii">0 1 2</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">3</DataArray>
<DataArray type="Int64" Name="types" format="ascii">5</DataArray>
</Cells></Piece></UnstructuredGrid></VTKFile>"""

# --- fields -------------------------------------------------------------------------------------------------------
CASES |= {
    "a target is missing in one file": (
        after(lambda desk: desk.points(3, stress=None)),
        ("case_3.vtu", "point field 'stress'", "leave"),
    ),
    "an input is missing in one file": (after(lambda desk: desk.points(3, load=None)), ("case_3.vtu", "'load'")),
    "a vector is a scalar in one file": (
        after(lambda desk: desk.points(3, shift=np.ones(30)), f"{M}targets=['shift']"),
        ("case_3.vtu", "'shift'", "Expected 2 components", "got 1"),
    ),
    "NaN in an input": (after(lambda desk: desk.spoil(3, "load", np.nan)), ("case_3.vtu", "'load'", "nan", "7")),
    "infinite in a target": (after(lambda desk: desk.spoil(3, "stress", np.inf)), ("case_3.vtu", "'stress'", "inf")),
    "too large for single precision": (
        after(lambda desk: desk.spoil(3, "stress", 1e300)),
        ("case_3.vtu", "'stress'", "1e+300"),
    ),
    "text as an input": (
        after(text_field, f"{M}inputs=['note']"),
        ("case_", "'note'", "Expected numbers", "got texts", "pitgeo describe"),
    ),
    "a field of points and of cells": (
        after(both_places),
        ("case_", "'load'", "'point:load' or 'cell:load'"),
    ),
    "a misspelt target": (options(f"{M}targets=['stres']"), ("case_", "'stres'", "did you mean 'stress'?")),
    "a misspelt input": (options(f"{M}inputs=['Load']"), ("case_", "'Load'", "did you mean 'load'?")),
    "a field of the other kind": (
        options(f"{M}targets=['cell:stress']"),
        ("case_", "'stress'", "cell field", "point:stress"),
    ),
    "no target": (options(f"{M}targets=[]"), ("data.meshes.targets", "pitgeo describe")),
    "an input is a target": (
        options(f"{M}inputs=['stress']"),
        ("data.meshes.inputs", "data.meshes.targets", "'stress'"),
    ),
    "an input is a target by its full name": (
        options(f"{M}inputs=['point:stress']"),
        ("data.meshes.inputs", "data.meshes.targets", "'point:stress'"),
    ),
    "a target is zero in all files": (
        after(lambda desk: [desk.points(number, stress=np.zeros(30)) for number in range(6)]),
        ("case_", "'stress'", "zero", "leave"),
    ),
    "a category of fractions": (
        options(f"{M}categories=['load']"),
        ("case_", "'load'", "whole numbers", "data.meshes.categories"),
    ),
    "a category of cells among fields of points": (
        after(cell_kinds, f"{M}inputs=['load', 'part']", f"{M}categories=['part']"),
        ("case_", "'part'", "whole numbers", "cells", "data.meshes.categories"),
    ),
    "a field twice": (options(f"{M}inputs=['load', 'point:load']"), ("data.meshes.inputs", "'load'", "once")),
    "a category that is no input": (
        options(f"{M}categories=['zone']"),
        ("data.meshes", "categories", "'zone'", "inputs"),
    ),
    "a logarithm of negative values": (
        options("scaling.inputs=channel", "scaling.log=['load']"),
        ("case_", "'load'", "scaling.log", "positive", "leave"),
    ),
    "a logarithm of an unknown field": (options("scaling.log=['stres']"), ("scaling.log", "'stres'", "'stress'")),
    "a number of the mesh is missing in one file": (
        after(lambda desk: desk.edit(3, lambda mesh: replace(mesh, field_data={})), f"{M}targets=['drag']"),
        ("case_3.vtu", "'drag'", "parameters"),
    ),
}

# --- parameters ---------------------------------------------------------------------------------------------------
WITH = (f"{M}inputs=['mach']", f"{M}parameters=table.csv")
CASES |= {
    "no table of parameters": (options(*WITH, f"{M}parameters=tabel.csv"), ("tabel.csv", "data.meshes.parameters")),
    "a table without the column file": (
        after(lambda desk: desk.table(TABLE.replace("file", "name", 1)), *WITH),
        ("table.csv", "column 'file'", "name, mach"),
    ),
    "a table with semicolons": (
        after(lambda desk: desk.table(TABLE.replace(",", ";")), *WITH),
        ("table.csv", "column 'file'", "comma"),
    ),
    "a table without one file": (
        after(lambda desk: desk.table(TABLE.replace("case_3", "case_33")), *WITH),
        ("table.csv", "case_3.vtu", "'file'"),
    ),
    "a table with a file twice": (
        after(lambda desk: desk.table(TABLE + "case_3.vtu,1\n"), *WITH),
        ("table.csv", "case_3.vtu", "once"),
    ),
    "text in place of a number": (
        after(lambda desk: desk.table(TABLE.replace("0.4", "fast")), *WITH),
        ("table.csv", "case_3.vtu", "'mach'", "'fast'"),
    ),
    "a decimal comma": (
        after(lambda desk: desk.table(TABLE.replace("0.4", '"0,4"')), *WITH),
        ("table.csv", "case_3.vtu", "'mach'", "'0,4'"),
    ),
    "a number left out": (
        after(lambda desk: desk.table(TABLE.replace("0.4", "")), *WITH),
        ("case_3.vtu", "'mach'", "table"),
    ),
    "NaN in the table": (
        after(lambda desk: desk.table(TABLE.replace("0.4", "nan")), *WITH),
        ("case_3.vtu", "'mach'", "finite"),
    ),
    "a table that Excel wrote as Unicode text": (
        after(lambda desk: desk.table(TABLE.encode("utf-16")), *WITH),
        ("table.csv", "UTF-8"),
    ),
    "a workbook in place of a table": (
        after(
            lambda desk: desk.table(b"PK\x03\x04" + bytes(range(256)), "table.xlsx"), *WITH, f"{M}parameters=table.xlsx"
        ),
        ("table.xlsx", ".csv"),
    ),
    "a broken JSON table": (
        after(lambda desk: desk.table('{"case_0": ', "table.json"), *WITH, f"{M}parameters=table.json"),
        ("table.json", "Expected JSON", "line 1"),
    ),
    "a JSON table the wrong way round": (
        after(lambda desk: desk.table('{"mach": [1, 2]}', "table.json"), *WITH, f"{M}parameters=table.json"),
        ("table.json", '{"file name": {"parameter": number}}'),
    ),
    "a pattern of names that does not match": (
        options(f"{M}inputs=['mach']", f"{M}name_pattern='wing_{{mach}}.vtu'"),
        ("case_", "wing_{mach}.vtu", "data.meshes.name_pattern"),
    ),
    "a pattern of names without braces": (
        options(f"{M}name_pattern='case_.vtu'"),
        ("data.meshes.name_pattern", "'case_.vtu'", "braces"),
    ),
    "a pattern of names with a parameter twice": (
        options(f"{M}name_pattern='{{a}}_{{a}}.vtu'"),
        ("data.meshes.name_pattern", "'{a}_{a}.vtu'", "once"),
    ),
    "a pattern of names with a number for a name": (
        options(f"{M}name_pattern='case_{{0}}.vtu'"),
        ("data.meshes.name_pattern", "'0'", "letter"),
    ),
}

# --- splits -------------------------------------------------------------------------------------------------------
CASES |= {
    "no file matches the test pattern": (
        options(f"{M}test='test_*.vtu'"),
        ("data.meshes.test", "'test_*.vtu'", "the first is", "case_0.vtu"),
    ),
    "shares of more than one": (
        options(f"{M}test=0.6", f"{M}validation=0.6"),
        ("data.meshes.validation", "0.6", "left over", "fewer"),
    ),
    "a share of more than one": (options(f"{M}test=1.5"), ("data.meshes.test", "1.5", "between 0 and 1")),
    "more test files than files": (options(f"{M}test=7"), ("data.meshes.test", "at most 6 of 6", "got 7")),
    "a negative number of test files": (options(f"{M}test=-1"), ("data.meshes.test", "got -1")),
    "a file in two splits": (
        options(f"{M}test='case_3.vtu'", f"{M}train=['case_3.vtu', 'case_2.vtu']"),
        ("case_3.vtu", "data.meshes.test", "data.meshes.train"),
    ),
    "no list of files": (options(f"{M}test='@tests.txt'"), ("tests.txt", "data.meshes.test")),
    "an empty list of files": (
        after(lambda desk: with_list(desk, "\n"), f"{M}test='@list.txt'"),
        ("list.txt", "data.meshes.test"),
    ),
    "a list with a file that is gone": (
        after(lambda desk: with_list(desk, "case_0.vtu\ncase_9.vtu\n"), f"{M}test='@list.txt'"),
        ("case_9.vtu", "data.meshes.test"),
    ),
    "too few files to train on": (
        options(f"{M}test=3", f"{M}validation=3"),
        ("data.meshes.test", "data.meshes.validation", "6 files", "fewer"),
    ),
    "one file": (options(f"{M}files=cases/case_0.vtu"), ("data.meshes", "1 file")),
    "nothing to test on": (options(f"{M}test=0"), ("data.meshes.test", "got 0")),
    "nothing to train on": (options(f"{M}train=0"), ("data.meshes.train 0", "add files")),
}

# --- geometry, scaling, keys --------------------------------------------------------------------------------------
CASES |= {
    "an unknown geometry input": (
        options(f"{M}geometry=['normal']"),
        ("data.meshes.geometry", "'normal'", "did you mean 'normals'?"),
    ),
    "normals of a volume": (after(blocks, f"{M}geometry=['normals']"), ("case_", "normals", "leave")),
    "the distance to an unknown set": (
        options(f"{M}geometry=['boundary_distance:hol']"),
        ("case_", "'hol'", "'hole'"),
    ),
    "the distance to the boundary of a cloud": (
        after(cloud, f"{M}geometry=['boundary_distance']"),
        ("case_", "'boundary_distance'", "cells", "leave"),
    ),
    "a geometry input among the fields": (
        options(f"{M}inputs=['cell_size']"),
        ("case_", "'cell_size'", "data.meshes.geometry"),
    ),
    "a field among the geometry inputs": (
        options(f"{M}geometry=['load']"),
        ("data.meshes.geometry", "'load'", "data.meshes.inputs"),
    ),
    "a mean for every point of meshes that differ": (
        options("scaling.targets=point"),
        ("scaling.targets", "'channel'", "meshes differ"),
    ),
    "negative memory": (options(f"{M}memory=-1"), ("data.meshes.memory", "-1", "greater than or equal to 0")),
    "negative processes": (options(f"{M}processes=-1"), ("data.meshes.processes", "-1")),
    "an unknown key": (options(f"{M}target=['stress']"), ("data.meshes.target", "did you mean 'data.meshes.targets'?")),
    "a key of another table": (options(f"{M}epochs=5"), ("data.meshes.epochs", "training.epochs")),
    "a field's name without brackets": (options(f"{M}targets=stress"), ("data.meshes.targets", "stress", "list")),
    "the output is a file": (
        after(lambda desk: (desk.root / "run").write_text("mine")),
        ("run", "folder", "--output"),
    ),
    "the output's folder is a file": (
        lambda desk: [part if part != "run" else "table.csv/run" for part in desk.train()],
        ("table.csv", "--output"),
    ),
    "the cache is a file": (options(f"{M}cache=table.csv"), ("table.csv", "data.meshes.cache", "folder")),
}


# --- series -------------------------------------------------------------------------------------------------------
def flow(change: Callable[[Desk], Any], *changes: str) -> Arrange:
    def arrange(desk: Desk) -> list[str]:
        command = desk.series(*changes)
        change(desk)
        return command

    return arrange


def flow_field(name: str, change: Callable[[Mesh], Mesh]) -> Callable[[Desk], None]:
    return lambda desk: write_mesh(desk.cases / name, change(read_mesh(desk.cases / name)))


def one_step(desk: Desk) -> None:
    for step in (1, 2, 3):
        (desk.cases / f"flow_4_{step}.vtu").unlink()


def collections(desk: Desk) -> None:
    for number in range(FILES):
        meshes = [replace(plate(number), point_data={"stress": np.full(30, 1.0 + step)}) for step in range(3)]
        write_series(desk.cases / f"run_{number}.pvd", meshes, range(3))
    (desk.cases / "run_4_0001.vtu").unlink()


CASES |= {
    "a series of one step": (flow(one_step), ("flow_4_0.vtu", "at least two steps", "data.meshes.series")),
    "a pattern of series without a step": (
        flow(lambda desk: None, f"{M}series='flow_{{case}}.vtu'"),
        ("data.meshes.series", "{step}"),
    ),
    "a file that is no step": (
        flow(lambda desk: None, f"{M}files=cases/*.vtu"),
        ("case_0.vtu", "data.meshes.series", "flow_{case}_{step}.vtu"),
    ),
    "a state is missing at a later step": (
        flow(flow_field("flow_2_3.vtu", lambda mesh: replace(mesh, point_data={}))),
        ("flow_2_3.vtu", "'stress'"),
    ),
    "points that move": (
        flow(flow_field("flow_2_3.vtu", lambda mesh: replace(mesh, points=mesh.points + 1))),
        ("flow_2_3.vtu", "points that move"),
    ),
    "more steps than there are": (
        flow(lambda desk: None, f"{M}steps=4"),
        ("flow_", "data.meshes.steps = 4 states", "fewer"),
    ),
    "a pattern of series with two steps": (
        flow(lambda desk: None, f"{M}series='flow_{{step}}_{{step}}.vtu'"),
        ("data.meshes.series", "{step}_{step}"),
    ),
    "a collection of files that are gone": (
        after(collections, f"{M}files=cases/*.pvd", f"{M}series=file", f"{M}inputs=[]"),
        ("run_4", "no such file"),
    ),
    "a state that is an input too": (
        flow(lambda desk: None, f"{M}inputs=['stress']"),
        ("data.meshes.inputs", "'stress'", "the state is an input by itself"),
    ),
    "a mesh in place of a series": (options(f"{M}series='file'"), ("case_", "data.meshes.series", "time series")),
    "steps without a series": (options(f"{M}steps=3"), ("data.meshes.steps", "data.meshes.series")),
}


# --- prediction and evaluation ------------------------------------------------------------------------------------
def prediction(
    change: Callable[[Desk], Any], *meshes: str, more: tuple[str, ...] = ("--parameters", "table.csv")
) -> Arrange:
    def arrange(desk: Desk) -> list[str]:
        change(desk)
        return desk.predict(*meshes, more=more)

    return arrange


def unchanged(desk: Desk) -> None:
    """All is well with the files."""


def same_name(desk: Desk) -> None:
    (desk.root / "more").mkdir()
    shutil.copy(desk.file(0), desk.root / "more" / "case_0.vtu")


CASES |= {
    "prediction without an input": (prediction(lambda desk: desk.points(0, load=None)), ("case_0.vtu", "'load'")),
    "prediction in space": (prediction(lambda desk: desk.write(0, block(0))), ("case_0.vtu", "2D", "got 3D")),
    "prediction of an unknown category": (
        prediction(lambda desk: desk.points(0, zone=np.full(30, 7))),
        ("case_0.vtu", "'zone'", "[0, 1, 2]", "7", "train on files"),
    ),
    "prediction of a category of fractions": (
        prediction(lambda desk: desk.points(0, zone=np.full(30, 0.5))),
        ("case_0.vtu", "'zone'", "0.5"),
    ),
    "prediction with a vector for a scalar": (
        prediction(lambda desk: desk.points(0, load=np.ones((30, 2)))),
        ("case_0.vtu", "'load'", "got 2"),
    ),
    "prediction of NaN": (prediction(lambda desk: desk.spoil(0, "load", np.nan)), ("case_0.vtu", "'load'", "nan")),
    "prediction into the folder of the inputs": (
        prediction(unchanged, more=("--parameters", "table.csv", "--output", "cases")),
        ("case_0.vtu", "--output", "overwritten"),
    ),
    "prediction into a file": (
        prediction(unchanged, more=("--parameters", "table.csv", "--output", "table.csv")),
        ("table.csv", "--output", "folder"),
    ),
    "prediction of two files of one name": (
        prediction(same_name, "cases/case_0.vtu", "more/case_0.vtu"),
        ("case_0.vtu", "different names"),
    ),
    "steps of a model without": (
        prediction(unchanged, more=("--parameters", "table.csv", "--steps", "3")),
        ("best.ckpt", "--steps", "leave"),
    ),
    "no steps": (
        prediction(unchanged, more=("--parameters", "table.csv", "--steps", "0")),
        ("--steps", "leave"),
    ),
    "prediction without the parameters": (
        prediction(lambda desk: remove(desk, "table.csv"), more=()),
        ("case_0.vtu", "'mach'", "--parameters"),
    ),
    "prediction with a table that lacks the column": (
        prediction(lambda desk: desk.table(TABLE.replace("mach", "speed"))),
        ("case_0.vtu", "'mach'", "table"),
    ),
    "prediction with no such table": (
        prediction(unchanged, more=("--parameters", "tabel.csv")),
        ("tabel.csv", "no such file"),
    ),
    "prediction of a missing file": (prediction(unchanged, "cases/case_77.vtu"), ("case_77.vtu", "no such file")),
    "prediction of a folder without meshes": (
        prediction(lambda desk: (desk.root / "empty").mkdir(), "empty"),
        ("empty", "mesh files"),
    ),
    "prediction by a mesh in place of a checkpoint": (
        lambda desk: ["predict", "cases/case_0.vtu", "cases/case_1.vtu", "--output", "results"],
        ("case_0.vtu", "checkpoint"),
    ),
    "prediction by the folder of a run": (
        lambda desk: ["predict", str(desk.trained.parent), "cases/case_1.vtu", "--output", "results"],
        ("run", "best.ckpt"),
    ),
    "evaluation when the files are gone": (
        lambda desk: (
            shutil.rmtree(desk.cases),
            ["evaluate", str(desk.trained), "--output", "report", "--quiet"],
        )[1],
        ("data.meshes.files", "cases/*.vtu", "looked in"),
    ),
    "evaluation of a misspelt key": (
        lambda desk: ["evaluate", str(desk.trained), "--output", "report", "--set", "data.meshes.file=x"],
        ("data.meshes.file", "did you mean 'data.meshes.files'?"),
    ),
    "starting from another model": (
        lambda desk: desk.train(f"training.start_from={desk.trained}", "model.pit.channels=8", "scaling.box=unit"),
        ("best.ckpt", "[model]", "shape"),
    ),
    "starting from a missing file": (
        options("training.start_from=runs/gone.ckpt"),
        ("gone.ckpt", "training.start_from", "no such file"),
    ),
    "starting from a mesh": (options("training.start_from=cases/case_0.vtu"), ("case_0.vtu", "checkpoint")),
    "starting from other targets and inputs": (
        lambda desk: desk.train(
            f"training.start_from={desk.trained}", f"{M}inputs=['heat']", f"{M}targets=['shift']", "scaling.box=unit"
        ),
        ("best.ckpt", "shift_x", "stress", "training.start_from"),
    ),
    "starting from a model in the plane": (
        lambda desk: (blocks(desk), desk.train(f"training.start_from={desk.trained}"))[1],
        ("best.ckpt", "3D", "got 2D"),
    ),
}

# --- description --------------------------------------------------------------------------------------------------
CASES |= {
    "description of nothing": (lambda desk: ["describe", "cases/*.vtk", "--quiet"], ("cases/*.vtk", "check the path")),
    "description of a missing file": (lambda desk: ["describe", "case.vtu", "--quiet"], ("case.vtu", "no such file")),
    "description of an empty folder": (
        lambda desk: ((desk.root / "empty").mkdir(), ["describe", "empty", "--quiet"])[1],
        ("empty",),
    ),
    "description into the folder of a file": (
        lambda desk: ["describe", "cases/*.vtu", "--quiet", "--json", "table.csv/out.json"],
        ("table.csv", "--json"),
    ),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """More do not pay for samples this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every case starts from: mesh files, a table, and a trained model beside them."""
    root = tmp_path_factory.mktemp("start")
    desk = Desk(root, root / "run" / "best.ckpt")
    desk.cases.mkdir()
    for number in range(FILES):
        desk.write(number, plate(number))
    desk.table(TABLE)
    with pytest.MonkeyPatch.context() as patch, without_pictures():
        patch.chdir(root)
        assert main(desk.train(*RICH, f"{M}parameters=table.csv")) == 0
    return root


@pytest.fixture
def desk(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    shutil.copytree(start / "cases", tmp_path / "cases")
    shutil.copy(start / "table.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, start / "run" / "best.ckpt")


def contents(root: Path) -> dict[str, str]:
    """A hash of every file."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_takes_one_line(name: str, desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    arrange, words = CASES[name]
    command = arrange(desk)
    before = contents(desk.root)
    capfd.readouterr()
    code = main(command)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert code == 2, out + err
    assert lines and lines[-1].startswith("pitgeo: error: "), err
    for foreign in ("Traceback", "Errno", "Error:", "Warning", "vtkXML", "0x", "weights_only"):
        assert foreign not in err, err
    assert [line for line in lines if line.startswith("pitgeo: error:")] == lines[-1:]
    missing = [word for word in words if word not in lines[-1]]
    assert not missing, f"{missing} not in: {lines[-1]}"
    after = contents(desk.root)
    assert before.items() <= after.items()
    new = [path for path in after.keys() - before.keys() if not path.startswith(".pitgeo-cache/")]
    assert set(new) <= {"run/log.txt"}, new
    assert not [path for path in after if ".part" in path]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("name", ["run", ".pitgeo-cache"])
def test_no_right_to_write(name: str, desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    (desk.root / name).mkdir(mode=0o500)
    assert main(desk.train()) == 2
    line = capfd.readouterr().err.splitlines()[-1]
    assert line.startswith("pitgeo: error: ") and name in line and ("--output" in line or "data.meshes.cache" in line)


def test_a_table_from_a_spreadsheet_is_read(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    """A byte order mark, Windows line ends, blanks beside commas, an empty last line, a column of text."""
    text = "file, mach ,who\r\n" + "".join(f"case_{number} , 0.{number + 1},me\r\n" for number in range(FILES))
    desk.table(b"\xef\xbb\xbf" + (text + "\r\n").encode())
    assert main([*desk.train(*WITH, f"{M}geometry=[]"), "--dry-run"]) == 0
    assert "1 values" in capfd.readouterr().out


def test_mixed_units_are_said_before_training(
    desk: Desk, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.edit(3, lambda mesh: replace(mesh, points=mesh.points * 1000))
    desk.edit(4, lambda mesh: replace(mesh, points=mesh.points * 1000))
    monkeypatch.setattr("pitgeo.workflows.run.fit", lambda *_: (_ for _ in ()).throw(ValueError("stopped here")))
    assert main(desk.train()) == 2
    lines = capfd.readouterr().err.splitlines()
    found = [number for number, line in enumerate(lines) if "are mm and m mixed?" in line]
    assert len(found) == 1 and "in 2 files" in lines[found[0]]
    assert "case_3.vtu" in lines[found[0]] or "case_4.vtu" in lines[found[0]]
    assert found[0] < next(number for number, line in enumerate(lines) if line.startswith("Training"))


def test_meshes_of_one_unit_are_passed_over(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.edit(3, lambda mesh: replace(mesh, points=mesh.points * 90))
    assert main([*desk.train(f"{M}targets=['nothing']"), "--dry-run"]) == 2
    options = load_config(CONFIG, [part for part in desk.train()[8::2] if "=" in part]).data.options
    options.training_parts()
    assert "mixed" not in caplog.text


def test_a_cache_that_is_deleted_is_made_again(desk: Desk) -> None:
    options = load_config(CONFIG, [part for part in desk.train()[8::2] if "=" in part]).data.options
    first = options.training_parts()[0][0]
    shutil.rmtree(desk.root / ".pitgeo-cache")
    again = options.training_parts()[0][0]
    assert torch.equal(first.y, again.y)
