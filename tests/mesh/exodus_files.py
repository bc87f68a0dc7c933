"""Exodus files, written by the format's description alone."""

import numpy as np
from netCDF4 import Dataset


def put_names(file, variable, size, names, letters="len_string"):
    made = file.createVariable(variable, "S1", (size, letters))
    table = np.zeros((len(names), len(file.dimensions[letters])), "S1")
    for row, name in zip(table, names, strict=True):
        row[: len(name)] = [letter.encode() for letter in name]
    made[:] = table


def write(path, points, blocks, sides=(), nodes=(), elements=(), steps=0, form="NETCDF3_64BIT_OFFSET", **fields):
    """An Exodus file.

    Args:
        path: Where.
        points: ``[N, axes]``.
        blocks: The type, the nodes from 0 in the order of Exodus, and the name of each.
        sides: The name, elements and sides, both from 1, of each set.
        nodes: The name and members, from 1, of each set.
        elements: The name and members, from 1, of each set.
        steps: Time steps.
        form: The format of netCDF.
        fields: ``nod``, ``elem`` and ``glo``: values by name, ``[steps, N]``, a list of blocks of ``[steps, n]`` or
            ``None``, and ``[steps]``.
    """
    points = np.asarray(points, float)
    with Dataset(path, "w", format=form) as file:
        file.setncatts({"api_version": np.float32(4.98), "version": np.float32(4.98), "title": "by hand"})
        file.setncatts({"floating_point_word_size": np.int32(8), "file_size": np.int32(1)})
        sizes = {"len_string": 33, "len_line": 81, "four": 4, "time_step": None, "num_dim": points.shape[1]}
        sizes |= {"num_nodes": len(points), "num_elem": sum(len(b[1]) for b in blocks), "num_el_blk": len(blocks)}
        for name, size in sizes.items():
            file.createDimension(name, size)
        put_names(file, "coor_names", "num_dim", "xyz"[: points.shape[1]])
        file.createVariable("time_whole", "f8", ("time_step",))[:] = np.arange(steps) / 2
        for axis, values in enumerate(points.T):
            file.createVariable("coord" + "xyz"[axis], "f8", ("num_nodes",))[:] = values
        file.createVariable("eb_status", "i4", ("num_el_blk",))[:] = 1
        numbers = file.createVariable("eb_prop1", "i4", ("num_el_blk",))
        numbers[:] = 10 * np.arange(1, len(blocks) + 1)
        numbers.setncattr("name", "ID")
        put_names(file, "eb_names", "num_el_blk", [name for _, _, name in blocks])
        for k, (kind, rows, _) in enumerate(blocks, start=1):
            file.createDimension(f"num_el_in_blk{k}", len(rows))
            file.createDimension(f"num_nod_per_el{k}", len(rows[0]))
            made = file.createVariable(f"connect{k}", "i4", (f"num_el_in_blk{k}", f"num_nod_per_el{k}"))
            made.setncattr("elem_type", kind)
            made[:] = np.asarray(rows) + 1
        for letters, size, sets in (
            ("ns", "num_node_sets", nodes),
            ("ss", "num_side_sets", sides),
            ("els", "num_elem_sets", elements),
        ):
            if not sets:
                continue
            file.createDimension(size, len(sets))
            file.createVariable(f"{letters}_status", "i4", (size,))[:] = 1
            numbers = file.createVariable(f"{letters}_prop1", "i4", (size,))
            numbers[:] = 100 + np.arange(len(sets))
            numbers.setncattr("name", "ID")
            put_names(file, f"{letters}_names", size, [entry[0] for entry in sets])
            for k, (_, *lists) in enumerate(sets, start=1):
                own = {"ns": ["node_ns"], "ss": ["elem_ss", "side_ss"], "els": ["elem_els"]}[letters]
                length = {"ns": "num_nod_ns", "ss": "num_side_ss", "els": "num_ele_els"}[letters] + str(k)
                file.createDimension(length, len(lists[0]))
                for name, values in zip(own, lists, strict=True):
                    file.createVariable(f"{name}{k}", "i4", (length,))[:] = values
        _put_fields(file, len(blocks), fields)


def _put_fields(file, blocks, fields):
    for kind, values in fields.items():
        file.createDimension(f"num_{kind}_var", len(values))
        put_names(file, f"name_{kind}_var", f"num_{kind}_var", list(values))
    for k, values in enumerate(fields.get("nod", {}).values(), start=1):
        file.createVariable(f"vals_nod_var{k}", "f8", ("time_step", "num_nodes"))[:] = values
    if fields.get("glo"):
        file.createVariable("vals_glo_var", "f8", ("time_step", "num_glo_var"))[:] = np.stack(
            list(fields["glo"].values()), 1
        )
    if fields.get("elem"):
        table = [[parts[b] is not None for parts in fields["elem"].values()] for b in range(blocks)]
        file.createVariable("elem_var_tab", "i4", ("num_el_blk", "num_elem_var"))[:] = np.array(table, int)
        for k, parts in enumerate(fields["elem"].values(), start=1):
            for b, values in enumerate(parts, start=1):
                if values is not None:
                    made = file.createVariable(f"vals_elem_var{k}eb{b}", "f8", ("time_step", f"num_el_in_blk{b}"))
                    made[:] = values


def variables(path):
    """Every variable with its type, dimensions, attributes and bytes; the dimensions; the attributes of the file."""
    with Dataset(path) as file:
        file.set_auto_maskandscale(False)
        held = {
            name: (
                str(v.dtype),
                v.dimensions,
                {k: str(v.getncattr(k)) for k in v.ncattrs()},
                np.asarray(v[:]).tobytes(),
            )
            for name, v in file.variables.items()
        }
        sizes = {name: (len(size), size.isunlimited()) for name, size in file.dimensions.items()}
        return held, sizes, {key: str(file.getncattr(key)) for key in file.ncattrs()}
