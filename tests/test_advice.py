"""What `fit` says of data that it cannot learn from: raw columns of a DataFrame, one row, labels without rows."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from clems import BR, CLEMS, PCC, CostSensitiveClassifier, TableEncoder
from clems.learners import LEARNERS

N = 40
RNG = np.random.default_rng(0)
Y = (RNG.random((N, 3)) < 0.4).astype(int)
X = pd.DataFrame({"size": RNG.random(N)})
COLUMNS = {
    "categories, 'a'": pd.Categorical(["a", "b"] * (N // 2)),
    "text or objects, 'a'": ["a", "b"] * (N // 2),
    "text or objects, '3,5'": ["1", "3,5"] * (N // 2),
    "text or objects, [1]": [[1]] * N,
    f"text or objects, '{'x' * 39}…": ["x" * 90] * N,
    "dates": pd.date_range("2025", periods=N),
    "dates ": pd.date_range("2025", periods=N, tz="UTC"),
    "dates  ": pd.Categorical(pd.date_range("2025", periods=N)),
    "dates   ": pd.period_range("2025", periods=N, freq="D"),
    "lengths of time": pd.to_timedelta(range(N), "h"),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_a_column_that_is_no_number_is_named_with_what_to_do(what):
    frame = X.assign(**{"größe": COLUMNS[what]})
    said = (
        f"Column 'größe' of X holds {what.strip()}; features must be numbers. TableEncoder makes them of words, text "
        "and dates: use make_pipeline(TableEncoder(), learner), or leave the column out."
    )
    exactly = f"^{re.escape(said)}$"
    for learner in LEARNERS.values():
        with pytest.raises(ValueError, match=exactly):
            learner().fit(frame, Y)
    alone = frame[["größe"]]
    with pytest.raises(ValueError, match=exactly):
        BR().fit(alone, Y)
    with pytest.raises(ValueError, match=exactly):
        BR(n_trees=2).fit(X.assign(**{"größe": 1.0}), Y).predict(frame)


def test_the_advice_works():
    frame = X.assign(word=["a", "b"] * (N // 2), day=pd.date_range("2025", periods=N), kind=pd.Categorical([1, 2] * 20))
    assert make_pipeline(TableEncoder(), CLEMS(n_trees=2)).fit(frame, Y).predict(frame).shape == Y.shape


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None] * (N // 2), dtype="Int64"),
        pd.array([True, False] * (N // 2), dtype="boolean"),
        pd.Categorical([1, 2] * (N // 2)),
        pd.Series([1.0, 2] * (N // 2), dtype=object),
        ["1", "2.5"] * (N // 2),
    ],
)
def test_columns_that_can_be_numbers_are(column):
    assert BR(n_trees=2).fit(X.assign(other=column), Y).n_features_in_ == X.shape[1] + 1


@pytest.mark.parametrize("learner", [BR, CLEMS, PCC, CostSensitiveClassifier])
def test_it_warns_where_nothing_can_be_learned(learner):
    model = learner(n_trees=2)
    with pytest.warns(UserWarning, match="There is a single training row: every prediction will be its labels"):
        model.fit(X[:1], [[1, 1, 1]])
    assert (model.predict(X) == 1).all()
    never = pd.DataFrame(np.column_stack([Y, 0 * Y]), columns=list("abcdef"))
    said = "3 of 6 labels never occur in training, so that nothing is learned of them: 'd', 'e', 'f'"
    with pytest.warns(UserWarning, match=said) as caught:
        model.fit(X, never)
    assert [one.filename for one in caught] == [__file__]
    weight = np.where(Y[:, 0] == 1, 0.0, 1.0)  # without rows that count, a label does not occur
    with pytest.warns(
        UserWarning, match="1 of 3 labels never occurs in training, so that nothing is learned of it: '0'"
    ):
        model.fit(X, Y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
