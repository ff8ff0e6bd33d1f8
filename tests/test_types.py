"""What an editor knows: types of results in a script of a user's, by mypy, and options that are spelled wrong."""

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

SCRIPT = """
from clems import BR, CLEMS, ECC, PCC, CostSensitiveClassifier, GuaranteedCost, Pipeline, TableEncoder, get_cost, load
from clems.datasets import digit_scenes, read_table
from clems.evaluation import evaluate, savings
from clems.experiments import compare

X, Y = digit_scenes(100)
model = CLEMS("f1").fit(X, Y)
reveal_type(model)  # CLEMS
reveal_type(model.predict(X))  # ndarray
reveal_type(model.predict(X, at_most=2))  # ndarray
reveal_type(model.predict_each(X, ["f1"]))  # list[numpy.ndarray
reveal_type(model.classes_)  # ndarray
reveal_type(model.predict_proba(X))  # ndarray
reveal_type(model.expected_cost(X))  # ndarray
reveal_type(model.posterior(X))  # Posterior
reveal_type(model.top_k(X, 3))  # TopK
reveal_type(BR().fit(X, Y).predict(X))  # ndarray
reveal_type(BR().classes_)  # ndarray
reveal_type(PCC().fit(X, Y).predict(X))  # ndarray
reveal_type(CostSensitiveClassifier().fit(X, Y).predict(X))  # ndarray
reveal_type(GuaranteedCost(model, level=1).fit(X, Y).predict(X))  # ndarray
pipeline = Pipeline([("columns", TableEncoder()), ("learner", model)])
reveal_type(pipeline.fit(X, Y))  # Pipeline
reveal_type(pipeline.predict(X))  # ndarray
reveal_type(pipeline.classes_)  # ndarray
loaded = load("model.clems")
reveal_type(loaded)  # Model
reveal_type(loaded.predict(X))  # ndarray
reveal_type(loaded.classes_)  # ndarray
reveal_type(loaded.expected_cost(X))  # ndarray
reveal_type(get_cost("f1"))  # Cost
reveal_type(evaluate(model, X, Y).criteria)  # dict[str, float]
reveal_type(savings(model, X, Y).paid)  # float
reveal_type(read_table("a.csv", tags="tags"))  # Dataset
reveal_type(compare(read_table("a.csv", tags="tags")).best)  # str
CLEMS(decoder="nearst")  # incompatible
CLEMS(roles="mirorred")  # incompatible
PCC(calibration="sigmod")  # incompatible
CostSensitiveClassifier(joint="indep")  # incompatible
ECC(code="hamming")  # incompatible
compare(read_table("a.csv", tags="tags"), backend="cloud")  # incompatible
""".strip().splitlines()


def test_a_script_has_types(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("\n".join(SCRIPT))
    settings = ["--config-file=", "--cache-dir", str(Path(__file__).parents[1] / ".mypy_cache" / "script")]
    out, err, _ = api.run([*settings, "--follow-imports=silent", str(script)])
    assert not err
    said = {}
    for line in out.splitlines():
        if found := re.match(r".*script\.py:(\d+): (?:note: Revealed type is|error:) (.*)", line):
            said.setdefault(int(found[1]), found[2])
    for number, line in enumerate(SCRIPT, start=1):
        _, mark, wanted = line.partition("  # ")
        if mark:
            assert wanted in said[number], (line, said[number])
            assert not re.fullmatch('"?Any"?', said[number]), line
    assert {*said} == {number for number, line in enumerate(SCRIPT, start=1) if "  # " in line}, out
