"""How objects of the extension look: in a console by repr(), in a notebook by `_repr_html_`."""

import re
import sys

from ._tenure import (
    Holder,
    MemoryStats,
    Plan,
    TensorInfo,
    Variable,
    _add_tensor_method,
    _nn,
    format_bytes,
)


def html_by(maker):
    """A `_repr_html_`; what makes the text is not read before somebody looks."""

    def _repr_html_(self):
        from . import _html

        return getattr(_html, maker)(self)

    return _repr_html_


def cell_name(file):
    """"In[3]" for the file that IPython says the third cell is."""
    if match := re.match(r"<ipython-input-(\d+)-", file):
        return f"In[{match[1]}]"
    shell = sys.modules["IPython"].get_ipython()
    return f"In[{shell.compile._filename_map[file]}]"


class Text(str):
    """A text of several lines that a console shows as it is."""

    __slots__ = ()

    def __repr__(self):
        return str(self)

    _repr_html_ = html_by("of_text")


class Picture:
    """A picture, as SVG. It has the colours of the page around it."""

    def __init__(self, svg, what):
        self.svg, self.what = svg, what

    def save(self, path):
        """Writes it to a file that browsers show."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return f"<picture of {self.what}>"


class Holders(list):
    """Who holds the data of a tensor: a list of Holder."""

    def __repr__(self):
        return "\n".join(str(holder) for holder in self) or "nobody"

    _repr_html_ = html_by("of_holders")


class LiveTensors(list):
    """The tensors that have data: a list of TensorInfo, oldest first."""

    def __repr__(self):
        return "\n".join(repr(info) for info in self) or "none"

    _repr_html_ = html_by("of_live_tensors")


def _repr_of_info(info):
    name = f' "{info.name}"' if info.name else ""
    sizes = ", ".join(str(size) for size in info.shape)
    return (f"<tensor {info.id}{name} {info.dtype}[{sizes}], {format_bytes(info.storage_bytes)} of {info.category},"
            f" made by {info.op} at {info.site}>")


def _repr_of_step_plan(plan):
    return (f"<a training step takes {format_bytes(plan.peak)}: parameters {format_bytes(plan.parameters)},"
            f" optimizer {format_bytes(plan.optimizer)}, batch {format_bytes(plan.batch)},"
            f" the step {format_bytes(plan.plan.peak)}>")


def _repr_of_history(history):
    if not history.epochs:
        return "<history of no epoch>"
    last = history.epochs[-1]
    return f"<history of {len(history.epochs)} epochs, loss {last.training.loss:.6g}>"


_add_tensor_method("_repr_html_", html_by("of_tensor"))
Variable._repr_html_ = html_by("of_variable")
Holder._repr_html_ = lambda holder: Holders([holder])._repr_html_()
MemoryStats._repr_html_ = html_by("of_memory")
Plan._repr_html_ = html_by("of_plan")
TensorInfo.__repr__ = _repr_of_info
_nn.StepPlan.__repr__ = _repr_of_step_plan
_nn.StepPlan._repr_html_ = html_by("of_step_plan")
_nn.History.__repr__ = _repr_of_history
_nn.History._repr_html_ = html_by("of_history")
_nn.LayerBase._repr_html_ = html_by("of_layer")
_nn.Summary._repr_html_ = html_by("of_text")


def _as_text(plain):
    def summary(self, *args, **kwargs):
        return Text(plain(self, *args, **kwargs))

    summary.__doc__ = plain.__doc__
    return summary


for _kind in (_nn.LayerBase, _nn.Trainer):
    _kind.summary = _as_text(_kind.summary)
