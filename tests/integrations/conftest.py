"""Scripts that the tests launch on several ranks are not tests themselves."""

collect_ignore_glob = ["with_*.py"]
