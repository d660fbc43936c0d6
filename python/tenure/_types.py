"""What functions take, for checkers of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

if TYPE_CHECKING:
    import os

    from ._tenure import DType, Tensor, Variable
    from ._tenure._nn import Initializer, LayerBase, NamedVariable

    TensorLike = Union[Tensor, Variable, float, Sequence[Any], Any]
    ShapeLike = Union[int, Sequence[int]]
    DTypeLike = Union[DType, str, type]
    PathLike = Union[str, os.PathLike[str]]
    InitializerLike = Union[str, Initializer, Callable[[tuple[int, ...], DType], Any]]
    LossLike = Callable[[Tensor, Tensor], Any]
    Parameters = Union[LayerBase, Sequence[NamedVariable], Sequence[Variable]]
