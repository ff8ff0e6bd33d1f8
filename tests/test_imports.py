"""Imports point one way: a module may use only modules of earlier layers."""

import ast
from pathlib import Path

import clems

LAYERS = [
    ["clems.counts", "clems.files"],
    ["clems.cost"],
    ["clems.costs"],
    ["clems.criteria"],
    ["clems.validation"],
    [
        "clems.model_selection",
        "clems.candidates",
        "clems.smacof",
        "clems.factorisation",
        "clems.spectral",
        "clems.ridge",
    ],
    ["clems.forest", "clems.decoding", "clems.neighbours", "clems.codes"],
    ["clems.posterior", "clems.implicit", "clems.classifier"],
    ["clems.embedding", "clems.division"],
    ["clems.chain"],
    ["clems.learners.*"],
    ["clems.learners"],
    ["clems.persistence.trust", "clems.evaluation", "clems.bootstrap", "clems.label_map"],
    ["clems.persistence.soundness"],
    ["clems.persistence.file"],
    ["clems.persistence"],
    ["clems.plot"],
    ["clems"],
    ["clems.datasets", "clems.datasets.*"],
    ["clems.cost_files"],
    ["clems.report.rows"],
    ["clems.report.content"],
    ["clems.report"],
    ["clems.experiments.trial", "clems.experiments.store"],
    ["clems.experiments.spec", "clems.experiments.execution"],
    ["clems.experiments.plan", "clems.experiments.running"],
    ["clems.experiments.selection"],
    ["clems.experiments.significance"],
    ["clems.experiments.times"],
    ["clems.experiments.tables", "clems.experiments.figures"],
    ["clems.experiments.report"],
    ["clems.experiments.compare"],
    ["clems.experiments"],
    ["clems.process"],
    ["clems.cli.console"],
    ["clems.cli.models", "clems.cli.experiment"],
    ["clems.cli.fit"],
    ["clems.cli.predict", "clems.cli.evaluate", "clems.cli.inspect", "clems.cli.compare", "clems.cli.report"],
    ["clems.cli.datasets"],
    ["clems.cli"],
    ["clems.__main__"],
]
DATASETS = [  # beside the layers, of which they use the first
    ["clems.counts", "clems.files"],
    ["clems.datasets.source", "clems.datasets.dataset", "clems.datasets.decimals", "clems.datasets.digits"],
    ["clems.datasets.columns", "clems.datasets.mulan"],
    ["clems.datasets.attributes", "clems.datasets.cells", "clems.datasets.frame"],
    ["clems.datasets.arff", "clems.datasets.libsvm", "clems.datasets.table"],
    ["clems.datasets.writing", "clems.datasets.reading"],
    ["clems.datasets.catalogue", "clems.datasets.pieces"],
    ["clems.datasets.new_rows"],
    ["clems.datasets"],
]

ROOT = Path(clems.__file__).parent


def _name(path: Path) -> str:
    return ".".join(["clems", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def _layer(module: str, layers: list[list[str]]) -> int | None:
    family = module.rpartition(".")[0] + ".*"
    places = {name: place for place, names in enumerate(layers) for name in names}
    return places.get(module, places.get(family))


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else str(node.module))
    return {name for name in found if name.split(".")[0] == "clems"}


def test_imports_point_one_way():
    for module, path in MODULES.items():
        layers = DATASETS if module.startswith("clems.datasets") else LAYERS
        own = _layer(module, layers)
        assert own is not None, f"{module} has no layer"
        for imported in _imports(path):
            other = _layer(imported, layers)
            assert other is not None, f"{module} may not import {imported}"
            assert other < own, f"{module} imports {imported}, which is not in an earlier layer"
