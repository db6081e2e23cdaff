"""HTML tags in a text: which ones are HTML at all, and what each leaves behind."""

from html.parser import HTMLParser

# The elements of HTML, past and present. `<Dial>`, `List<String>` and `<your-name>` are none, and stay text.
_BLOCKS = """
    address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol optgroup option p pre section
    select summary table tbody tfoot thead title tr ul
"""
_INLINES = """
    a abbr acronym area audio b base basefont bdi bdo big blink button canvas cite code col colgroup data datalist del
    dfn em embed font frame frameset i iframe img input ins kbd label link map mark marquee meta meter noframes noscript
    object output param picture progress q rp rt ruby s samp script search slot small source span strike strong style
    sub sup svg td template textarea th time track tt u var video wbr
"""
# Attributes that may stand without a value. Any other bare word makes it no tag: `if a <b and c> d` is arithmetic.
_BARE = """
    allowfullscreen async autofocus autoplay checked compact controls default defer disabled download hidden inert ismap
    loop multiple muted nomodule noshade novalidate nowrap open readonly required reversed selected
"""
BLOCK_ELEMENTS = frozenset(_BLOCKS.split())
ELEMENTS = BLOCK_ELEMENTS | frozenset(_INLINES.split())
SILENT_ELEMENTS = frozenset({"script", "style", "template"})
BARE_ATTRIBUTES = frozenset(_BARE.split())


class Tag(HTMLParser):
    """One HTML tag, read from exactly its own source text."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.name = ""
        self.is_end = False
        self.attributes: dict[str, str | None] = {}
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the name and attributes of a start tag."""
        self.name, self.attributes = tag, dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        """Note an end tag; of `<br/>` the start counts."""
        if not self.name:
            self.name, self.is_end = tag, True

    @property
    def is_html(self) -> bool:
        """True when this is a tag of HTML with attributes as HTML has them."""
        return self.name in ELEMENTS and all(
            value is not None or name in BARE_ATTRIBUTES for name, value in self.attributes.items()
        )
