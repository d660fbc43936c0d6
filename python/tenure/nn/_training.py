"""fit(), which trains a model on a dataset."""

from .._tenure._data import Dataset, from_function
from .. import _show
from .._tenure._nn import Callback, Fit, History, _plot
from . import _progress


class _OnEpoch(Callback):
    """on_epoch(number, training, validation or None) of a fit()."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def on_epoch(self, fit, epoch):
        if self.function(epoch.number, epoch.training, epoch.validation):
            fit.stop("a callback asked for it")


def plot(history):
    """The loss and each metric over the epochs, of training and, dashed, of validation, as a picture: the last
    line of a cell shows it, `plot(history).save("history.svg")` writes it. Also history.plot()."""
    return _show.Picture(_plot(history), f"the loss over {len(history.epochs)} epochs")


History.plot = plot


def _flat(batch):
    """Of a batch ((a, b), target): a, b, target."""
    for part in batch:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part


def _batches(given, what):
    """A dataset as it is; anything else with a length and indices as one of its elements, which are batches."""
    if given is None or isinstance(given, Dataset):
        return given
    is_list = hasattr(given, "__len__") and hasattr(given, "__getitem__") and not isinstance(given, dict)
    if is_list and len(given) > 0:
        if isinstance(given[0], (list, tuple)):
            return from_function(len(given), lambda i: list(_flat(given[i])))
    raise TypeError(f"{what} must be a Dataset or a list of batches (x, target), not {type(given).__name__}; of tensors:"
                    " from_tensors([x, target]).batch(32)")


def fit(trainer, training, *, validation=None, on_epoch=None, callbacks=(), progress="auto", **options):
    """Trains on a dataset of batches [x, target], or a list of them, and gives the History.

    Options: epochs; validation, a dataset of batches; callbacks, Callback objects; schedule, the rate of
    each step; stop_at_nan, which raises DivergedError; leak_guard, which raises LeakError if steps leave
    more and more behind; progress, told on sys.stdout: 'bar', 'lines', 'none', or 'auto': a bar in terminals
    and in cells of notebooks, lines elsewhere. on_epoch(number, training, validation) is called after each
    epoch, and ends the training if it gives something true."""
    callbacks = list(callbacks)
    if on_epoch is not None:
        callbacks.append(_OnEpoch(on_epoch))
    mode, stream = _progress.output(progress)
    run = Fit(trainer, _batches(training, "training"), validation=_batches(validation, "validation"),
              callbacks=callbacks, progress=mode, **options)
    if stream is not None:
        run._write_to(stream)
    try:
        return run.run()
    finally:
        run._let_go()  # a callback may hold the Fit that holds it
