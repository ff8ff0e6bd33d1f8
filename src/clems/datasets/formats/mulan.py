"""Mulan's XML files, which name the labels of an ARFF file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import quoteattr

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from clems.datasets.dataset import first_repeated
from clems.datasets.text.source import Limits, Source

NAMESPACE = "http://mulan.sourceforge.net/labels"


def labels_of_xml(path: str | PathLike[str], limits: Limits | None = None) -> list[str]:
    """Read the names of labels; a hierarchy of labels is read as the list of them all."""
    with Source(path, limits) as source:
        try:
            root = fromstring(source.read(), forbid_dtd=True)
        except DefusedXmlException:
            raise source.fault("it declares a document type or entities, which are refused for safety") from None
        except (ParseError, ValueError, LookupError) as error:
            raise source.fault(f"it is not well-formed XML ({error})") from None
        labels = [node.get("name") for node in root.iter() if _tag(node) == "label"]
        if _tag(root) != "labels" or not labels or None in labels:
            raise source.fault("it is not a Mulan file of labels: <labels> with a <label name=...> for each")
        names = [str(label) for label in labels]
        if (twice := first_repeated(names)) is not None:
            raise source.fault(f"it names the label {twice!r} twice")
        return names


def xml_of(labels: list[str]) -> str:
    """Write a Mulan file that names labels."""
    lines = [f"  <label name={quoteattr(label)}></label>" for label in labels]
    return "\n".join(
        ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{NAMESPACE}">', *lines, "</labels>", ""]
    )


def xml_beside(path: Path | None) -> Path | None:
    """Find the XML file in the same folder whose name an ARFF file's name starts with; the longest such name."""
    if path is None:
        return None
    stem = path.name.lower()
    beside = [xml for xml in path.parent.glob("*.[xX][mM][lL]") if _starts(stem, xml.stem.lower())]
    return max(beside, key=lambda xml: (len(xml.stem), xml.name), default=None)


def _starts(name: str, stem: str) -> bool:
    return name.startswith(stem) and not name[len(stem) : len(stem) + 1].isalnum()


def _tag(node: object) -> str:
    return str(getattr(node, "tag", "")).rpartition("}")[2]
