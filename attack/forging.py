"""Model files as someone writes them who knows how they are made: changed, with a digest that fits."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
from scipy import sparse

DIGEST = 64
SCHEMA, INFO = "schema.json", "clems.json"
Node = dict[str, Any]


def signed(body: bytes) -> bytes:
    """Put the digest of a file behind it."""
    return body + sha256(body).hexdigest().encode()


def members_of(data: bytes) -> dict[str, bytes]:
    """Members of a file by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(members: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Put a file together of its members, signed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, packing)  # without the time, so that a file can be made again
        file.comment = b"0" * DIGEST
    return signed(buffer.getvalue()[:-DIGEST])


def forged(
    data: bytes,
    *,
    schema: Callable[[Node], None] = lambda schema: None,
    info: Callable[[Node], None] = lambda info: None,
    arrays: Callable[[str, bytes], bytes | str] = lambda name, content: content,
    more: dict[str, bytes] | None = None,
    packing: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    """Change the file of a model: its description, what is said about it, or its other members."""
    members = members_of(data)
    for name, change in ((SCHEMA, schema), (INFO, info)):
        parsed = json.loads(members[name])
        change(parsed)
        members[name] = json.dumps(parsed).encode()
    changed = {name: arrays(name, content) for name, content in members.items()}
    encoded = {name: content.encode() if isinstance(content, str) else content for name, content in changed.items()}
    return packed({**encoded, **(more or {})}, packing)


def with_arrays(data: bytes, change: Callable[[np.ndarray], np.ndarray | None]) -> bytes:
    """Change the arrays of a file: in place, or by returning another."""

    def arrays(name: str, content: bytes) -> bytes:
        if not name.endswith(".npy"):
            return content
        array = np.load(io.BytesIO(content))
        other = change(array)
        return saved(array if other is None else other)

    return forged(data, arrays=arrays)


def with_matrices(data: bytes, change: Callable[[Any], Any]) -> bytes:
    """Put functions of its sparse matrices in their place."""

    def arrays(name: str, content: bytes) -> bytes:
        if not name.endswith(".npz"):
            return content
        buffer = io.BytesIO()
        sparse.save_npz(buffer, change(sparse.load_npz(io.BytesIO(content))))
        return buffer.getvalue()

    return forged(data, arrays=arrays)


def saved(array: np.ndarray) -> bytes:
    """Write an array as files hold it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def nodes_of(schema: Any, name: str | None = None) -> Iterator[Node]:
    """Nodes of a description, all or those of a name such as ``sklearn.tree._tree.Tree``."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if "__loader__" in one and name in (None, f"{one.get('__module__')}.{one.get('__class__')}"):
                yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


def attributes(node: Node) -> dict[str, Node]:
    """Attributes of an object that is described."""
    return node["content"]["content"]


def put(node: Node, name: str, value: Node) -> None:
    """Give an object an attribute, in the place of another or besides."""
    content = node["content"]
    if name not in content["content"]:
        content["key_types"]["content"].append(described("TypeNode", "builtins.str"))
    content["content"][name] = value


def take(node: Node, name: str) -> None:
    """Take an attribute away from an object."""
    content = node["content"]
    place = list(content["content"]).index(name)
    del content["content"][name]
    del content["key_types"]["content"][place]


def described(loader: str, name: str, **rest: Any) -> Node:
    """Describe anything."""
    module, _, own = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": own, **rest}


def text(value: Any) -> Node:
    """Describe a number or a word."""
    return described("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def listed(kind: type, *items: Node, **rest: Any) -> Node:
    """Describe a list or a tuple."""
    loader = "TupleNode" if kind is tuple else "ListNode"
    return described(loader, f"builtins.{kind.__name__}", content=list(items), **rest)


def mapping(keys: tuple[Node, ...] | list[Node] = (), **content: Node) -> Node:
    """Describe a dict."""
    return described("DictNode", "builtins.dict", content=content, key_types=listed(list, *keys))


def array_in(file: str) -> Node:
    """Describe an array that is in a member of the file."""
    return described("NdArrayNode", "numpy.ndarray", type="numpy", file=file)
