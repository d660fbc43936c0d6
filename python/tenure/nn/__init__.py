"""Layers, optimizers and training."""

from .._tenure._nn import *
from ._layer import Layer, Parameter, Sequential, load_state_dict, state_dict
