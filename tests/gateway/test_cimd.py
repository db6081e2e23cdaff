"""Client ID metadata documents: what the fetcher reaches, and what it takes."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from oauth2_provider.cimd import CIMDError

from mcp_gateway.oauth.addresses import is_global
from mcp_gateway.oauth.cimd import AGE_MAX_S, AGE_MIN_S, SIZE_MAX, DocumentFetcher, age_of, checked

HOST = "client.example"
URL = f"https://{HOST}/oauth/client.json"
DOCUMENT = {
    "client_id": URL,
    "client_name": "Example agent",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "token_endpoint_auth_method": "none",
}


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80f::200e"],
)
def test_public_addresses_may_be_reached(address: str) -> None:
    assert is_global(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.0.0.1",
        "192.0.2.1", "198.18.0.1", "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "fd00::1", "fe80::1", "fe80::1%eth0",
        "fec0::1", "ff02::1", "ff0e::1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a9fe:a9fe", "2001::1",
        "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "100::1", "", "client.example", "8.8.8.8/32",
    ],
)  # fmt: skip
def test_no_other_address_may_be_reached(address: str) -> None:
    assert not is_global(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://client.example/c.json", "https://client.example", "https://u:p@client.example/c", "https://@c.example/c",
        "https://client.example/../c", "https://client.example/./c", "https://client.example/c#f",
        "https://client.example/c#", "https://client.example:99999/c", "https://client.example:0/c", "https:///c",
        "https://client.example/a b", "https://client.example/é", "https://[/c", "https://client.example/" + "a" * 240,
        "ftp://client.example/c", "",
    ],
)  # fmt: skip
def test_only_plain_https_addresses_are_documents(url: str) -> None:
    with pytest.raises(CIMDError):
        checked(url)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", AGE_MAX_S),
        ("max-age=600", 600),
        ("public, max-age = 1", AGE_MIN_S),
        ("max-age=99999999", AGE_MAX_S),
        ("max-age=600, no-store", AGE_MIN_S),
        ("no-cache", AGE_MIN_S),
        ("max-age=" + "9" * 5000, AGE_MAX_S),
    ],
)
def test_a_document_is_fresh_between_five_minutes_and_a_day(header: str, seconds: int) -> None:
    assert age_of(header) == seconds


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["93.184.216.34", "::1"], []])
def test_a_host_with_any_address_of_ours_is_not_asked(addresses: list[str]) -> None:
    with pytest.raises(CIMDError, match=r"not global|no address"):
        DocumentFetcher(resolve=lambda host, port: addresses).fetch(URL)


def test_a_name_server_that_does_not_answer_holds_nobody_up() -> None:
    def hang(host: str, port: int) -> list[str]:
        time.sleep(1)
        return ["93.184.216.34"]

    started = time.monotonic()
    with pytest.raises(CIMDError, match="could not be resolved"):
        DocumentFetcher(resolve=hang, timeout_s=0.1).fetch(URL)
    assert time.monotonic() - started < 0.8


def test_an_unknown_host_is_no_client() -> None:
    def fail(host: str, port: int) -> list[str]:
        raise socket.gaierror(host)

    with pytest.raises(CIMDError, match="could not be resolved"):
        DocumentFetcher(resolve=fail).fetch(URL)


class Handler(BaseHTTPRequestHandler):
    """Serves what the test has put down for a path."""

    answers: ClassVar[dict[str, tuple[int, dict[str, str], bytes]]] = {}
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        """Answer, or drip."""
        self.asked.append((self.headers["Host"], self.path))
        status, headers, body = self.answers.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            if self.path == "/slow":
                for _ in range(30):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.1)
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, ssl.SSLContext]]:
    """An https server for client.example on loopback, and a context that trusts it."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    inside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inside.load_cert_chain(pem)
    server.socket = inside.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    outside = ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode())
    yield server.server_address[1], outside
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def fetcher(web: tuple[int, ssl.SSLContext]) -> DocumentFetcher:
    """The real fetcher, with loopback allowed and the name resolved to it."""
    Handler.asked.clear()
    return DocumentFetcher(
        resolve=lambda host, port: ["127.0.0.1"], is_allowed=lambda address: True, tls=web[1], timeout_s=1.0
    )


def at(web: tuple[int, ssl.SSLContext], path: str, host: str = HOST) -> str:
    """The address of a path on the test's server."""
    return f"https://{host}:{web[0]}{path}"


def put(path: str, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
    """Serve this."""
    Handler.answers[path] = (status, {"Content-Type": "application/json", **(headers or {})}, body)


def test_a_document_is_read_by_its_hosts_name_and_certificate(
    fetcher: DocumentFetcher, web: tuple[int, ssl.SSLContext]
) -> None:
    put("/c.json?v=1", json.dumps(DOCUMENT).encode(), headers={"Cache-Control": "max-age=900"})
    assert fetcher.fetch(at(web, "/c.json?v=1")) == (DOCUMENT, 900)
    assert Handler.asked == [(f"{HOST}:{web[0]}", "/c.json?v=1")]


def test_a_certificate_of_another_host_is_refused(fetcher: DocumentFetcher, web: tuple[int, ssl.SSLContext]) -> None:
    with pytest.raises(CIMDError, match="could not be fetched"):
        fetcher.fetch(at(web, "/c.json", host="other.example"))
    assert Handler.asked == []


def test_redirects_large_slow_and_strange_documents_are_refused(
    fetcher: DocumentFetcher, web: tuple[int, ssl.SSLContext]
) -> None:
    put("/moved", b"", 302, {"Location": at(web, "/c.json")})
    put("/gone", b"{}", 404)
    put("/large", b'"' + b"x" * SIZE_MAX + b'"')
    put("/list", b"[]")
    put("/broken", b"{")
    put("/deep", b"[" * 9_000)
    put("/nul", b'{"client_name":"\\u0000"}')
    put("/html", b"{}", headers={"Content-Type": "text/html"})
    put("/slow", b"{}")
    put("/c.json", b"{}")
    started = time.monotonic()
    for path in ("/moved", "/gone", "/large", "/list", "/broken", "/deep", "/nul", "/html", "/slow"):
        with pytest.raises(CIMDError):
            fetcher.fetch(at(web, path))
    assert time.monotonic() - started < 5
    assert (f"{HOST}:{web[0]}", "/c.json") not in Handler.asked
