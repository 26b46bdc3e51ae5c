"""What the pages do not type: a line `[[name argument: words]]` becomes what `TABLES[name]` makes.

The words are for who reads the source: they say what stands there on the site.
"""

import re

import from_benchmarks
import from_code
import from_results

MARKER = re.compile(r"^\[\[(\w+)(?: ([^:]+))?(?:: (.+))?\]\]$", re.MULTILINE)
TABLES = {
    name: made
    for source in (from_benchmarks, from_code, from_results)
    for name, made in source.TABLES.items()
}


def fill(text: str, page: str) -> str:
    """The page's text with every marker replaced; the argument is the page's name if not given."""
    return MARKER.sub(lambda found: TABLES[found[1]](found[2] or page), text)
