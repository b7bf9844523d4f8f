"""Prints the elements, attributes and addresses of a page that are not of schedlab's templates."""

import sys, re
from html.parser import HTMLParser
TAGS = set("""html head meta title style body main header section nav p h1 h2 h3 h4 ul li dl dt dd div span strong em small br a table
thead tbody tfoot tr th td wbr figure figcaption details summary pre code svg g rect text line polyline polygon circle path""".split())
ATTRIBUTES = set("""lang charset name content id class href role aria-label tabindex scope data-head style open title viewbox width height
x y x1 y1 x2 y2 cx cy r points d fill stroke opacity stroke-width stroke-opacity fill-opacity dy dx text-anchor font-family font-size
font-weight transform colspan""".split())
class Page(HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag not in TAGS: print("element", tag)
        for name, value in attributes:
            if name not in ATTRIBUTES: print("attribute", name)
            if name == "href" and not re.fullmatch(r"#[a-z0-9.-]+|confirm/report\.html", value): print("link", value)
            if name == "style" and not re.fullmatch(r"(max-width: ?[0-9]+px|white-space: pre)", value): print("style", value)
    def handle_comment(self, data): print("comment", data)
    def handle_pi(self, data): print("instruction", data)
page = Page()
page.feed(open(sys.argv[1], newline="").read())
page.close()
