"""Who may use a page: asked of the rules, of aiohttp with them, and what is said of addresses that cannot be."""

import asyncio
import builtins
import socket

import pytest

from pitgeo.cli.main import main
from pitgeo.view.server import KEY, Access, check_address, is_local


@pytest.mark.parametrize(
    ("host", "answer"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.1.2.3", True), ("0.0.0.0", False), ("::", False)],
)
def test_which_interfaces_are_of_this_machine_alone(host, answer):
    assert is_local(host) is answer
    assert not is_local("example.org")


def test_on_this_machine_pages_of_other_sites_are_refused():
    access = Access(None)
    assert access.allows("127.0.0.1:8080", None, "", "") and access.allows("localhost:8080", None, "", "")
    assert access.allows("localhost:9000", "http://localhost:9000", "", "")  # through a tunnel
    assert not access.allows("127.0.0.1:8080", "http://example.org", "", "")
    assert not access.allows("127.0.0.1:8080", "http://127.0.0.1:9090", "", "")
    assert not access.allows("example.org:8080", None, "", "")  # a name that was made to mean this machine
    assert access.address("127.0.0.1", 8080) == "http://127.0.0.1:8080/index.html"


def test_elsewhere_the_token_is_needed():
    access = Access("abc")
    assert access.allows("machine:80", None, "abc", "") and access.allows("machine:80", "http://machine:80", "", "abc")
    for given in ("", "abcd", "ab", "ABC", "ä"):
        assert not access.allows("machine:80", None, given, given)
    assert not access.allows("machine:80", "http://example.org", "abc", "abc")
    assert access.address("0.0.0.0", 80) == f"http://{socket.gethostname()}:80/index.html?{KEY}=abc"
    assert access.address("::2", 80).startswith("http://[::2]:80/")


def test_pages_and_websockets_are_refused_without_the_token():
    aiohttp = pytest.importorskip("aiohttp")
    from aiohttp import web
    from aiohttp.test_utils import TestClient, TestServer

    async def page(request):
        return web.Response(text="page")

    async def talk(request):
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        await answer.send_str("data")
        await answer.close()
        return answer

    async def ask():
        app = web.Application()
        app.router.add_get("/index.html", page)
        app.router.add_get("/ws", talk)
        app.middlewares.append(Access("abc").middleware())
        async with TestClient(TestServer(app)) as client:
            for path in ("/index.html", f"/index.html?{KEY}=abd", "/ws", f"/ws?{KEY}=", "/other"):
                answer = await client.get(path)
                assert answer.status == 403 and "page" not in await answer.text(), path
            for path in ("/ws", f"/ws?{KEY}=x"):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                    await client.ws_connect(path)
            answer = await client.get(f"/index.html?{KEY}=abc")
            assert await answer.text() == "page" and answer.cookies[KEY]["httponly"]
            async with client.ws_connect("/ws") as talked:  # with the cookie
                assert (await talked.receive()).data == "data"
            again = await client.get("/index.html", allow_redirects=False)
            assert again.status == 302 and again.headers["Location"] == f"/index.html?{KEY}=abc"

    asyncio.run(ask())


def test_addresses_that_cannot_be(run, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["view", str(run / "out" / "best.ckpt"), "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert f"Expected a --host and a free --port of this machine (got 127.0.0.1, {port}: Address already" in error
    for port in (-1, 65536):
        with pytest.raises(ValueError, match=rf"'port' to be from 0 to 65535 \(got {port}\)"):
            check_address("127.0.0.1", port)
    with pytest.raises(ValueError, match=r"\(got 192\.0\.2\.1, 0: "):
        check_address("192.0.2.1", 0)
    with pytest.raises(ValueError, match=r"Expected 'host' to name this machine \(got 'no such machine'"):
        check_address("no such machine", 0)
    check_address("127.0.0.1", 0)


def test_without_trame_the_extra_is_named(monkeypatch, capsys):
    found = builtins.__import__

    def without(name, *others, **more):
        if name.partition(".")[0] == "trame":
            raise ModuleNotFoundError("No module named 'trame'", name="trame")
        return found(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["view", "best.ckpt"]) == 2
    assert "install it with: pip install 'pitgeo[view]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.vtu"], "none.vtu"),
        (["--parameters", "numbers.csv"], "Expected --parameters with mesh files"),
    ],
)
def test_mistakes_are_one_line(run, capsys, arguments, message):
    pytest.importorskip("trame")
    assert main(["view", str(run / "out" / "best.ckpt"), *arguments, "--device", "cpu"]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("pitgeo: error: ") and message in error
