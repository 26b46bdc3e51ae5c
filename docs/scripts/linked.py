"""Pictures of pages lead to themselves, to look closer."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PICTURE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]*>')


def linked(body: str) -> str:
    """A page's body with links around its pictures; drawings know both themes by themselves.

    >>> linked('<p><img alt="" src="_images/lost.svg"/></p>')
    '<p><a class="picture" href="_images/lost.svg"><img alt="" src="_images/lost.svg"/></a></p>'
    """
    return PICTURE.sub(r'<a class="picture" href="\1">\g<0></a>', body)


def _link(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "body" in context:
        context["body"] = linked(context["body"])


def setup(app: "Sphinx") -> None:
    """Let pages be written so."""
    app.connect("html-page-context", _link)
