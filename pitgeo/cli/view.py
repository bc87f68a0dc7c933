"""The command that shows a trained model in the browser: ``pitgeo view``."""

from __future__ import annotations

import argparse

from pitgeo.cli.model import loaded


def view(arguments: argparse.Namespace) -> int:
    """Show test samples or mesh files until Ctrl-C."""
    from pitgeo.view.cases import open_cases
    from pitgeo.view.server import check_address, check_trame, serve
    from pitgeo.view.session import Session

    check_trame()
    check_address(arguments.host, arguments.port)
    predictor = loaded(arguments)
    session = Session(predictor, open_cases(predictor, arguments.meshes, arguments.parameters))
    serve(session, arguments.host, arguments.port, lambda address: print(f"{address} (Ctrl-C ends it)", flush=True))
    return 0
