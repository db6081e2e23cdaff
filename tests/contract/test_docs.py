"""The published contract: a page that people read, and the same as JSON for any site."""

import html
import re

import pytest
from django.test import Client

from mcp_gateway.contract import SERVER, TOOLS
from mcp_gateway.contract.publication import publication
from mcp_gateway.contract.rows import rows_of
from mcp_gateway.templatetags.prose import breakable, prose

pytestmark = pytest.mark.django_db


def test_the_json_twin_is_the_contract_and_any_site_may_read_it(client: Client) -> None:
    response = client.get("/docs/mcp/tools.json")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "public, max-age=3600"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert not response.cookies
    assert "Cookie" not in response.get("Vary", "")
    document = response.json()
    assert [tool["name"] for tool in document["tools"]] == list(TOOLS)
    for tool in document["tools"]:
        assert tool["inputSchema"] == TOOLS[tool["name"]].input_schema
        assert tool["outputSchema"] == TOOLS[tool["name"]].output_schema
    assert document["server"]["instructions"] == SERVER.instructions


def test_the_json_twin_is_the_same_every_time_and_only_read(client: Client) -> None:
    first = client.get("/docs/mcp/tools.json").content
    assert client.get("/docs/mcp/tools.json").content == first
    assert client.post("/docs/mcp/tools.json").status_code == 405
    assert client.post("/docs/mcp/").status_code == 405


def test_the_addresses_are_this_installations() -> None:
    document = publication(resource="https://agents.example.org/mcp", issuer="https://agents.example.org")
    assert document["server"]["endpoint"] == "https://agents.example.org/mcp"
    assert document["reference"]["connect"][0]["value"] == "`https://agents.example.org/mcp`"
    assert "mcp.breakpass.ai" not in str(document)
    assert "{resource}" not in str(document)
    assert "{issuer}" not in str(document)


def test_the_page_shows_every_tool_with_every_field_and_its_words(client: Client) -> None:
    response = client.get("/docs/mcp/")
    assert response.status_code == 200
    page = response.content.decode().replace("<wbr>", "")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    for tool in TOOLS.values():
        assert page.count(f'<section id="{tool.name}"') == 1
        assert tool.description.replace("`", "") in text
        for row in (*rows_of(tool.input_schema), *rows_of(tool.success_schema)):
            assert f"<code>{row.path}</code>" in page
            assert row.description.replace("`", "") in text
    assert SERVER.instructions.replace("`", "") in text
    assert "What a call says." in text
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_prose_marks_code_and_strong_and_escapes_the_rest() -> None:
    assert prose("**Now** `a<b` & <i>") == ("<strong>Now</strong> <code>a&lt;b</code> &amp; &lt;i&gt;")
    assert prose("2 * 3 ` 4") == "2 * 3 ` 4"


def test_a_path_wraps_after_its_dots_and_is_escaped() -> None:
    assert breakable("alerts[].failure.code") == "alerts[].<wbr>failure.<wbr>code"
    assert breakable("a<b.c") == "a&lt;b.<wbr>c"
