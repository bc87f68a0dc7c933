"""The server of a page: where it listens, and who may use it."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pitgeo.view.session import Session

KEY = "secret"
"""Name of the token in the address and in the cookie; trame's page takes it from there for its websocket."""


def serve(session: Session, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Show a page until the process is interrupted.

    On this machine alone (``127.0.0.1``, ``localhost``, ``::1``) it asks for nothing but that requests come from a page
    of its own. Elsewhere a random token is part of the address, and all requests without it are refused.

    Args:
        session: What the page shows.
        host: Name or number of the interface to listen on.
        port: Its port; 0 for any that is free.
        ready: Gets the address of the page.

    Raises:
        ImportError: If trame is not installed.
        ValueError: If the host is not one of this machine, or the port is in use.
    """
    check_trame()
    check_address(host, port)
    from trame.app import get_server

    from pitgeo.view.layout import build
    from pitgeo.view.page import Page

    os.environ.setdefault("WSLINK_READY_MSG", "")  # it would be printed
    os.environ.setdefault("TRAME_ARGS", "")  # or trame reads the arguments of the command
    server = get_server("pitgeo", client_type="vue3")
    access = Access(None if is_local(host) else secrets.token_urlsafe(24))
    if access.token:
        server.cli.set_defaults(authKey=access.token)
    build(Page(session, server.state), server)
    server.controller.on_server_bind.add(lambda own: own.app.middlewares.append(access.middleware()))
    server.controller.on_server_ready.add(lambda **_: ready(access.address(host, server.port)))
    server.start(host=host, port=port, open_browser=False, show_connection_info=False, timeout=0)


def check_trame() -> None:
    """Refuse to go on without trame.

    Raises:
        ImportError: If it is not installed.
    """
    try:
        import trame.ui.vuetify3
        import trame.widgets.vtk
        import trame.widgets.vuetify3  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Expected trame for the page (got: {error}); install it with: pip install 'pitgeo[view]'"
        ) from error


def check_address(host: str, port: int) -> None:
    """Find out before any work whether the page can listen there.

    Raises:
        ValueError: If the host is not one of this machine, or the port is in use or not allowed.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"Expected 'port' to be from 0 to 65535 (got {port})")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as own:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            own.bind(address)
    except socket.gaierror as error:
        raise ValueError(f"Expected 'host' to name this machine (got {host!r}: {error.strerror})") from error
    except OSError as error:
        raise ValueError(
            f"Expected a 'host' and a free 'port' of this machine (got {host}, {port}: {error.strerror}); give others, "
            f"or leave them out"
        ) from error


def is_local(host: str) -> bool:
    """Whether only this machine can reach an interface."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Access:
    """Who may use a page.

    Args:
        token: What every request must know; ``None`` on this machine alone, where a request must not come from a page
            of another site, which the browser may have open too.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token

    def address(self, host: str, port: int) -> str:
        """The address to open."""
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        query = f"?{KEY}={self.token}" if self.token else ""
        return f"http://{shown}:{port}/index.html{query}"

    def allows(self, host: str, origin: str | None, given: str, cookie: str) -> bool:
        """Whether a request is answered.

        Args:
            host: The host that it names, with its port.
            origin: The page that it comes from, if the browser says so.
            given: The token in the address, or an empty text.
            cookie: The token in the cookie.
        """
        if origin is not None and urlsplit(origin).netloc != host:
            return False
        if self.token is None:
            return is_local(urlsplit(f"//{host}").hostname or "")
        return any(secrets.compare_digest(own.encode(), self.token.encode()) for own in (given, cookie))

    def middleware(self) -> Any:
        """The same for aiohttp, for pages and websockets alike."""
        from aiohttp import web

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:
            given, cookie = request.query.get(KEY, ""), request.cookies.get(KEY, "")
            if not self.allows(request.host, request.headers.get("Origin"), given, cookie):
                raise web.HTTPForbidden(text="Expected the address that pitgeo view has printed, with its token.\n")
            if self.token and not given and request.path in ("/", "/index.html"):
                raise web.HTTPFound(f"/index.html?{KEY}={self.token}")  # trame's page takes the token out of it
            response: web.StreamResponse = await handler(request)
            if self.token and request.path == "/index.html":
                response.set_cookie(KEY, self.token, httponly=True, samesite="Strict")
            return response

        return check
