"""Strict reading of a page: browsers forgive what this does not."""
import html.parser
import re

ATTRIBUTE = r"""\s+[\w:-]+(="[^"<]*")?"""
VOID = {"meta", "br", "input", "col", "link", "img", "hr"}


class StrictParser(html.parser.HTMLParser):
    """Each tag is well formed, each attribute quoted and said once, and each element that begins ends."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        text = self.get_starttag_text()
        assert re.fullmatch(rf"<[\w]+({ATTRIBUTE})*\s*/?>", text), text
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), text
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open, self.getpos())


def check_page(text):
    parser = StrictParser()
    parser.feed(text)
    parser.close()
    assert not parser.open
