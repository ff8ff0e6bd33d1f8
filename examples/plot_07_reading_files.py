"""
Reading Mulan, MEKA and libsvm files
====================================

The same six rows in the three formats in which multi-label benchmarks are published. One call reads each of
them, and ``clems.datasets.load_dataset`` knows many benchmarks by name.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

from clems.datasets import DataError, read_arff, read_dataset, read_libsvm

plt.style.use("clems.figures")

# %%
# Mulan uses an ARFF file and an XML file beside it that names the labels.

folder = TemporaryDirectory()
here = Path(folder.name)
rows = ["0.1,0.9,0.4,1,0", "0.8,?,0.3,0,1", "0.5,0.5,0.9,1,1", "0.2,0.1,0.7,0,0", "0.9,0.6,0.1,0,1", "0.3,0.8,0.8,1,0"]
attributes = [f"@attribute {name} numeric" for name in ("loud", "fast", "bright")]
labels = [f"@attribute {name} {{0,1}}" for name in ("happy", "angry")]
here.joinpath("songs.arff").write_text("\n".join(["@relation songs", *attributes, *labels, "@data", *rows]))
here.joinpath("songs.xml").write_text(
    '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="happy"/><label name="angry"/></labels>'
)
mulan = read_arff(here / "songs.arff")
print(mulan)

# %%
# MEKA uses a single file; ``-C 2`` in the name of the relation says that the first two attributes are the labels.
# This one is also sparse: a row lists only the values that are not 0.

lines = []
for row in rows:
    cells = row.split(",")
    pairs = [f"{place} {cell}" for place, cell in enumerate([*cells[3:], *cells[:3]]) if cell != "0"]
    lines.append("{" + ",".join(pairs) + "}")
relation = "@relation 'songs: -C 2'"
here.joinpath("songs-meka.arff").write_text("\n".join([relation, *labels, *attributes, "@data", *lines]))
meka = read_arff(here / "songs-meka.arff")

# %%
# In libsvm format, a row has its labels as numbers, followed by features as index and value. It cannot say that a
# value is missing, so the missing value is 0 here.

lines = []
for row in rows:
    cells = row.replace("?", "0").split(",")
    of_row = ",".join(str(label) for label in range(2) if cells[3 + label] == "1")
    lines.append(f"{of_row} " + " ".join(f"{place + 1}:{cell}" for place, cell in enumerate(cells[:3]) if cell != "0"))
here.joinpath("songs.txt").write_text("\n".join(lines) + "\n")
print(here.joinpath("songs.txt").read_text())
libsvm = read_libsvm(here / "songs.txt")

# %%
# For a broken file, the error is one sentence that says where the problem is.

here.joinpath("broken.arff").write_text(here.joinpath("songs.arff").read_text().replace("0.2,0.1", "0.2,O.1"))
try:
    read_dataset(here / "broken.arff", labels=-2)
except DataError as error:
    print(str(error).replace(str(here), "…"))

# %%
# Features (grey) and labels (blue) as they were read: they are the same, except for the missing value, which is a
# cross in the formats that can express it.

figure, axes = plt.subplots(1, 3, figsize=(8, 3.9), sharey=True)
for axis, (title, data) in zip(axes, {"Mulan": mulan, "MEKA": meka, "libsvm": libsvm}.items(), strict=True):
    X, Y = (part.toarray() if sparse.issparse(part) else part for part in (data.X, data.Y))
    axis.imshow(np.hstack([X, np.full(Y.shape, np.nan)]), cmap="Greys", vmin=0, vmax=1.3)
    axis.imshow(np.hstack([np.full(X.shape, np.nan), Y.astype(float)]), cmap="Blues", vmin=0, vmax=1.4)
    gap_rows, gap_columns = np.nonzero(np.isnan(X))
    axis.scatter(gap_columns, gap_rows, marker="x", color="C1")
    names = [*data.feature_names, *data.label_names]
    axis.set(title=title, xticks=range(len(names)), yticks=[])
    axis.set_xticklabels(names, rotation=45, ha="right")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
axes[0].set_ylabel("rows")
plt.show()
folder.cleanup()
