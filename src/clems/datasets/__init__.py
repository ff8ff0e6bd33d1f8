"""Datasets: reading them from files of every common form, and the usual ones by name."""

from clems.datasets.catalogue import list_datasets, load_dataset
from clems.datasets.dataset import Dataset, Summary
from clems.datasets.digits import digit_scenes
from clems.datasets.encoding import TableEncoder
from clems.datasets.formats import read_dataset
from clems.datasets.formats.arff import read_arff, write_arff
from clems.datasets.formats.libsvm import read_libsvm, write_libsvm
from clems.datasets.formats.table import read_table, write_table
from clems.datasets.frame import from_frame
from clems.datasets.text.source import DataError, Limits

__all__ = [
    "DataError",
    "Dataset",
    "Limits",
    "Summary",
    "TableEncoder",
    "digit_scenes",
    "from_frame",
    "list_datasets",
    "load_dataset",
    "read_arff",
    "read_dataset",
    "read_libsvm",
    "read_table",
    "write_arff",
    "write_libsvm",
    "write_table",
]
