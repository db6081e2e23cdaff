"""Markdown and HTML to plain text, one reading: what a person would have read, one line per line break."""

import re
from collections.abc import Iterable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from breakpass.text.tags import BLOCK_ELEMENTS, SILENT_ELEMENTS, Tag

_BREAKS_AFTER = frozenset({"paragraph_close", "heading_close", "list_item_close", "tr_close", "hr"})
_COMPARISON = re.compile(r">\s*=?\s*[\d$€£¥.=]")
_ADDRESS = re.compile(r"://[^\s<>\[\]()\"'`]+")


def _quote_unless_comparison(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block quote, but for `> 90% of the disk`, which says more than."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return not _COMPARISON.match(line) and blockquote(state, start, end, silent)


def _keep_address(state: StateInline, silent: bool) -> bool:
    """A bare web address is text to its last character: `https://x.example/a_*b*_c` holds no emphasis."""
    if state.src[state.pos] != ":" or state.src[max(0, state.pos - 5) : state.pos].lower()[-4:] not in ("http", "ttps"):
        return False
    match = _ADDRESS.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    address = match.group().rstrip("*_~.,;:!?\\&")
    if len(address) <= len("://"):
        return False
    if not silent:
        state.append_pending(address)
    state.pos += len(address)
    return True


def _keep_times(state: StateInline, silent: bool) -> bool:
    """Stars between two digits multiply: `2*3*4` holds no emphasis."""
    if state.src[state.pos] != "*":
        return False
    end = state.pos
    while end < state.posMax and state.src[end] == "*":
        end += 1
    before, after = state.src[state.pos - 1 : state.pos], state.src[end : end + 1]
    if not (before.isdigit() and after.isdigit()):
        return False
    if not silent:
        state.append_pending(state.src[state.pos : end])
    state.pos = end
    return True


def _as_it_is(address: str) -> str:
    return address


def _reader() -> MarkdownIt:
    # html_block off: every tag is then an inline token of its own, and text between tags stays markdown.
    md = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"]).disable("html_block")
    md.block.ruler.at("blockquote", _quote_unless_comparison, {"alt": ["paragraph", "reference", "list"]})
    md.inline.ruler.before("escape", "address", _keep_address)
    md.inline.ruler.before("emphasis", "times", _keep_times)
    # Addresses are shown, not followed: no percent-encoding, no punycode.
    for name in ("normalizeLink", "normalizeLinkText"):
        setattr(md, name, _as_it_is)
    return md


_MARKDOWN = _reader()
_MARKDOWN_WITHOUT_DEFINITIONS = _reader().disable("reference")


class _Page:
    """Text as it is gathered from tokens."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.shown: set[str] = set()
        self._links: list[tuple[int, str]] = []
        self._silent: tuple[str, int] | None = None
        self._is_first_cell = True

    def text(self) -> str:
        while self._links:
            self.close_link()
        return "".join(self.pieces)

    def open_link(self, address: str) -> None:
        self._links.append((len(self.pieces), address))

    def close_link(self) -> None:
        """After the words of a link its address, unless the words are the address."""
        if not self._links:
            return
        start, address = self._links.pop()
        self.shown.add(address)
        words = "".join(self.pieces[start:]).strip()
        bare = address.removeprefix("mailto:").split("?")[0] if address.startswith("mailto:") else address
        if not words or bare.removeprefix("https://").rstrip("/") == words.rstrip("/"):
            self.pieces[start:] = [bare]
        elif bare and bare != words:
            self.pieces.append(f" {bare}")

    def add_tag(self, source: str) -> None:
        """What an HTML tag leaves: a line break, an address, nothing; a tag that is not HTML stays text."""
        if source.startswith(("<!--", "<!DOCTYPE", "<!doctype")):
            return
        tag = Tag(source)
        if not tag.is_html:
            self.pieces.append(source)
        elif tag.name in SILENT_ELEMENTS:
            self._mute(tag)
        elif tag.name in BLOCK_ELEMENTS:
            self.pieces.append("\n")
        elif tag.name in ("td", "th"):
            self.pieces.append(" ")
        elif tag.name == "a":
            if tag.is_end:
                self.close_link()
            elif address := tag.attributes.get("href"):
                self.open_link(address)
        elif tag.name == "img" and not tag.is_end:
            self.add_image(tag.attributes.get("alt") or "", tag.attributes.get("src") or "")

    def add_image(self, alt: str, address: str) -> None:
        """An image as its description, and where it is."""
        self.open_link(address)
        self.pieces.append(alt)
        self.close_link()

    def _mute(self, tag: Tag) -> None:
        """Drop a script from its start tag to its end tag; one that never ends was only mentioned."""
        if not tag.is_end:
            self._silent = self._silent or (tag.name, len(self.pieces))
        elif self._silent and self._silent[0] == tag.name:
            del self.pieces[self._silent[1] :]
            self._links = [link for link in self._links if link[0] < len(self.pieces)]
            self._silent = None

    def add_inline(self, tokens: Iterable[Token]) -> None:
        """The words of one paragraph, heading or cell."""
        for token in tokens:
            match token.type:
                case "text" | "code_inline":
                    self.pieces.append(token.content)
                case "softbreak" | "hardbreak":
                    self.pieces.append("\n")
                case "html_inline":
                    self.add_tag(token.content)
                case "link_open":
                    self.open_link(str(token.attrs.get("href", "")))
                case "link_close":
                    self.close_link()
                case "image":
                    alt = _Page()
                    alt.add_inline(token.children or [])
                    self.add_image(alt.text(), str(token.attrs.get("src", "")))

    def add_block(self, token: Token) -> None:
        """One block token: its words, its list number, its line break."""
        match token.type:
            case "inline":
                self.add_inline(token.children or [])
            case "fence":
                # An opening fence alone on its line swallows what follows it there; a person wrote it to be read.
                self.pieces.append(f"{token.content if token.content.strip() else token.info}\n")
            case "code_block":
                self.pieces.append(f"{token.content}\n")
            case "list_item_open" if token.info:
                self.pieces.append(f"{token.info}{token.markup} ")
            case "tr_open":
                self._is_first_cell = True
            case "th_open" | "td_open":
                self.pieces.append("" if self._is_first_cell else ", ")
                self._is_first_cell = False
            case kind if kind in _BREAKS_AFTER:
                self.pieces.append("\n")


def _read(md: MarkdownIt, source: str) -> tuple[_Page, dict[str, Any]]:
    env: dict[str, Any] = {}
    page = _Page()
    for token in md.parse(source, env):
        page.add_block(token)
    return page, env


def to_plain_lines(source: str) -> str:
    """`source` read once as CommonMark with HTML; lines end in `\\n`. Links keep their address after their words.

    What looks like markup but is none comes out as it went in: `disk < 5%`, `snake_case`, `2 * 3`, `a & b`, `<Dial>`.
    """
    page, env = _read(_MARKDOWN, source)
    text = page.text()
    defined = [*env.get("references", {}).values(), *env.get("duplicate_refs", [])]
    if any(str(definition["href"]) not in page.shown for definition in defined):
        # A definition that no link uses is a sentence that only looks like one: "[deploy]: finished".
        text = _read(_MARKDOWN_WITHOUT_DEFINITIONS, source)[0].text()
    return text
