"""
Text with a pipeline: from tickets to tags
==========================================

Free text goes through scikit-learn's vectorizer into a learner of this package; pipelines and cross-validation
work as usual. ``TableEncoder`` encodes a table with text among other columns. Do the other columns help?
"""

from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from tickets import tickets  # generated support tickets in German; the file is beside this one

from clems import CLEMS, CRITERIA, TableEncoder

plt.style.use("clems.figures")

# %%
# A ticket has text, a category, dates, a customer, some missing values, and some tags.

table = tickets(800, 1)
tags = table.pop("tags").str.split(";").map(lambda one: {tag for tag in one if tag})
print(table.loc[0, ["text", "category", "created", "hours", "customer"]].to_string())
print("tags:", ", ".join(sorted(tags[0])))

# %%
# For cross-validation the labels are a matrix, so that every fold knows all of them. One pipeline uses the text
# alone, another all columns; the encoder detects what each column holds. A third pipeline leaves out who wrote
# the ticket and when.

Y = MultiLabelBinarizer().fit_transform(tags)
text_alone = make_pipeline(TfidfVectorizer(), CLEMS("f1", n_trees=50, random_state=0))
all_columns = make_pipeline(TableEncoder(), CLEMS("f1", n_trees=50, random_state=0))
scoring = {name: CRITERIA[name].scorer for name in ("f1", "accuracy", "zero_one")}
scores = {
    "text alone": cross_validate(text_alone, table["text"], Y, cv=5, scoring=scoring),
    "all columns": cross_validate(all_columns, table, Y, cv=5, scoring=scoring),
    "some columns": cross_validate(all_columns, table.drop(columns=["customer", "created"]), Y, cv=5, scoring=scoring),
}
for column in all_columns.fit(table, Y)[0].columns_:
    print(f"{column.name:10} {column.kind:11} {column.how}")

# %%
# Dots are folds, and lines are their means. Columns that are not related to the tags do not help: with the
# customer and the date, scores are lower than with the text alone; without these two columns they are about the
# same.

figure, axes = plt.subplots(1, 3, figsize=(8, 3.2), sharey=True)
for axis, name in zip(axes, scoring, strict=True):
    for place, found in enumerate(scores.values()):
        values = found[f"test_{name}"]
        axis.plot(values, [place] * len(values), "o", color=f"C{place}", alpha=0.6)
        axis.plot([values.mean()] * 2, [place - 0.25, place + 0.25], color=f"C{place}")
        axis.text(values.mean(), place + 0.3, f"{values.mean():.3f}", ha="center", color=f"C{place}")
    axis.set(
        title=CRITERIA[name].title, xlabel="score of a fold", yticks=range(3), yticklabels=scores, ylim=(-0.5, 2.7)
    )
    axis.tick_params(axis="y", length=0)
plt.show()
