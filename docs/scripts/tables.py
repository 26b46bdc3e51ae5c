"""What the pages do not type: a line `[[name argument: words]]` becomes what `TABLES[name]` makes.

The words are for who reads the source: they say what stands there on the site.
"""

import re

import choices
import from_benchmarks
import from_code
import from_results
import questions
import readme
from gather import NotStored

MARKER = re.compile(r"^\[\[(\w+)(?: ([^:]+))?(?:: (.+))?\]\]$", re.MULTILINE)
TABLES = {
    name: made
    for source in (from_benchmarks, from_code, from_results, choices, questions, readme)
    for name, made in source.TABLES.items()
}


def fill(text: str, page: str) -> str:
    """The page's text with every marker replaced; the argument is the page's name if not given."""
    return MARKER.sub(lambda found: _made(found[1], found[2] or page), text)


def _made(name: str, argument: str) -> str:
    try:
        return TABLES[name](argument)
    except NotStored as missing:
        return f"*Still to be computed: `gossamer run {missing} --size full`.*"
