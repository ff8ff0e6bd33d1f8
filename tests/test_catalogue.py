"""The usual datasets by name."""

import urllib.error
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from clems.datasets import DataError, Dataset, list_datasets, load_dataset, write_arff, write_libsvm
from clems.datasets.catalogue import CATALOGUE, Entry

TOY = Entry("toy", 6, 2, 3, None, "toys", "http://toys.example", 77, {})


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A catalogue with a dataset of toys, no folders and no network."""
    monkeypatch.setitem(CATALOGUE, "toy", TOY)
    monkeypatch.delenv("CLEMS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("clems.datasets.catalogue.fetch_openml", offline)
    rng = np.random.default_rng(0)
    return Dataset(rng.normal(size=(6, 2)), rng.integers(0, 2, (6, 3)), ["a", "b"], ["u", "v", "w"])


def offline(**_):
    raise urllib.error.URLError("no network")


def put(dataset, folder, part=""):
    folder.joinpath("toy").mkdir(parents=True, exist_ok=True)
    write_arff(dataset, folder / "toy" / f"toy{part}.arff")


def test_the_papers_datasets_are_there():
    paper = "cal500 emotions birds medical enron scene yeast slashdot language-log corel5k flags arts eurlex-dc"
    assert {*paper.split()} <= {*CATALOGUE}
    table = list_datasets()
    assert list(table.index) == list(CATALOGUE)
    assert table.loc["digit-scenes", "at"] == "generated"
    assert table.loc["eurlex-dc", ["rows", "features", "labels"]].tolist() == [19348, 5000, 412]


def test_folders_are_searched_in_order(toy, monkeypatch, tmp_path):
    first, second = toy.take([0, 1, 2, 3, 4, 5]), toy.take([5, 4, 3, 2, 1, 0])
    put(second, tmp_path / "second")
    monkeypatch.setenv("CLEMS_DATA", str(tmp_path / "second"))
    assert np.array_equal(load_dataset("toy").X, second.X)
    put(first, tmp_path / "first")
    assert np.array_equal(load_dataset("toy", data_home=tmp_path / "first").X, first.X)
    assert np.array_equal(load_dataset("toy", data_home=tmp_path / "elsewhere").X, second.X)
    assert list_datasets().loc["toy", "at"] == str(tmp_path / "second" / "toy")


def test_a_folder_with_another_part_hides_nothing(toy, monkeypatch, tmp_path):
    put(toy.take(slice(4)), tmp_path / "first", "-train")
    put(toy, tmp_path / "second")
    monkeypatch.setenv("CLEMS_DATA", str(tmp_path / "second"))
    assert load_dataset("toy", data_home=tmp_path / "first").X.shape[0] == 6
    assert load_dataset("toy", "train", tmp_path / "first").X.shape[0] == 4


def test_names_in_other_spellings():
    assert load_dataset("Digit_Scenes").name == "digit-scenes"


def test_a_cache_that_cannot_be_written_loses_nothing(toy, monkeypatch, tmp_path):
    tmp_path.joinpath("cache").write_text("a file where a folder should be")
    monkeypatch.setattr("clems.datasets.catalogue.fetch_openml", lambda **_: bunch(toy, False))
    with pytest.warns(UserWarning, match="toy could not be kept in the cache"):
        assert load_dataset("toy").X.shape == (6, 2)


def test_the_whole_is_both_parts(toy, tmp_path):
    put(toy.take(slice(4)), tmp_path, "-train")
    put(toy.take(slice(4, 6)), tmp_path, "-test")
    assert load_dataset("toy", "train", tmp_path).X.shape[0] == 4
    assert load_dataset("toy", "test", tmp_path).X.shape[0] == 2
    assert np.array_equal(load_dataset("toy", data_home=tmp_path).X, toy.X)


def test_parts_with_other_columns_are_not_put_together(toy, tmp_path):
    put(toy.take(slice(4)), tmp_path, "-train")
    swapped = Dataset(toy.X[4:, ::-1], toy.Y[4:], toy.feature_names[::-1], toy.label_names)
    put(swapped, tmp_path, "-test")
    with pytest.raises(
        DataError, match=r"toy-train.arff and .*toy-test.arff have other feature names or another order"
    ):
        load_dataset("toy", data_home=tmp_path)


def test_libsvm_files(toy, tmp_path):
    tmp_path.joinpath("toy").mkdir()
    write_libsvm(toy.take(slice(4)), tmp_path / "toy" / "train.txt")
    write_libsvm(toy.take(slice(4, 6)), tmp_path / "toy" / "test.txt.gz")
    tmp_path.joinpath("toy", "readme.txt").write_text("hello")
    assert np.array_equal(load_dataset("toy", data_home=tmp_path).Y.toarray(), toy.Y)


def test_what_is_not_there_is_said(toy, tmp_path):
    with pytest.raises(ValueError, match="There is no dataset 'yest'; did you mean 'yeast'"):
        load_dataset("yest")
    with pytest.raises(ValueError, match="subset must be 'all', 'train' or 'test'; got 'half'"):
        load_dataset("yeast", "half")
    with pytest.raises(
        FileNotFoundError, match=r"OpenML does not give it.*Looked in .*first.toy \(nothing\), .*cache.*toys.example"
    ):
        load_dataset("toy", data_home=tmp_path / "first")
    with pytest.raises(FileNotFoundError, match="not at OpenML either"):
        load_dataset("bibtex")
    with pytest.raises(FileNotFoundError, match="OpenML has it without the split"):
        load_dataset("toy", "train")
    put(toy, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"The part 'train' of toy is not on this computer.*toy \(all\)"):
        load_dataset("toy", "train", tmp_path)


def test_another_dataset_of_the_same_name_is_refused(toy, tmp_path):
    put(toy.take(slice(5)), tmp_path)
    with pytest.raises(DataError, match=r"toy.arff is not toy: it has 5 rows instead of 6"):
        load_dataset("toy", data_home=tmp_path)


def test_another_file_of_the_same_size_is_warned_of(toy, monkeypatch, tmp_path):
    put(toy, tmp_path)
    monkeypatch.setitem(CATALOGUE, "toy", Entry("toy", 6, 2, 3, None, "", "", None, {"all": "0" * 64}))
    with pytest.warns(UserWarning, match=r"toy.arff is not the published file of toy; results may differ"):
        load_dataset("toy", data_home=tmp_path)


def bunch(dataset, is_sparse):
    """What scikit-learn makes of an answer of OpenML."""
    truths = pd.DataFrame(dataset.Y.astype(bool), columns=dataset.label_names).astype(str).map(str.upper)
    names = {"feature_names": dataset.feature_names, "target_names": dataset.label_names}
    if is_sparse:
        return Bunch(data=sparse.csr_matrix(dataset.X), target=truths.to_numpy(), **names)
    frame = pd.DataFrame(dataset.X, columns=dataset.feature_names)
    return Bunch(data=frame, target=truths.astype("category"), **names)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_downloads_are_kept(toy, monkeypatch, tmp_path, is_sparse):
    calls = []

    def fetch(**options):
        calls.append(options["data_id"])
        return bunch(toy, is_sparse)

    monkeypatch.setattr("clems.datasets.catalogue.fetch_openml", fetch)
    for _ in range(2):
        found = load_dataset("toy")
        assert np.array_equal(found.X.toarray() if is_sparse else found.X, toy.X)
        assert np.array_equal(found.Y.toarray() if sparse.issparse(found.Y) else found.Y, toy.Y)
        assert (found.feature_names, found.label_names) == (toy.feature_names, toy.label_names)
    assert calls == [77]
    assert sorted(path.name for path in tmp_path.joinpath("cache/clems/toy").iterdir()) == ["toy.arff.xz", "toy.xml"]


def test_what_openml_really_answers(toy, monkeypatch, tmp_path):
    """The beginning of emotions as OpenML sends it, which scikit-learn keeps for its own tests."""
    of_scikit_learn = pytest.importorskip("sklearn.datasets.tests.test_openml")
    of_scikit_learn._monkey_patch_webbased_functions(monkeypatch, 40589, True)
    monkeypatch.setattr("clems.datasets.catalogue.fetch_openml", fetch_openml)
    monkeypatch.setitem(CATALOGUE, "emotions", replace(CATALOGUE["emotions"], rows=13))
    found = load_dataset("emotions")
    assert found.X.shape == (13, 72)
    assert found.X[0, :3].tolist() == [0.034741, 0.089665, 0.091225]
    assert found.Y[:2].tolist() == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 1]]
    assert found.label_names[:2] == ["amazed.suprised", "happy.pleased"]
    assert np.array_equal(load_dataset("emotions").X, found.X)


def test_a_download_of_another_size_is_not_kept(toy, monkeypatch, tmp_path):
    monkeypatch.setattr("clems.datasets.catalogue.fetch_openml", lambda **_: bunch(toy.take(slice(3)), False))
    with pytest.raises(DataError, match="OpenML 77 is not toy: it has 3 rows instead of 6"):
        load_dataset("toy")
    assert not tmp_path.joinpath("cache").exists()


def test_digit_scenes_are_in_the_catalogue():
    whole, train, test = (load_dataset("digit-scenes", subset) for subset in ("all", "train", "test"))
    assert np.array_equal(whole.X, np.vstack([train.X, test.X]))
    assert train.X.shape == (3000, 121)
    assert whole.label_names == list("0123456789")


def test_nothing_is_warned_of_where_nothing_is_wrong(toy, tmp_path):
    put(toy, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_dataset("toy", data_home=tmp_path).name == "toy"
