"""The documentation site: `make docs` builds it into site/, to be opened from disk."""

import gc
import sys
import tomllib
from pathlib import Path

gc.set_threshold(100_000)  # a site is many small objects, and hardly any is garbage
DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "scripts"))
PYPROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))

from gossamer.version import __version__  # noqa: E402

project = "Gossamer"
author = "The Gossamer developers"
version = release = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "hooks",  # docs/scripts/hooks.py
]
exclude_patterns = ["assets", "scripts", "static", "**.ipynb_checkpoints"]

# Markdown. Notebooks are stored with their outputs.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"
highlight_language = "bash"
smartquotes_action = "D"  # dashes; quotes stay as typed, since names of metrics are quoted, too

# The API: names as users write them, in the order of the source.
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
napoleon_numpy_docstring = False
add_module_names = False

# Everything that a page needs lies beside it.
html_theme = "pydata_sphinx_theme"
html_title = f"Gossamer {release}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"  # docs/scripts/mathml.py
html_show_search_summary = False  # which pages opened from disk may not fetch
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
ALONE = ("index", "start", "choose", "concepts", "peers", "negative", "design", "changelog")
html_sidebars: dict[str, list[str]] = {page: [] for page in ALONE}  # no pages below them
copybutton_exclude = ".linenos, .gp, .go"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": html_title},
    "icon_links": [
        {"name": name, "url": url, "icon": "fa-solid fa-code-branch"}
        for name, url in PYPROJECT["project"].get("urls", {}).items()
    ],
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
