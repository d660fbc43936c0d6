"""Layers, optimizers and training."""

from .. import _foreign
from . import _copies

_copies.remember()  # before others take the names
from .._tenure._data import Dataset, from_tensors
from .._tenure._nn import *
from .._tenure._nn import init, schedule
from ._layer import Layer, Parameter, Sequential, load_state_dict, state_dict
from ._training import fit, plot

globals()["__getattr__"] = _foreign.missing("tenure.nn", _foreign.LAYERS)
