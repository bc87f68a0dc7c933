"""The public names, which only change on purpose."""

import importlib

import pytest

PUBLIC = {
    "pitgeo": ["Metric", "Neighborhood", "PiT", "PointData", "PositionAttention", "load", "train_surrogate"],
    "pitgeo.nn": [
        "Body",
        "DenseLayout",
        "GlobalPositionAttention",
        "LengthScale",
        "LocalDecoder",
        "PaperBlock",
        "PaperLayer",
        "PiT",
        "PointwiseMLP",
        "PositionAttention",
        "ResidualBlock",
        "Rollout",
        "SelfAttention",
        "SelfPositionAttention",
        "length_table",
        "project_",
    ],
    "pitgeo.models": [
        "DeepONet",
        "DeepONetOptions",
        "Deformation",
        "FNO",
        "FNOOptions",
        "FNOPlusOptions",
        "GINO",
        "GINOOptions",
        "GNOT",
        "GNOTOptions",
        "GalerkinOptions",
        "GalerkinTransformer",
        "GeoFNO",
        "GeoFNOOptions",
        "InterpolatedFNO",
        "MODELS",
        "OFormer",
        "OFormerOptions",
        "ONO",
        "ONOOptions",
        "POD",
        "PODOptions",
        "Sensors",
        "ShiftDeepONet",
        "ShiftDeepONetOptions",
        "SliceAttention",
        "Transolver",
        "TransolverOptions",
    ],
    "pitgeo.config": ["RunConfig", "load_config"],
    "pitgeo.data": ["PointData"],
    "pitgeo.evaluation": ["evaluate"],
    "pitgeo.integrals": ["Integrals", "Quantity", "Weights", "compute", "measure", "weights"],
    "pitgeo.measures": ["Measures", "Reference", "measure", "relative_error"],
    "pitgeo.prediction": ["Predictor", "load", "sensitivity"],
    "pitgeo.workflows.compare": ["Budget", "Settings", "model_variants", "read_variants", "run_compare"],
    "pitgeo.controls": [
        "Control",
        "LocalRegression",
        "MeanField",
        "NearestCase",
        "POD",
        "PODMap",
        "Persistence",
        "TrainingSet",
        "controls_for",
    ],
    "pitgeo.describe": ["Description", "FieldSummary", "Finding", "describe", "format_description"],
    "pitgeo.mesh": [
        "Mesh",
        "Note",
        "SERIES",
        "Series",
        "WRITABLE",
        "cell_fields",
        "centroids",
        "from_meshio",
        "from_pyvista",
        "point_fields",
        "read_mesh",
        "read_series",
        "result_name",
        "summary",
        "write_mesh",
        "write_series",
    ],
    "pitgeo.data.fields": [
        "FieldTable",
        "MeshField",
        "PLACES",
        "cells_from_points",
        "field_values",
        "find_field",
        "points_from_cells",
    ],
    "pitgeo.geometry": [
        *("GEOMETRY", "Probe", "candidates", "cut", "fill_surface", "geometry_components", "geometry_values"),
        *("grid_of", "is_geometry", "probe", "probe_line"),
    ],
    "pitgeo.datasets.folder": ["MeshOptions", "MeshSamples"],
    "pitgeo.data.transforms": ["AttentionGraphs", "Compose", "GridInterpolation", "LatentMesh", "UnitBox"],
    "pitgeo.testing": [
        "assert_batch_independent",
        "assert_dataset",
        "assert_gradients",
        "assert_linear_in_values",
        "assert_parameters_used",
        "assert_permutation_equivariant",
        "assert_rigid_motion_invariant",
    ],
    "pitgeo.datasets": [
        "BenchmarkOptions",
        "DATASETS",
        "Elasticity",
        "ElasticityOptions",
        "Fields",
        "GridOptions",
        "HoledPoisson",
        "ListedSamples",
        "Samples",
        "SharedMesh",
    ],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_list(module):
    found = importlib.import_module(module)
    assert sorted(found.__all__) == PUBLIC[module]
    assert all(hasattr(found, name) for name in found.__all__)


def test_unknown_names_fail_as_python_does():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        importlib.import_module("pitgeo").__getattr__("nothing")


# They need files, a trained model or a whole training set.
WITHOUT_EXAMPLE = {
    "BenchmarkOptions": "a base class",
    "Elasticity": "reads raw files",
    "GridOptions": "a base class",
    "HoledPoisson": "reads a raw file",
    "MeshSamples": "made of what a folder's options read",
}


def test_public_classes_and_functions_have_an_example():
    lacking = set()
    for module, names in PUBLIC.items():
        loaded = importlib.import_module(module)
        found = ((name, getattr(loaded, name)) for name in names)
        lacking |= {name for name, value in found if callable(value) and ">>>" not in (value.__doc__ or "")}
    assert lacking == WITHOUT_EXAMPLE.keys()
