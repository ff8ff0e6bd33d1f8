"""Experiments are read from files, and files that they name are found from there."""

import pytest

from clems.experiments.loading import read_spec
from clems.experiments.plan import make_plan
from clems.experiments.spec import SpecError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        ('title = "t"\nprinted = "absent.csv"', "printed: there is no file"),
        ('title = "t"\n[data.own]\npath = "absent.csv"', "data.own.path: there is no file"),
        ('title = "t"\n[data.own]\npath = "spec.toml"', "the format does not show in the name"),
        (
            'title = "t"\n[data.own]\npath = "own.csv"\noptions = { label = "x" }',
            "no option 'label'; allowed are labels",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(text, message, tmp_path):
    path = tmp_path / "spec.toml"
    (tmp_path / "own.csv").write_text("a,b\n1,0\n")
    rest = '\ndatasets = ["flags"]\ncriteria = ["f1"]\nlearners.br = {}\n'
    head, _, tables = text.partition("\n[")
    path.write_text(head + rest + (f"[{tables}" if tables else ""))
    with pytest.raises(SpecError, match=message) as raised:
        read_spec(path)
    assert str(path) in str(raised.value)


def test_a_file_of_ones_own_is_read_as_it_says(tmp_path):
    lines = ["x,tag_a,tag_b", *(f"{i},{i % 2},{i % 3 == 0:d}" for i in range(12))]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    (tmp_path / "spec.toml").write_text(
        'title = "t"\ndatasets = ["own"]\ncriteria = ["f1"]\nlearners.br = {}\n'
        '[data.own]\npath = "own.csv"\noptions = { labels = "tag_*" }\n'
    )
    spec = read_spec(tmp_path / "spec.toml")
    data = spec.load("own")
    assert data.n_train is None
    assert [*data.whole.label_names] == ["tag_a", "tag_b"]
    before = make_plan(spec).trials[0].key
    (tmp_path / "own.csv").write_text("\n".join([*lines, "99,1,1"]))
    assert make_plan(spec).trials[0].key != before


def test_files_beside_the_data_count_and_are_seen_from_the_folder_of_the_spec(tmp_path):
    (tmp_path / "rows.csv").write_text("id,a\n" + "\n".join(f"{row},{row % 7}" for row in range(30)))
    text = 'title = "t"\ndatasets = ["own"]\ncriteria = ["f1"]\n[learners.br]\n[data.own]\npath = "rows.csv"\n'
    (tmp_path / "spec.toml").write_text(text + 'options = { pairs = "pairs.csv", row_id = "id" }')
    prints = []
    for step in (2, 2, 3):
        pairs = [f"{row},{'new' if row % step else 'old'}" for row in range(30)]
        (tmp_path / "pairs.csv").write_text("\n".join(["id,label", *pairs]))
        prints.append(read_spec(tmp_path / "spec.toml").fingerprint("own"))
    assert prints[0] == prints[1] != prints[2]
