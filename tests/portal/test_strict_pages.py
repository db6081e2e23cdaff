"""Pages under the strict policy: no inline script or style anywhere, and one stylesheet that stays small."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

TEMPLATES = sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|hx-on|javascript:", re.IGNORECASE)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_holds_inline_script_or_style(template: Path) -> None:
    assert INLINE.findall(template.read_text()) == []


def test_every_page_carries_the_policy(browser: Client) -> None:
    policy = browser.get(reverse("start"))["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_styles_stay_under_700_lines() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in Path(settings.BASE_DIR, "static/css").glob("*.css"))

    assert lines < 700


def test_our_script_evaluates_nothing() -> None:
    script = Path(settings.BASE_DIR, "static/js/page.js").read_text()

    assert re.findall(r"\beval\(|new Function|innerHTML|setAttribute\(\"on", script) == []
