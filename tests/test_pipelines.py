"""Pipelines that end in a learner: evaluated, reported, saved, loaded and used by the commands as learners are."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline as AnyPipeline
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from clems import BR, CLEMS, PCC, PLST, CostSensitiveClassifier, Pipeline, TableEncoder, load, save, weighted_hamming
from clems.cli.app import main
from clems.datasets.encoding.encodings import Text
from clems.evaluation import evaluate, savings
from clems.evaluation.report import write_report
from clems.learners.pipeline import learner_of, reach
from clems.persistence import ModelError, describe
from clems.persistence.soundness import check_content, held_by

N = 160
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "text": [" ".join(RNG.choice(["refund", "vpn", "slow", "mail", "größe", "login"], 6)) for _ in range(N)],
        "country": RNG.choice(["DE", "AT", "CH"], N),
        "code": [f"{number:03d}" for number in RNG.integers(0, 4, N)],
        "size": RNG.random(N).round(3),
    }
)
FRAME.loc[::9, "size"] = np.nan
FRAME.loc[::11, "country"] = np.nan
LABELS = pd.DataFrame(
    {
        "network": FRAME["text"].str.contains("vpn").astype(int),
        "abroad": (FRAME["country"] != "DE").astype(int),
        "large": (FRAME["size"] > 0.5).astype(int),
    }
)
TRAIN, TEST = slice(0, 110), slice(110, None)
TREES = {"n_trees": 10, "random_state": 0}
PRICES = weighted_hamming({"network": 10, "abroad": 3, "large": 1}, {"network": 1, "abroad": 1, "large": 1})
WORDS = OneHotEncoder(handle_unknown="ignore", min_frequency=3)


def pipelines():
    table = make_column_transformer(
        (TfidfVectorizer(min_df=2), "text"), (WORDS, ["country", "code"]), (SimpleImputer(add_indicator=True), ["size"])
    )
    few = make_column_transformer(
        (
            make_pipeline(CountVectorizer(ngram_range=(1, 2)), TfidfTransformer(), TruncatedSVD(5, random_state=0)),
            "text",
        ),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), ["country"]),
        (SimpleImputer(), ["size"]),
    )
    hashed = make_column_transformer(
        (HashingVectorizer(n_features=64, alternate_sign=False), "text"),
        (OneHotEncoder(drop="first", sparse_output=False), ["country"]),
        (
            make_pipeline(SimpleImputer(), KBinsDiscretizer(3, strategy="uniform")),
            ["size"],
        ),
    )
    numbers = make_column_transformer((SimpleImputer(), make_column_selector(dtype_include="number")))
    united = make_column_transformer(
        (make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))), "text"),
        (WORDS, ["code"]),
    )
    return {
        "encoder": Pipeline([("columns", TableEncoder()), ("learner", CLEMS(PRICES, **TREES))]),
        "columns": make_pipeline(table, CLEMS(PRICES, **TREES)),
        "dense": make_pipeline(few, StandardScaler(), PCA(4, random_state=0), BR(**TREES)),
        "hashed": make_pipeline(hashed, CostSensitiveClassifier(cost=PRICES, cv=2, **TREES)),
        "numbers": make_pipeline(numbers, FunctionTransformer(np.log1p), MaxAbsScaler(), PLST(**TREES)),
        "chosen": make_pipeline(table, SelectKBest(chi2, k=8), PCC("f1", **TREES)),
        "nested": make_pipeline(united, make_pipeline(MaxAbsScaler(), CLEMS("rank", **TREES))),
        "linear": make_pipeline(
            TableEncoder(), CostSensitiveClassifier(LogisticRegression(), PRICES, cv=2, random_state=0)
        ),
    }


@pytest.fixture(scope="module", params=pipelines())
def model(request):
    return pipelines()[request.param].fit(FRAME[TRAIN], LABELS[TRAIN])


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    said = capfd.readouterr()
    assert not end.value.code, said.err
    return said.out


def test_there_and_back(model, tmp_path, capfd):
    test, truth = FRAME[TEST], LABELS[TEST]
    predicted = model.predict(test)
    save(model, tmp_path / "m.clems")
    loaded = load(tmp_path / "m.clems")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(test), predicted)
    learner = learner_of(model)
    found = evaluate(loaded, test, truth, unit="€")
    assert found.criteria == evaluate(model, test, truth).criteria
    own = learner.criterion_
    assert found.criteria[own.name] == pytest.approx(own(truth.to_numpy(), predicted))
    assert savings(loaded, test, truth, cost=PRICES).paid == pytest.approx(
        savings(model, test, truth, cost=PRICES).paid
    )
    info = describe(tmp_path / "m.clems")
    assert (info.learner, info.label_names) == (type(learner).__name__, list(LABELS))
    assert len(info.steps) >= 1
    assert bool(info.columns) == isinstance(model[0], TableEncoder)
    # Commands read the same rows from a file: codes stay as they are written, gaps are gaps, columns go by name.
    rows = pd.concat([test, truth], axis="columns")
    rows[[*reversed(rows.columns)]].assign(more="x").to_csv(tmp_path / "test.csv", index=False, sep=";")
    out = run(capfd, "predict", tmp_path / "m.clems", tmp_path / "test.csv", "-q")
    np.testing.assert_array_equal(pd.read_csv(io.StringIO(out)), predicted)
    assert "criterion" in run(capfd, "evaluate", tmp_path / "m.clems", tmp_path / "test.csv", "-q")
    assert type(learner).__name__ in run(capfd, "inspect", tmp_path / "m.clems")


def test_a_report_names_the_features_of_a_pipeline(tmp_path):
    model = pipelines()["columns"].fit(FRAME[TRAIN], LABELS[TRAIN])
    path = write_report(model, FRAME[TEST], LABELS[TEST], tmp_path / "report.html", unit="€")
    text = path.read_text("utf-8")
    assert "CLEMS" in text
    assert "tfidfvectorizer__" in text
    with pytest.raises(
        TypeError, match=r"A report needs a learner of clems, or a Pipeline .* ends in a LogisticRegression"
    ):
        write_report(make_pipeline(MaxAbsScaler(), LogisticRegression()), FRAME, LABELS, tmp_path / "none.html")


def test_what_learners_can_do_is_reached_through():
    model = pipelines()["columns"].fit(FRAME[TRAIN], LABELS[TRAIN])
    assert type(model) is AnyPipeline
    through = Pipeline(model.steps)  # fitted steps, no second fit
    learner, X, names = reach(model, FRAME[TEST])
    assert len(names) == X.shape[1]
    np.testing.assert_array_equal(through.expected_cost(FRAME[TEST]), learner.expected_cost(X))
    np.testing.assert_array_equal(through.expected_cost(FRAME[TEST], "f1"), learner.expected_cost(X, "f1"))
    np.testing.assert_array_equal(through.top_k(FRAME[TEST], 2).labels[:, 0], model.predict(FRAME[TEST]))
    np.testing.assert_array_equal(through.posterior(FRAME[TEST]).marginals, learner.posterior(X).marginals)
    one, other = through.predict_each(FRAME[TEST], ["f1", "hamming"])
    np.testing.assert_array_equal(one, through.predict(FRAME[TEST], cost="f1"))
    np.testing.assert_array_equal(other, model.predict(FRAME[TEST], cost="hamming"))
    blind = Pipeline(pipelines()["dense"].fit(FRAME[TRAIN], LABELS[TRAIN]).steps)
    assert not hasattr(blind, "expected_cost")
    rule = savings(model, FRAME[TEST], LABELS[TEST], rule=lambda rows: LABELS.loc[rows.index]).table
    assert rule.loc["your rule", "paid"] == 0  # the rule sees the rows as they were given


class Foreign(TransformerMixin, BaseEstimator):
    """A transformer that no one knows."""

    def fit(self, X, y=None):
        self.width_ = X.shape[1]
        return self

    def transform(self, X):
        return X


def test_a_foreign_transformer_is_refused_by_name(tmp_path):
    model = make_pipeline(SimpleImputer(), Foreign(), CLEMS(**TREES)).fit(FRAME[["size"]], LABELS)
    save(model, tmp_path / "m.clems")
    name = f"{Foreign.__module__}.Foreign"
    with pytest.raises(ModelError, match=f"it asks for {name}, which clems does not trust"):
        load(tmp_path / "m.clems")
    assert isinstance(load(tmp_path / "m.clems", [Foreign])[1], Foreign)
    for other in (make_pipeline(MaxAbsScaler(), LogisticRegression()), MaxAbsScaler(), make_pipeline(MaxAbsScaler())):
        with pytest.raises(
            ModelError, match=r"Only a learner of clems, .* or a Pipeline that ends in one can be saved"
        ):
            save(other, tmp_path / "other.clems")


def fitted(name="columns"):
    return pipelines()[name].fit(FRAME[TRAIN], LABELS[TRAIN])


def part(model, name):
    return model[0].named_transformers_[name]


def hostile_vocabulary(model):
    terms = part(model, "tfidfvectorizer").vocabulary_
    terms[next(iter(terms))] = 10**9


def one_term_fewer(model):
    terms = part(model, "tfidfvectorizer").vocabulary_
    terms.pop(next(term for term, place in terms.items() if place == 0))


def endless_pattern(model):
    part(model, "tfidfvectorizer").token_pattern = r"(\w+\w+)+x"


def endless_terms(model):
    part(model, "tfidfvectorizer").ngram_range = (1, 10**9)


def fewer_columns(model):
    part(model, "onehotencoder")._n_features_outs[0] -= 1


def unsorted_categories(model):
    encoder = part(model, "onehotencoder")
    encoder.categories_[0] = np.array([3.0, 1.0, 2.0][: len(encoder.categories_[0])])


def groups_beyond(model):
    encoder = part(model, "onehotencoder")
    encoder._default_to_infrequent_mappings = [np.array([0, 1, 9, 2][: len(known)]) for known in encoder.categories_]
    encoder._infrequent_indices = [np.array([2])] * 2


def group_without_mapping(model):
    part(model, "onehotencoder")._infrequent_indices = [np.array([10**6])] * 2


@pytest.mark.parametrize(
    "spoil",
    [
        hostile_vocabulary,
        one_term_fewer,
        endless_pattern,
        endless_terms,
        fewer_columns,
        unsorted_categories,
        groups_beyond,
        group_without_mapping,
    ],
)
def test_what_compiled_code_would_follow_is_checked(spoil):
    model = fitted()
    check_content(model)
    spoil(model)
    with pytest.raises(ModelError, match=r"it holds a (TfidfVectorizer|OneHotEncoder) that cannot be used: "):
        check_content(model)


def test_endless_hashes_are_refused():
    model = fitted("hashed")
    check_content(model)
    model[0].named_transformers_["hashingvectorizer"].n_features = 0
    with pytest.raises(ModelError, match="HashingVectorizer that cannot be used: columns without end"):
        check_content(model)


def test_columns_of_records_are_checked():
    """Steps between it and the learner would read far outside of their arrays."""
    records = FRAME[["code"]].to_dict("records")
    model = make_pipeline(DictVectorizer(), TruncatedSVD(2), CLEMS(**TREES)).fit(records, LABELS)
    check_content(model)
    model[0].vocabulary_["code=001"] = 10**8
    with pytest.raises(ModelError, match="DictVectorizer that cannot be used: terms without a column of their own"):
        check_content(model)


def test_settings_of_a_class_are_not_those_of_a_file():
    """A pattern in a file, beside the one that text is cut into words by, would keep the first long word busy."""
    model = make_pipeline(TableEncoder(), CLEMS(**TREES)).fit(FRAME[["text"]], LABELS)
    check_content(model)
    encoding = next(one for one in held_by(model) if isinstance(one, Text))
    encoding.analysis = {"token_pattern": r"(\w+\w+)+x"}
    with pytest.raises(
        ModelError, match=r"(Text|Characters) that cannot be used: analysis in the place of what the class has"
    ):
        check_content(model)
