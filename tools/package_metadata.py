"""What the package says about itself at an index: links that work there, known where it is built.

The repository's address is that of the workflow that publishes (`GITHUB_SERVER_URL`, `GITHUB_REPOSITORY`); without it
the README stays as it is, and there are no addresses. Links and pictures of the README are relative in the repository
and would lead nowhere at the index.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(\]\(|(?:src|srcset)=\")(?![a-z]+:|#)([^)\"]+)")


def readme_at(text: str, repository: str, revision: str) -> str:
    """The README with links to the files of a revision, pictures as they are and other files as pages."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("src") else "blob"
        return f"{found[1]}{repository}/{kind}/{revision}/{found[2]}"

    return LINK.sub(absolute, text)


class CustomMetadataHook(MetadataHookInterface):
    """Fills in the README and addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if name := os.environ.get("GITHUB_REPOSITORY"):
            repository = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}"
            text = readme_at(text, repository, os.environ.get("GITHUB_SHA", "main"))
            metadata["urls"] = {
                "Source": repository,
                "Changelog": f"{repository}/blob/main/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
