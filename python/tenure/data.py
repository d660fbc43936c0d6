"""Datasets, and the files that they come from."""

from ._tenure._data import *
